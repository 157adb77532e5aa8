/**
 * `bun test --timeout 600000 ./bench/capacity.test.ts`: the figures of docs/capacity.md. Bytes of records, indexes, events and histories in the database, memory
 * of sockets and live queries, and creates per second by the time of a flush, which a tracer prolongs.
 *
 * `-t bytes` and the other names of the tests choose. The test runner starts the benchmark, because the tracer needs a test runner; no figure is asserted.
 */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { post, project, serve, temporaryFolder } from "../e2e/kit.ts";
import { serveTraced } from "../e2e/reliability/tracer/traced.ts";
import { type LoadRequest, runLoad } from "./load/index.ts";
import { median } from "./median.ts";
import { residentMiB } from "./server.ts";

const records = 50_000;
const perBatch = 1_000;
const sockets = 2_000;
const perSocketWindow = 50;
const seconds = Number(process.env["BENCH_SECONDS"] ?? 2);
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3);

const open = { read: "public", create: "public", update: "public", delete: "public" };
/** A text of this number of characters, different for each number. */
const textOf = (n: number, length: number): string =>
  `${n} a note with words ${"lorem ipsum dolor ".repeat(99)}`.slice(0, length);
const bodyOf = (n: number): object => ({ title: textOf(n, 30), body: textOf(n, 200), n, score: n / 7 });
const fields = [
  { name: "title", type: "string" },
  { name: "body", type: "text" },
  { name: "n", type: "integer" },
  { name: "score", type: "float" },
];
const environment = {
  SERVICE_LIMITS_CONNECTIONS: "20000",
  SERVICE_LIMITS_CONNECTIONS_PER_ADDRESS: "20000",
  SERVICE_TRUSTED_PROXIES: "1",
};

async function create(url: string, collection: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let first = 0; first < count; first += perBatch) {
    const operations = Array.from({ length: perBatch }, (_, i) => ({
      method: "create",
      collection,
      body: bodyOf(first + i),
    }));
    const answer = await post(`${url}/api/batch`, { operations });
    expect(answer.status).toBe(200);
    const { results } = (await answer.json()) as { results: { body: { id: string } }[] };
    ids.push(...results.map(({ body }) => body.id));
  }
  return ids;
}

/** Changes a number of each record. */
async function update(url: string, collection: string, count: number): Promise<void> {
  for (let first = 0; first < count; first += perBatch) {
    const page = (await (
      await fetch(`${url}/api/${collection}?sort=n&limit=${perBatch}&filter=n>=${first}`)
    ).json()) as {
      items: { id: string; n: number }[];
    };
    const operations = page.items.map(({ id, n }) => ({ method: "update", collection, id, body: { score: n + 0.25 } }));
    const answer = await post(`${url}/api/batch`, { operations });
    expect(answer.status).toBe(200);
  }
}

/** Bytes of the pages of each table and index of a database. */
function pagesOf(folder: string): Map<string, number> {
  using database = new Database(join(folder, "socle.db"));
  const rows = database
    .query<{ name: string; bytes: number }, []>("SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name")
    .all();
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}

test("bytes", async () => {
  const folder = await project({
    collections: [
      { name: "plain", fields, permissions: open },
      { name: "indexed", fields, indexes: [{ fields: ["n"] }], permissions: open },
      { name: "searched", fields, search: ["body"], permissions: open },
    ],
  });
  const steps: [name: string, work: (url: string) => Promise<unknown>][] = [
    ["a create of a record", (url) => create(url, "plain", records)],
    ["the same with an index of a number", (url) => create(url, "indexed", records)],
    ["the same with a search of the text", (url) => create(url, "searched", records)],
    ["an update of a number", (url) => update(url, "plain", records)],
  ];
  let before = new Map<string, number>();
  const bytes = JSON.stringify(bodyOf(1)).length;
  console.log(`A record has ${bytes} bytes of JSON. Bytes in the database, for each of ${records}:`);
  for (const [name, work] of [["an empty database", async () => undefined] as const, ...steps]) {
    const server = await serve(folder);
    await work(server.url);
    expect(await server.stop()).toBe(0);
    const now = pagesOf(folder);
    const grown = [...now].map(([table, size]) => [table, (size - (before.get(table) ?? 0)) / records] as const);
    const shown = grown.filter(([, each]) => each >= 1).toSorted((a, b) => b[1] - a[1]);
    const total = shown.reduce((sum, [, each]) => sum + each, 0);
    console.log(
      `${name}: ${total.toFixed(0)} (${shown.map(([table, each]) => `${table} ${each.toFixed(0)}`).join(", ")})`,
    );
    before = now;
  }
});

