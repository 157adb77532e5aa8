/** Benchmark of endpoints and queues: the rate, and the other requests beside endpoints that sleep. */
import { Database } from "bun:sqlite";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { executable } from "./executable.ts";
import { type LoadRequest, runLoad } from "./load/index.ts";
import { median } from "./median.ts";
import { type ServerProcess, startServer } from "./server.ts";
import { crossingFiles, measureCrossings } from "./user-code-calls.ts";

interface Options {
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
}

const queued = 10_000;
const sleepers = 100;

const files: { readonly [path: string]: string } = {
  ...crossingFiles,
  "endpoints/empty.ts": 'export const access = "public";\nexport const GET = () => new Response("ok");\n',
  "endpoints/sleep.ts":
    'export const access = "public";\nexport const GET = async () => { await Bun.sleep(20_000); return new Response("ok"); };\n',
  "jobs/four.ts": "export const queue = { concurrency: 4 };\nexport default () => undefined;\n",
  "jobs/many.ts": "export const queue = { concurrency: 32 };\nexport default () => undefined;\n",
  // Runs that are due at one time, so that adding runs is not measured.
  "endpoints/fill.ts": `export const access = "public";
export const GET = async (request, { db }) => {
  const { name, at } = Object.fromEntries(new URL(request.url).searchParams);
  const enqueue = Array.from({ length: 1_000 }, (_, n) => ({ name, payload: n, at }));
  for (let n = 0; n < ${queued / 1_000}; n++) await db.batch([{ method: "create", collection: "items", body: {} }], { enqueue });
  return new Response("ok");
};\n`,
};

async function start(folder: string): Promise<ServerProcess> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(`${folder}/${path}`), { recursive: true });
    await Bun.write(`${folder}/${path}`, content);
  }
  await mkdir(`${folder}/collections`, { recursive: true });
  const fields = [
    { name: "title", type: "string" },
    { name: "n", type: "integer" },
  ];
  const items = { name: "items", fields, indexes: [["title"]] };
  await Bun.write(`${folder}/collections/items.json`, JSON.stringify(items));
  await Bun.write(`${folder}/collections/hooked.json`, JSON.stringify({ ...items, name: "hooked" }));
  await Bun.write(`${folder}/config.json`, JSON.stringify({ port: 0, limits: { queuedRuns: 1_000_000 } }));
  return startServer([executable], folder, { SERVICE_LOG_LEVEL: "INFO" });
}

function get(path: string): readonly LoadRequest[] {
  return [{ method: "GET", path }];
}

async function measureRate(server: ServerProcess, { folder, rounds, seconds }: Options): Promise<string> {
  const speeds: number[] = [];
  for (let round = -1; round < rounds; round++) {
    const load = { url: server.url, connections: 32, seconds, requests: get("/api/function/empty") };
    const { requestsPerSecond, errors } = await runLoad(load, folder);
    if (errors > 0) throw new Error(`endpoints: ${errors} errors`);
    if (round >= 0) speeds.push(requestsPerSecond);
  }
  return `An empty endpoint at 32 connections: ${Math.round(median(speeds)).toLocaleString("en")}/s (aim ≥ 10,000).`;
}

/** Requests beside sleeping endpoints, against requests without sleeping endpoints, in turns. */
async function measureBeside(server: ServerProcess, { folder, rounds, seconds }: Options): Promise<string> {
  const parts: string[] = [];
  for (const [name, path] of [
    ["a list", "/api/items"],
    ["an endpoint", "/api/function/empty"],
  ] as const) {
    const quiet: number[] = [];
    const beside: number[] = [];
    const load = { url: server.url, connections: 8, seconds, requests: get(path) };
    for (let round = 0; round < rounds; round++) {
      quiet.push((await runLoad(load, folder)).p99);
      const leaving = new AbortController();
      const sleeping = Array.from({ length: sleepers }, () =>
        fetch(`${server.url}/api/function/sleep`, { signal: leaving.signal }).catch(() => null),
      );
      beside.push((await runLoad(load, folder)).p99);
      leaving.abort();
      await Promise.all(sleeping);
    }
    parts.push(`${name} ${median(quiet).toFixed(2)} ms, beside them ${median(beside).toFixed(2)} ms`);
  }
  return `p99 at 8 connections, without and with ${sleepers} endpoints that sleep: ${parts.join("; ")}.`;
}

function waiting(folder: string): number {
  const database = new Database(`${folder}/socle.db`, { readonly: true });
  const row = database.prepare<{ n: number }, []>("SELECT count(*) AS n FROM _job_queue").get();
  database.close();
  return row?.n ?? 0;
}

async function measureQueue(server: ServerProcess, folder: string, options: Options): Promise<string> {
  const parts: string[] = [];
  for (const [name, concurrency] of [
    ["many", 32],
    ["four", 4],
  ] as const) {
    const speeds: number[] = [];
    for (let round = 0; round < Math.min(3, options.rounds); round++) {
      const due = Date.now() + 5_000;
      const at = new Date(due).toISOString();
      const filled = await fetch(`${server.url}/api/function/fill?name=${name}&at=${at}`);
      if (filled.status !== 200 || waiting(folder) !== queued) throw new Error("The queue could not be filled");
      await Bun.sleep(due - Date.now());
      while (waiting(folder) > 0) await Bun.sleep(5);
      speeds.push((queued / (Date.now() - due)) * 1_000);
    }
    parts.push(`concurrency ${concurrency} ${Math.round(median(speeds)).toLocaleString("en")}/s`);
  }
  return `${queued.toLocaleString("en")} queued runs with an empty handler: ${parts.join(", ")} (aim ≥ 5,000).`;
}

export async function measureEndpoints(options: Options): Promise<void> {
  const folder = `${options.folder}/endpoints`;
  const server = await start(folder);
  try {
    console.log("\n### Endpoints and queues\n");
    console.log(`${await measureRate(server, options)}\n`);
    console.log(`${await measureBeside(server, options)}\n`);
    console.log(`${await measureQueue(server, folder, options)}\n`);
    await measureCrossings(server, options);
  } finally {
    await server.stop();
  }
}
