/**
 * `bun test --timeout 600000 ./bench/cluster.test.ts`: a cluster with PostgreSQL on the same machine, and a single service, in turns: creates through
 * the leader, forwarded creates, reads at a replica, the lag of a replica, the take-over, and an instance that joins 1,000,000 records.
 *
 * `-t creates` and the other names of the tests choose. The test runner starts the benchmark, because the engine of the tests needs a test runner; no figure is asserted.
 */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { startCluster, type TestInstance } from "../e2e/cluster-kit.ts";
import { write as create } from "../e2e/cluster-load.ts";
import { post, serve, socle, temporaryFolder } from "../e2e/kit.ts";
import { bucket } from "../packages/server/test/s3-server.ts";
import { startListeners } from "./listeners.ts";
import { generator, type LoadRequest, runLoad } from "./load/index.ts";
import { median } from "./median.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 5);
const seconds = Number(process.env["BENCH_SECONDS"] ?? 2);
const records = 1_000_000;
const body = '{"title":"A title of some length","n":1}';
const path = "/api/items";
const items = {
  name: "items",
  fields: [
    { name: "title", type: "string" },
    { name: "n", type: "integer" },
    { name: "count", type: "integer" },
  ],
  indexes: [{ fields: ["n"] }],
  permissions: { read: "public", create: "public" },
};
const files = { "collections/items.json": JSON.stringify(items) };

const folder = temporaryFolder();
await Bun.write(`${folder}/collections/items.json`, files["collections/items.json"]);
const single = await serve(folder, { env: { SERVICE_PORT: "0", SERVICE_HOST: "127.0.0.1" } });
const alone = await startCluster(1, { files });
const mirrored = await startCluster(1, { files, settings: { SERVICE_CLUSTER_MIRROR: "true" } });
const cluster = await startCluster(3, { files });
const joining = await startCluster(1, { files });
const creates: LoadRequest[] = [{ method: "POST", path, body }];

async function replica(): Promise<TestInstance> {
  const [found] = await cluster.replicas();
  if (found === undefined) throw new Error("The cluster has no replica");
  return found;
}

async function read({ url }: { url: string }): Promise<LoadRequest[]> {
  const response = await post(`${url}${path}`, JSON.parse(body));
  const { id } = (await response.json()) as { id: string };
  return [{ method: "GET", path: `${path}/${id}` }];
}

/** Requests per second of each case, in turns; prints the medians, and the ratio to the first case. */
async function compare(
  connections: number,
  cases: readonly (readonly [string, string, LoadRequest[]])[],
): Promise<void> {
  const found = new Map<string, number[]>(cases.map(([name]) => [name, []]));
  for (let round = -1; round < rounds; round++)
    for (const [name, url, requests] of cases) {
      const { requestsPerSecond, errors } = await runLoad({ url, connections, seconds, requests }, folder);
      if (errors > 0) throw new Error(`${name}: ${errors} errors`);
      // Round -1 warms up.
      if (round >= 0) found.get(name)?.push(requestsPerSecond);
    }
  const [first = 1] = [...found.values()].map(median);
  for (const [name, all] of found)
    console.log(
      `${name}, ${connections} connections: ${Math.round(median(all))}/s, ${(median(all) / first).toFixed(2)}`,
    );
}

test("creates", async () => {
  console.log(
    `Load by ${generator}, ${rounds} rounds of ${seconds} s in turns; medians, and the ratio to the single service.`,
  );
  await compare(128, [
    ["create, single service", single.url, creates],
    ["create, leader alone", (await alone.leader()).url, creates],
    ["create, leader alone with a mirror", (await mirrored.leader()).url, creates],
    ["create, leader with two replicas", (await cluster.leader()).url, creates],
    ["create, forwarded by a replica", (await replica()).url, creates],
  ]);
});

test("reads", async () => {
  const at = await replica();
  await compare(32, [
    ["get one, single service", single.url, await read(single)],
    ["get one, replica", at.url, await read(at)],
  ]);
});

