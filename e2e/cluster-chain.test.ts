/**
 * The chain of a journal: PostgreSQL that is set back, forked or replaced by another. No instance serves a history that the journal does not have, none
 * runs an entry on another state, and each says what was found, with two ways on.
 */
import { afterEach, expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startPostgres } from "../packages/server/test/test-postgres.ts";
import { differences, numbersAt, openFile } from "./cluster-content.ts";
import { copyData, setBack } from "./cluster-engine.ts";
import { startCluster, type TestInstance } from "./cluster-kit.ts";
import { longTest, patience, post, singleService, until } from "./kit.ts";
import { type Finished, runCommand } from "./service-process.ts";

singleService("cluster");

const open = { read: "public", create: "public" };
const posts = JSON.stringify({ name: "posts", fields: [{ name: "n", type: "integer" }], permissions: open });
const engine = await startPostgres();
const ways = /Restore PostgreSQL to its last state.*socle cluster rejoin.*socle cluster adopt/;

type Cluster = Awaited<ReturnType<typeof startCluster>>;
let n = 0;

async function begin(size: number): Promise<Cluster> {
  const cluster = await startCluster(size, { files: { "collections/posts.json": posts } });
  for (const each of cluster.instances) await ready(each);
  return cluster;
}

async function create({ url }: TestInstance, count = 1): Promise<void> {
  for (let i = 0; i < count; i++) {
    n += 1;
    let answer = await post(`${url}/api/posts`, { n });
    // The instance has not reached the engine again yet.
    while (answer.status === 503 && /nothing was changed/.test(await answer.text())) {
      await Bun.sleep(50);
      answer = await post(`${url}/api/posts`, { n });
    }
    expect(answer.status).toBe(201);
  }
}

async function readiness({ url }: TestInstance): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(5_000) }).catch(() => null);
  return { status: answer?.status ?? 0, text: (await answer?.text()) ?? "" };
}

async function ready(instance: TestInstance): Promise<void> {
  const end = performance.now() + patience;
  while ((await readiness(instance)).status !== 200) {
    if (performance.now() > end) throw new Error(`${instance.url} is not ready:\n${instance.output()}`);
    await Bun.sleep(50);
  }
}

afterEach(async () => {
  if (!engine.isRunning) await engine.start();
});

/** Waits until an instance says that the journal does not have its state. Answers the line of the log. */
async function stays(instance: TestInstance): Promise<string> {
  await until(() => ways.test(instance.running.output()));
  const { status, text } = await readiness(instance);
  expect([status, text]).toEqual([503, expect.stringContaining("Not ready: ")]);
  // The process lives, and serves nothing.
  expect((await fetch(`${instance.url}/health`)).status).toBe(200);
  expect((await fetch(`${instance.url}/api/posts`)).status).toBe(503);
  expect((await post(`${instance.url}/api/posts`, { n: -1 })).status).toBe(503);
  const line = instance.running
    .output()
    .split("\n")
    .filter((each) => ways.test(each));
  expect(line).toHaveLength(1);
  return line[0] ?? "";
}

function command({ folder, env }: TestInstance, ...args: string[]): Promise<Finished> {
  return runCommand(args, { cwd: folder, env: { ...env } });
}

function positionOf(instance: TestInstance): number {
  using file = openFile(instance);
  return file.query<{ position: number }, []>("SELECT position FROM _position").get()?.position ?? 0;
}

test("PostgreSQL is set back while leader and replicas run: all stop serving and give the reason, and one command leads to a common state", async () => {
  const cluster = await begin(3);
  const leader = await cluster.leader();
  const [replica, other] = await cluster.replicas();
  if (replica === undefined || other === undefined) throw new Error("no replica");
  await create(replica, 3);
  expect(await differences(cluster.instances)).toEqual([]);
  const common = positionOf(leader);
  await copyData(engine);
  for (const each of cluster.instances) await ready(each);
  await create(leader, 5);
  expect(await differences(cluster.instances)).toEqual([]);
  const last = positionOf(leader);
  const before = numbersAt(leader, "posts");
  await setBack(engine);

  for (const instance of cluster.instances)
    expect(await stays(instance)).toContain(
      `the database has the position ${last}, the journal the position ${common}, and the last common position is ${common}`,
    );
  // The lease of the earlier state of PostgreSQL has an end, too.
  const client = engine.client();
  await until(async () => (await client`SELECT 1 FROM socle_leader WHERE expires > now()`).length === 0);
  let status = await command(leader, "cluster", "status");
  await until(async () => {
    status = await command(leader, "cluster", "status");
    return status.code !== 0 && cluster.instances.every(({ url }) => status.stdout.includes(`  ${url}: database `));
  });
  expect([status.code, status.stdout]).toEqual([1, expect.stringMatching(/no leader/)]);

  // A start on the lost branch is refused with the same line.
  expect(await leader.running.stop()).toBe(0);
  const refused = await command(leader, "serve");
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(ways)]);
  expect(refused.stderr).toContain(`the last common position is ${common}`);

  // One instance makes its state the journal's.
  const asked = await command(leader, "cluster", "adopt");
  expect([asked.code, asked.stderr]).toEqual([1, expect.stringContaining("0 commits of the journal would be dropped")]);
  const adopted = await command(leader, "cluster", "adopt", "--force");
  expect([adopted.code, adopted.stderr]).toEqual([0, ""]);
  await leader.start();
  await create(leader);
  // The others have the same state, and follow again.
  for (const each of [replica, other]) {
    expect(await each.running.stop()).toBe(0);
    await each.start();
    await ready(each);
  }
  await create(replica);
  expect(await differences(cluster.instances)).toEqual([]);
  for (const each of cluster.instances) expect(numbersAt(each, "posts")).toEqual([...before, n - 1, n]);
  for (const { running } of cluster.instances) await running.stop();
});