async function connect(url: string, number: number, query: object | null): Promise<WebSocket> {
  const headers = { "X-Forwarded-For": `10.0.${number >> 8}.${number & 255}` };
  const socket = new WebSocket(`${url.replace("http", "ws")}/api/realtime`, { headers });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.onerror = () => reject(new Error("A socket failed"));
  socket.onopen = () => {
    const asked = query === null ? { channel: "plain.created" } : { id: "a", query };
    socket.send(JSON.stringify({ action: "subscribe", ...asked }));
  };
  socket.onmessage = () => resolve();
  await promise;
  return socket;
}

test("memory", async () => {
  const folder = await project({ collections: [{ name: "plain", fields, permissions: open }] });
  const kinds: [name: string, queryOf: (n: number) => object | null][] = [
    ["a socket with a channel", () => null],
    [
      `a socket with the same live query of ${perSocketWindow}`,
      () => ({ collection: "plain", sort: "-createdAt", limit: perSocketWindow }),
    ],
    [
      `a socket with a live query of ${perSocketWindow} of its own`,
      (n) => ({ collection: "plain", filter: `n >= ${-n}`, sort: "-createdAt", limit: perSocketWindow }),
    ],
  ];
  for (const [name, queryOf] of kinds) {
    const found: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const server = await serve(folder, { env: { ...environment, SERVICE_LIMITS_LIVE_RECORDS: "1000000" } });
      if (round === 0 && name === kinds[0]?.[0]) await create(server.url, "plain", perBatch);
      const before = residentMiB(server.pid);
      const all: WebSocket[] = [];
      for (let first = 0; first < sockets; first += 50)
        all.push(
          ...(await Promise.all(
            Array.from({ length: 50 }, (_, i) => connect(server.url, first + i, queryOf(first + i))),
          )),
        );
      await Bun.sleep(3_000);
      found.push(((residentMiB(server.pid) - before) * 1_024) / sockets);
      for (const socket of all) socket.close();
      await server.stop();
    }
    console.log(`${name}: ${median(found).toFixed(1)} KiB (${found.map((each) => each.toFixed(1)).join(", ")})`);
  }
});

test("flushes", async () => {
  console.log("Creates per second by the time that a flush takes longer, and connections:");
  for (const delayMs of [0, 1, 5, 10]) {
    const folder = await project({ collections: [{ name: "plain", fields, permissions: open }] });
    const rules = [{ calls: ["fdatasync", "fsync"], path: "socle.db-wal", delayMs }] as const;
    const server =
      delayMs === 0
        ? await serve(folder)
        : await serveTraced(folder, { output: join(temporaryFolder(), "tracer"), rules, seed: 1 });
    const rates: string[] = [];
    for (const connections of [1, 8, 32, 128]) {
      const found: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const requests: LoadRequest[] = [{ method: "POST", path: "/api/plain", body: JSON.stringify(bodyOf(round)) }];
        found.push((await runLoad({ url: server.url, connections, seconds, requests }, folder)).requestsPerSecond);
      }
      rates.push(`${connections}: ${median(found).toFixed(0)}`);
    }
    console.log(`+${delayMs} ms: ${rates.join(", ")}`);
    await server.stop();
  }
});