test("lag", async () => {
  const listeners = startListeners();
  const { url } = await replica();
  const sockets = 10;
  await listeners.tell({ do: "connect", url, count: sockets, channel: "items.created", tokens: [], reads: true });
  const leader = await cluster.leader();
  const pace = { writers: 16, intervalMs: 0.5, seconds: 5 * seconds, window: 1_000, perEvent: sockets, headers: [] };
  const record = '{"title":"A title of some length","count":COUNT}';
  const told = await listeners.tell({ do: "write", url: leader.url, body: record, ...pace });
  const { writesPerSecond = 0, p50 = 0, p99 = 0, missing } = told;
  expect(missing).toBeLessThanOrEqual(0);
  const times = `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
  console.log(
    `From a request at the leader to the event at a socket of a replica, ${Math.round(writesPerSecond)} writes/s: ${times}`,
  );
  await listeners.stop();
});

/** The same data as a table of PostgreSQL: the cost of a read and of a commit without the journal, before any work of Socle. */
test("tables", async () => {
  const client = cluster.engine.client({ max: 16 });
  await client`CREATE TABLE IF NOT EXISTS bench_items (id text PRIMARY KEY, title text, n bigint)`;
  await client`INSERT INTO bench_items SELECT 'rec_' || n, 'A title of some length', n FROM generate_series(1, 1000) AS n`;
  const perSecond = async (width: number, work: (n: number) => Promise<unknown>): Promise<number> => {
    let done = 0;
    const end = performance.now() + seconds * 1_000;
    const worker = async (): Promise<void> => {
      while (performance.now() < end) await work(done++);
    };
    await Promise.all(Array.from({ length: width }, worker));
    return done / seconds;
  };
  const select = (n: number): Promise<unknown> =>
    client`SELECT id, title, n FROM bench_items WHERE id = ${`rec_${(n % 1000) + 1}`}`;
  const insert = (): Promise<unknown> =>
    client`INSERT INTO bench_items VALUES (${crypto.randomUUID()}, 'A title of some length', 1)`;
  const found: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    found[0].push(1_000 / (await perSecond(1, select)));
    found[1].push(await perSecond(32, select));
    found[2].push(await perSecond(128, insert));
  }
  const [one, reads, inserts] = found.map(median) as [number, number, number];
  console.log(
    `A table of PostgreSQL on the same machine: a read by key ${one.toFixed(2)} ms, 32 readers ${Math.round(reads)}/s; 128 writers that commit a row each ${Math.round(inserts)}/s (16 connections)`,
  );
});

test("take-over", async () => {
  const times: number[] = [];
  for (let round = 0; round < 2 * rounds; round++) {
    const leader = await cluster.leader();
    const [survivor = leader, other = leader] = await cluster.replicas();
    leader.running.signal("SIGKILL");
    const start = performance.now();
    for (let turn = 0; ; turn++)
      if ((await create(turn % 2 === 0 ? survivor : other, path, { n: turn })).outcome === "acknowledged") break;
    times.push((performance.now() - start) / 1_000);
    await leader.start();
  }
  times.sort((a, b) => a - b);
  console.log(
    `From the kill of the leader to the next acknowledged write, ${times.length} times: p50 ${median(times).toFixed(1)} s, longest ${times.at(-1)?.toFixed(1)} s`,
  );
});

test("join", async () => {
  const [instance] = joining.instances;
  if (instance === undefined) throw new Error("no instance");
  await instance.running.stop();
  // A single service with the records, put into a new journal.
  const from = temporaryFolder();
  await Bun.write(`${from}/collections/items.json`, files["collections/items.json"]);
  const env: Record<string, string> = { ...instance.env, SERVICE_CLUSTER_NAME: "joined" };
  const plain = Object.fromEntries(Object.entries(env).filter(([key]) => !key.startsWith("SERVICE_CLUSTER_")));
  await (await serve(from, { env: plain })).stop();
  const database = new Database(`${from}/socle.db`);
  database.run(
    `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${records})
     INSERT INTO items (id, createdAt, updatedAt, title, n, count)
     SELECT printf('rec_%08x-a6a6-73d8-b3b0-c733bb7d13f7', n), '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', 'Item number ' || n, n % 5000, n FROM c`,
  );
  database.close();
  const init = await socle(["cluster", "init"], { cwd: from, env });
  expect([init.code, init.stderr]).toEqual([0, ""]);
  const status = JSON.parse((await socle(["cluster", "status", "--json"], { cwd: from, env })).stdout);
  const [{ name, bytes }] = status.snapshots;

  const times: { join: number[]; restore: number[] } = { join: [], restore: [] };
  for (let round = 0; round < 3; round++) {
    const joined = temporaryFolder();
    await Bun.write(`${joined}/collections/items.json`, files["collections/items.json"]);
    const start = performance.now();
    const running = await serve(joined, { env });
    times.join.push((performance.now() - start) / 1_000);
    await running.stop();
    const restored = temporaryFolder();
    const before = performance.now();
    const source = `${plain["SERVICE_STORAGE"]}/.snapshots/${name}`;
    const restore = await socle(["restore", source], { cwd: restored, env: plain });
    expect([restore.code, restore.stderr]).toEqual([0, ""]);
    times.restore.push((performance.now() - before) / 1_000);
  }
  console.log(
    `A new instance with ${records} records (a snapshot of ${(bytes / 1024 ** 2).toFixed(0)} MiB in ${bucket}) serves after ${median(times.join).toFixed(1)} s; socle restore of the snapshot takes ${median(times.restore).toFixed(1)} s`,
  );
});