longTest(
  "a journal that was set back and went on elsewhere: an instance that was ahead runs no entry of the other history",
  async () => {
    const cluster = await begin(2);
    const leader = await cluster.leader();
    const [replica] = await cluster.replicas();
    if (replica === undefined) throw new Error("no replica");
    await create(leader, 2);
    expect(await differences(cluster.instances)).toEqual([]);
    const common = positionOf(leader);
    await copyData(engine);
    await ready(replica);
    // The replica has commits that the journal loses; the leader stops before.
    expect(await leader.running.stop()).toBe(0);
    while ((await cluster.leader()) !== replica) await Bun.sleep(50);
    await ready(replica);
    await create(replica, 4);
    const lost = numbersAt(replica, "posts");
    replica.proxy.stall();
    await setBack(engine);
    // Another history goes on, with more commits than the replica has.
    for (const ending of ["", "-wal", "-shm"]) rmSync(`${leader.folder}/socle.db${ending}`, { force: true });
    await leader.start();
    await create(leader, 9);
    const kept = numbersAt(leader, "posts");
    replica.proxy.cut();
    replica.proxy.flow();

    expect(await stays(replica)).toContain(`and the last common position is ${common}`);
    expect(numbersAt(replica, "posts")).toEqual(lost);
    expect((await command(replica, "verify")).stdout).toMatch(/journal +position \d+, entry \S{24}/);

    // The other way on: the database is kept, and the instance follows.
    expect(await replica.running.stop()).toBe(0);
    const rejoined = await command(replica, "cluster", "rejoin");
    expect([rejoined.code, rejoined.stderr]).toEqual([0, ""]);
    const aside = readdirSync(replica.folder).find((name) => name.startsWith("before-rejoin-")) ?? "";
    expect(rejoined.stdout).toContain(aside);
    expect(numbersAt({ folder: join(replica.folder, aside) }, "posts")).toEqual(lost);
    await replica.start();
    await ready(replica);
    await create(replica);
    expect(await differences(cluster.instances)).toEqual([]);
    expect(numbersAt(replica, "posts")).toEqual([...kept, n]);
    const [one, two] = await Promise.all(cluster.instances.map((each) => command(each, "verify")));
    const entryOf = (text = ""): string => /journal +(.*)/.exec(text)?.[1] ?? "";
    expect(entryOf(one?.stdout)).toMatch(/^position \d+, entry \S{24}$/);
    expect(entryOf(one?.stdout)).toBe(entryOf(two?.stdout));
    for (const { running } of cluster.instances) await running.stop();
  },
);

longTest(
  "an empty journal replaces the journal while instances run: no instance serves, and adopt begins the journal anew",
  async () => {
    const cluster = await begin(2);
    const leader = await cluster.leader();
    await create(leader, 3);
    expect(await differences(cluster.instances)).toEqual([]);
    const client = engine.client();
    await client`DROP TABLE socle_journal, socle_leader, socle_instances, socle_snapshots, socle_cluster, socle_roles`;
    for (const instance of cluster.instances) await stays(instance);
    for (const { running } of cluster.instances) expect(await running.stop()).toBe(0);
    const refused = await command(leader, "serve");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(ways)]);
    expect((await command(leader, "cluster", "adopt", "--force")).code).toBe(0);
    for (const instance of cluster.instances) {
      if (instance !== leader) expect((await command(instance, "cluster", "rejoin")).code).toBe(0);
      await instance.start();
      await ready(instance);
    }
    await create(leader);
    expect(await differences(cluster.instances)).toEqual([]);
    for (const { running } of cluster.instances) await running.stop();
  },
);
