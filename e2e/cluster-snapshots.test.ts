/** Snapshots of a running cluster: an instance that is new, or was stopped while the journal was trimmed, has the same data as the others. */
import { Database as Driver } from "bun:sqlite";
import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { startCluster, type TestInstance } from "./cluster-kit.ts";
import { post, until } from "./kit.ts";

const posts = JSON.stringify({
  name: "posts",
  fields: [{ name: "body", type: "string" }],
  permissions: { read: "public", create: "public" },
});
const cluster = await startCluster(2, {
  files: { "collections/posts.json": posts },
  settings: { SERVICE_CLUSTER_SNAPSHOT_EVERY: "1MiB" },
});
const client = cluster.engine.client();

/** Between two writes, an instance makes a snapshot or trims the journal, so that fewer writes are needed. */
const pauseMs = 20;

async function create(instance: TestInstance, body: string): Promise<number> {
  await Bun.sleep(pauseMs);
  const response = await post(`${instance.url}/api/posts`, { body });
  expect(response.status).toBe(201);
  return Number(response.headers.get("socle-position"));
}

async function snapshots(): Promise<{ name: string; position: number }[]> {
  const rows = await client`SELECT name, position FROM socle_snapshots ORDER BY position DESC`;
  return rows.map(({ name, position }: { name: string; position: unknown }) => ({ name, position: Number(position) }));
}

/** Waits for a condition, two minutes at most; the error has the ends of the logs. */
async function expectSoon(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const logs = (): string => cluster.instances.map((each) => `${each.url}:\n${each.output().slice(-3_000)}`).join("\n");
  await until(condition).catch(() => {
    throw new Error(`${what}: never.\n${logs()}`);
  });
}

async function firstEntry(): Promise<number> {
  const [row] = await client`SELECT min(position) AS first FROM socle_journal`;
  return Number(row.first);
}

/** The number of the entries after the newest snapshot. */
async function entriesAfterSnapshot(): Promise<number> {
  const [row] = await client`SELECT max(position) AS last FROM socle_journal`;
  return Number(row.last) - ((await snapshots())[0]?.position ?? 0);
}

/** Writes until the cluster has made `count` more snapshots. */
async function writeSnapshots(instance: TestInstance, count: number): Promise<void> {
  for (let made = 0; made < count; made++) {
    const before = (await snapshots())[0]?.name;
    // The names of two snapshots differ, so the newest name changes when a snapshot is made.
    while ((await snapshots())[0]?.name === before) await create(instance, "x".repeat(50_000));
  }
}

/** Writes until the entries up to a position are gone. */
async function trimmed(instance: TestInstance, position: number): Promise<void> {
  while ((await firstEntry()) <= position) await create(instance, "y".repeat(50_000));
}

/** The rows of the records, as the file of an instance has the rows. */
function rowsOf({ folder }: TestInstance): unknown[] {
  const file = new Driver(`${folder}/socle.db`, { readonly: true });
  try {
    return file.query("SELECT * FROM posts ORDER BY _seq").all();
  } finally {
    file.close();
  }
}

/** Reads at an instance that has a position, and compares the records of both files. */
async function expectEqual(one: TestInstance, other: TestInstance): Promise<void> {
  const position = await create(one, "the last");
  const read = await fetch(`${other.url}/api/posts?sort=-createdAt&limit=1`, {
    headers: { "Socle-Position": String(position) },
  });
  expect(read.status).toBe(200);
  expect(rowsOf(other)).toEqual(rowsOf(one));
}

test("an instance that was stopped for long passes the gap of the journal, and a new instance joins afterwards", async () => {
  const leader = await cluster.leader();
  const [replica] = await cluster.replicas();
  if (replica === undefined) throw new Error("no replica");
  await create(leader, "the first");
  expect(await replica.running.stop()).toBe(0);
  const file = new Driver(`${replica.folder}/socle.db`, { readonly: true });
  const stoppedAt = file.query<{ position: number }, []>("SELECT position FROM _position").get()?.position ?? 0;
  file.close();
  await writeSnapshots(leader, 3);
  await trimmed(leader, stoppedAt + 1);
  await expectSoon("two snapshots stay", async () => (await snapshots()).length <= 2);
  expect(await snapshots()).toHaveLength(2);
  expect(await firstEntry()).toBeGreaterThan(1);
  await replica.start();
  expect(replica.running.output()).toContain("The database of this instance begins anew");
  await expectEqual(leader, replica);

  expect(await replica.running.stop()).toBe(0);
  for (const ending of ["", "-wal", "-shm"]) rmSync(`${replica.folder}/socle.db${ending}`, { force: true });
  await replica.start();
  expect(replica.running.output()).toContain("This instance has no data yet, and begins with the newest snapshot");
  await expectEqual(leader, replica);
  // The trimming is over by now, and no entry that the older snapshot does not have is gone.
  const first = await firstEntry();
  expect(first).toBeLessThanOrEqual(((await snapshots())[1]?.position ?? 0) + 1);
  // The leader has served all the time.
  expect(await cluster.leader()).toBe(leader);
});

test("the newest snapshot is damaged: a new instance begins with the older snapshot and the entries; a missing snapshot is made anew", async () => {
  const leader = await cluster.leader();
  const [replica] = await cluster.replicas();
  if (replica === undefined) throw new Error("no replica");
  await expectSoon("no other snapshot is due", async () => (await entriesAfterSnapshot()) * 50_000 < 2 ** 20);
  const [newest] = await snapshots();
  const env = leader.env;
  const bucket = new Bun.S3Client({
    bucket: /^s3:\/\/([^/]+)/.exec(env["SERVICE_STORAGE"] ?? "")?.[1] ?? "",
    endpoint: env["SERVICE_S3_ENDPOINT"] ?? "",
    accessKeyId: env["SERVICE_S3_ACCESS_KEY_ID"] ?? "",
    secretAccessKey: env["SERVICE_S3_SECRET_ACCESS_KEY"] ?? "",
  });
  const key = `${/^s3:\/\/[^/]+\/(.*)/.exec(env["SERVICE_STORAGE"] ?? "")?.[1]}/.snapshots/${newest?.name}`;
  const bytes = await bucket.file(key).bytes();
  expect(await replica.running.stop()).toBe(0);
  // The size stays, so that only the restore finds the damage. The leader is paused: the store of the tests shows a file that is
  // being written with a part of its size, and the leader looks for the snapshot each 15 s.
  leader.running.signal("SIGSTOP");
  await bucket.write(
    key,
    bytes.map((byte, i) => (i > 100 && i < 2_000 ? byte ^ 0xff : byte)),
  );
  leader.running.signal("SIGCONT");
  for (const ending of ["", "-wal", "-shm"]) rmSync(`${replica.folder}/socle.db${ending}`, { force: true });
  await replica.start();
  expect(replica.running.output()).toContain(`${newest?.name}: `);
  expect(replica.running.output()).toContain("The snapshot cannot be restored; an older snapshot");
  await expectEqual(leader, replica);

  await bucket.delete(key);
  await expectSoon("the leader misses the snapshot", () =>
    leader.output().includes("The newest snapshot is not in the place any more"),
  );
  await expectSoon("another snapshot is made", async () => (await snapshots())[0]?.name !== newest?.name);
  const made = (await snapshots())[0];
  expect(await bucket.exists(key.replace(newest?.name ?? "", made?.name ?? ""))).toBe(true);
  expect((await snapshots()).map(({ name }) => name)).not.toContain(newest?.name);
});
