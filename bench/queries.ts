/** Queries: filters, pages, expansions and counts over 100,000 records, and lists from memory. */

import { Database } from "bun:sqlite";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type ExpressionSchema, parseExpression, toSql } from "../packages/server/src/data/expressions/index.ts";
import { executable } from "./executable.ts";
import { type LoadRequest, type LoadResult, runLoad } from "./load/index.ts";
import { median } from "./median.ts";
import { type ServerProcess, startServer } from "./server.ts";

const records = 100_000;
const categories = 1_000;
const authors = 1_000;
const connections = 32;

const item = {
  name: "items",
  fields: [
    { name: "title", type: "string" },
    { name: "category", type: "string" },
    { name: "count", type: "integer" },
    { name: "author", type: "relation", collection: "authors" },
  ],
  indexes: [["category"]],
};
const author = { name: "authors", fields: [{ name: "name", type: "string" }] };

const columns = "id, createdAt, updatedAt, title, category, count, author";
const floorSql = `SELECT ${columns} FROM items WHERE category = ? ORDER BY _seq DESC LIMIT 21`;

function fill(path: string): void {
  using database = new Database(path);
  const time = "2026-01-01T00:00:00.000Z";
  const insertAuthor = database.prepare("INSERT INTO authors (id, createdAt, updatedAt, name) VALUES (?, ?, ?, ?)");
  const insert = database.prepare(
    "INSERT INTO items (id, createdAt, updatedAt, title, category, count, author) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const ids = Array.from({ length: authors }, () => `rec_${Bun.randomUUIDv7()}`);
  database.transaction(() => {
    for (const [n, id] of ids.entries()) insertAuthor.run(id, time, time, `Author number ${n}`);
    for (let n = 0; n < records; n++) {
      const category = `category ${(n * 7) % categories}`;
      insert.run(
        `rec_${Bun.randomUUIDv7()}`,
        time,
        time,
        `Item number ${n}`,
        category,
        n,
        ids[(n * 31) % authors] ?? null,
      );
    }
  })();
}

function query(parameters: Record<string, string>): LoadRequest {
  return { method: "GET", path: `/api/items?${new URLSearchParams(parameters)}` };
}

/** The cursor of a page. */
async function cursorOf(
  url: string,
  { sort, page, limit }: { sort: string; page: number; limit: number },
): Promise<string> {
  let cursor = "";
  // Cursors may be used with another limit, so most of the way is gone in large steps.
  for (let left = (page - 1) * limit; left > 0; ) {
    const step = Math.min(1_000, left);
    const parameters = new URLSearchParams({ sort, limit: String(step), fields: "id", cursor });
    const answer = (await (await fetch(`${url}/api/items?${parameters}`)).json()) as { nextCursor: string };
    cursor = answer.nextCursor;
    left -= step;
  }
  return cursor;
}

interface Side {
  readonly url: string;
  readonly requests: readonly LoadRequest[];
}

/** Two loads in turns; the requests a second of each load, and the median of the rounds' ratios. */
async function compare(a: Side, b: Side, options: QueryOptions): Promise<{ a: number; b: number; ratio: number }> {
  const results: [LoadResult[], LoadResult[]] = [[], []];
  const ratios: number[] = [];
  for (let round = -1; round < options.rounds; round++) {
    const pair: number[] = [];
    for (const [i, side] of [a, b].entries()) {
      const load = { url: side.url, connections, seconds: round < 0 ? 1 : options.seconds, requests: side.requests };
      const result = await runLoad(load, options.folder);
      if (result.errors > 0) throw new Error(`${side.requests[0]?.path}: ${result.errors} errors`);
      if (round >= 0) results[i]?.push(result);
      pair.push(result.requestsPerSecond);
    }
    if (round >= 0) ratios.push((pair[0] ?? 0) / (pair[1] ?? 1));
  }
  const [first, second] = results.map((all) => median(all.map(({ requestsPerSecond }) => requestsPerSecond)));
  return { a: first ?? 0, b: second ?? 0, ratio: median(ratios) };
}

async function latency(url: string, { path }: LoadRequest): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 21; i++) {
    const start = performance.now();
    const answer = await fetch(`${url}${path}`);
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    times.push(performance.now() - start);
  }
  return median(times);
}

const shape: ExpressionSchema = {
  name: "items",
  table: "items",
  condition: null,
  field: (name) => ({
    name,
    valueType: name === "count" ? "number" : "text",
    column: name,
    isRelation: false,
    isIndexed: false,
  }),
  fieldNames: () => item.fields.map(({ name }) => name),
  follow: () => shape,
  back: () => "nothing points here",
};

/** Microseconds to parse and compile a filter of ten terms, warm. */
function compileTime(): number {
  const term = (n: number): string => (n % 2 === 0 ? `title ~ "word ${n}"` : `count >= ${n}`);
  const text = Array.from({ length: 10 }, (_, n) => term(n)).join(" && ");
  const times: number[] = [];
  for (let round = 0; round < 200; round++) {
    const start = performance.now();
    for (let i = 0; i < 100; i++) toSql(parseExpression(text, shape), "items");
    times.push(((performance.now() - start) * 1_000) / 100);
  }
  return median(times);
}

