/**
 * A rolling upgrade of a cluster, with a program of this source that has a table more: replicas first. The newer replica waits until an instance
 * of the newer version leads; the older replica stops serving then; each acknowledged write stays, and writes go on between the steps.
 */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { differences, openFile } from "./cluster-content.ts";
import { startCluster, type TestInstance } from "./cluster-kit.ts";
import { post, until } from "./kit.ts";
import { newerProgram, newerVersion } from "./newer-program.ts";
import { type Finished, runCommand } from "./service-process.ts";

const posts = JSON.stringify({
  name: "posts",
  fields: [{ name: "title", type: "string" }],
  permissions: { read: "public", create: "public" },
});

const cluster = await startCluster(3, { files: { "collections/posts.json": posts } });
const acknowledged: string[] = [];
/** The position of the last write. */
let position = "";

async function write({ url }: TestInstance): Promise<void> {
  const title = `post ${acknowledged.length}`;
  let response = await post(`${url}/api/posts`, { title });
  // On a busy machine, a lease may end late: no instance leads for a moment.
  while (response.status === 503 && /nothing was changed/.test(await response.text())) {
    await Bun.sleep(50);
    response = await post(`${url}/api/posts`, { title });
  }
  expect(response.status).toBe(201);
  acknowledged.push(title);
  position = response.headers.get("socle-position") ?? "";
  // A read of the same instance sees the write.
  expect(await titles(url)).toEqual(acknowledged.toSorted());
}

async function titles(url: string): Promise<string[]> {
  const response = await fetch(`${url}/api/posts?limit=200`, { headers: { "Socle-Position": position } });
  expect(response.status).toBe(200);
  const { items } = (await response.json()) as { items: { title: string }[] };
  return items.map(({ title }) => title).toSorted();
}

/** `socle cluster upgrade` of the newer program, beside an instance. */
function guide({ folder, env }: TestInstance, newer: string): Promise<Finished> {
  return runCommand(["cluster", "upgrade", "--instances", "3"], { cwd: folder, env: { ...env }, executable: newer });
}

async function serves({ url }: TestInstance): Promise<boolean> {
  return fetch(`${url}/api/posts`).then(
    ({ ok }) => ok,
    () => false,
  );
}

test("a journal and databases of a version without ids of entries go on, and have ids from then on", async () => {
  for (const instance of cluster.instances) await write(instance);
  for (const { running } of cluster.instances) expect(await running.stop()).toBe(0);
  const client = cluster.engine.client();
  for (const [name, columns] of [
    ["cluster", ["trimmed_id"]],
    ["journal", ["id", "before"]],
    ["leader", ["role"]],
    ["instances", ["problem", "files"]],
  ] as const)
    for (const column of columns) await client.unsafe(`ALTER TABLE socle_${name} DROP COLUMN ${column}`);
  await client`DROP TABLE socle_roles, socle_files`;
  for (const { folder } of cluster.instances) {
    using file = new Database(join(folder, "socle.db"));
    file.run("ALTER TABLE _position DROP COLUMN entry");
    file.run("DROP TABLE _roles");
    file.run("UPDATE _schema SET version = 3 WHERE module = 'position'");
  }
  for (const instance of cluster.instances) await instance.start();
  for (const instance of cluster.instances) await write(instance);
  expect(await differences(cluster.instances)).toEqual([]);
  for (const instance of cluster.instances) {
    using file = openFile(instance);
    const [place] = file.query("SELECT entry, (SELECT count(*) FROM _roles) AS roles FROM _position").all();
    expect(place).toEqual({ entry: expect.stringMatching(/^\S{24}$/), roles: 1 });
  }
});

test("a rolling upgrade, replicas first: each version serves only its own tables, and nothing acknowledged is lost", async () => {
  const newer = newerProgram();
  const leader = await cluster.leader();
  const [upgraded, other] = await cluster.replicas();
  if (upgraded === undefined || other === undefined) throw new Error("The cluster has no replicas");
  for (const instance of cluster.instances) await write(instance);
  const begin = await guide(leader, newer);
  expect([begin.code, begin.stderr]).toEqual([3, ""]);
  expect(begin.stdout).toMatch(
    new RegExp(`to ${newerVersion}, files [0-9a-f]{12}\n[^]*Next: stop (${upgraded.url}|${other.url}), replace`),
  );

  expect(await upgraded.running.stop()).toBe(0);
  const missing = await guide(leader, newer);
  expect([missing.code, missing.stdout]).toEqual([4, expect.stringContaining("Wait: 2 of 3 instances run")]);
  const waiting = upgraded.start(newer);
  const newTables = 'the tables of "migrations" have version 1, and this socle has 2';
  await until(() => upgraded.output().includes(`This instance waits for the leader: ${newTables}`));
  expect(await serves(upgraded)).toBe(false);
  // The instance that waits holds up nothing: the other replica is next.
  let next = await guide(leader, newer);
  for (; next.code === 4; next = await guide(leader, newer)) await Bun.sleep(500);
  expect([next.code, next.stdout]).toEqual([3, expect.stringContaining(`Next: stop ${other.url}, replace`)]);
  expect(next.stdout).toMatch(new RegExp(`${upgraded.url} .*waits for a leader of its version: `));
  for (const instance of [leader, other]) await write(instance);

  // The upgraded instance takes over, not the other.
  const lead = ["cluster", "lead", upgraded.url];
  const led = await runCommand(lead, { cwd: leader.folder, env: { ...leader.env }, executable: newer });
  expect([led.code, led.stderr]).toEqual([0, ""]);
  await waiting;
  expect(await cluster.leader()).toBe(upgraded);
  await write(upgraded);
  await until(async () => !/waits for a leader/.test((await guide(upgraded, newer)).stdout));
  expect(await leader.running.stop()).toBe(0);
  const oldTables = 'the tables of "migrations" have version 2, and this socle has 1';
  await until(() => other.output().includes(oldTables));
  while (await serves(other)) await Bun.sleep(50);
  await write(upgraded);

  // Without an instance of the newer version, the older instance would have to lead.
  expect(await upgraded.running.stop()).toBe(0);
  expect(await other.running.exited).toBe(1);
  expect(other.output()).toContain("this socle is too old for the database");

  for (const instance of [upgraded, other, leader]) {
    await instance.start(newer);
    await write(instance);
  }
  for (const instance of cluster.instances) expect(await titles(instance.url)).toEqual(acknowledged.toSorted());
});