export interface QueryOptions {
  readonly root: string;
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
}

export async function measureQueries(options: QueryOptions): Promise<void> {
  const folder = join(options.folder, "queries");
  await mkdir(join(folder, "collections"), { recursive: true });
  await Bun.write(join(folder, "collections/1.json"), JSON.stringify(author));
  await Bun.write(join(folder, "collections/2.json"), JSON.stringify(item));
  await Bun.write(join(folder, "config.json"), JSON.stringify({ port: 0 }));
  const env = { SERVICE_LOG_LEVEL: "INFO" };
  await (await startServer([executable], folder, env)).stop();
  fill(join(folder, "socle.db"));
  const started: ServerProcess[] = [];
  const start = async (command: string[], more: Record<string, string> = {}): Promise<ServerProcess> => {
    const server = await startServer(command, folder, { ...env, ...more });
    started.push(server);
    return server;
  };
  console.log(`\n${records.toLocaleString("en")} records of four columns, ${connections} connections:\n`);
  try {
    const socle = await start([executable], { SERVICE_CACHE_SIZE: "0" });
    const floor = await start([
      process.execPath,
      join(options.root, "bench/floor-queries.ts"),
      join(folder, "socle.db"),
      floorSql,
    ]);
    const names = Array.from({ length: categories }, (_, n) => `category ${n}`);
    const filtered = names.map((name) => query({ filter: `category = "${name}"`, limit: "20" }));
    const bare = names.map((name): LoadRequest => ({ method: "GET", path: `/list/${encodeURIComponent(name)}` }));
    const byIndex = await compare({ url: socle.url, requests: filtered }, { url: floor.url, requests: bare }, options);
    console.log("| | socle req/s | against | req/s | ratio | aim |\n|---|---|---|---|---|---|");
    const row = ([name, against]: readonly [string, string], { a, b, ratio }: typeof byIndex, aim: string): void =>
      console.log(`| ${name} | ${whole(a)} | ${against} | ${whole(b)} | ${ratio.toFixed(2)} | ${aim} |`);
    row(["20 by an indexed filter, 1,000 filters", "a bare handler, the same SQL"], byIndex, "≥ 0.70");
    const narrowed = Array.from({ length: 20_000 }, (_, n) =>
      query({ filter: `category = "${names[n % categories]}" && count > -${n + 1}`, limit: "20" }),
    );
    const byBoth = await compare(
      { url: socle.url, requests: narrowed },
      { url: socle.url, requests: filtered },
      options,
    );
    row(["20 by an index and a condition that never repeats", "by the index alone"], byBoth, "≥ 12,000/s");
    for (const sort of ["", "category", "-category"]) {
      const cursor = await cursorOf(socle.url, { sort, page: 4_900, limit: 20 });
      const last = { url: socle.url, requests: [query({ sort, limit: "20", cursor })] };
      const first = { url: socle.url, requests: [query({ sort, limit: "20", cursor: "" })] };
      const name = `page 4,900 by cursor, ${sort === "" ? "newest first" : `sort=${sort}`}`;
      row([name, "page 1"], await compare(last, first, options), "≥ 0.67");
    }
    const plain = names.map((name) => query({ filter: `category = "${name}"`, limit: "20" }));
    const expanded = names.map((name) => query({ filter: `category = "${name}"`, limit: "20", expand: "author" }));
    const beside = await compare({ url: socle.url, requests: expanded }, { url: socle.url, requests: plain }, options);
    row(["the same with expand=author", "without"], beside, "≥ 0.50");
    const counts: readonly (readonly [string, string])[] = [
      ["count > 500", "a comparison"],
      ['title ~ "number 99"', "a search in texts"],
      ['title ~ "é"', "a search beyond ASCII"],
      ['author.name = "Author number 7" || count < 5', "a relation"],
    ];
    console.log("");
    for (const [filter, what] of counts) {
      const ms = await latency(socle.url, query({ filter, count: "exact", limit: "1" }));
      console.log(`count=exact without an index, ${what}: ${ms.toFixed(1)} ms (aim ≤ 60).`);
    }
    await socle.stop();
    const keeping = await start([executable]);
    const same = { url: keeping.url, requests: [query({ limit: "20" })] };
    const health = { url: keeping.url, requests: [{ method: "GET" as const, path: "/health" }] };
    const kept = await compare(same, health, options);
    console.log(
      `\nA list of 20 from memory: ${whole(kept.a)}/s (aim ≥ 60,000), ${kept.ratio.toFixed(2)} of GET /health.`,
    );
    console.log(`\nA filter of ten terms, parsed and compiled: ${compileTime().toFixed(1)} µs (aim ≤ 30).`);
  } finally {
    for (const server of started) await server.stop();
  }
}

function whole(n: number): string {
  return Math.round(n).toLocaleString("en");
}
