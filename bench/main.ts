/** `npm run bench`: the built executable against the floor, in turns, in one run. See bench/README.md. */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { measureAccounts } from "./accounts.ts";
import { measureAdmin } from "./admin.ts";
import { measureBackups } from "./backups.ts";
import { loadCities } from "./cities.ts";
import { measureDashboard } from "./dashboard.ts";
import { measureDistances } from "./distances.ts";
import { measureEndpoints } from "./endpoints.ts";
import { executable } from "./executable.ts";
import { measureFiles } from "./files.ts";
import { measureLive } from "./live.ts";
import { generator, type Load, type LoadRequest, type LoadResult, runLoad } from "./load/index.ts";
import { median } from "./median.ts";
import { measureNearest } from "./nearest.ts";
import { measureQueries } from "./queries.ts";
import { measureRealtime } from "./realtime.ts";
import { measureRules } from "./rules.ts";
import { measureScripts } from "./scripts.ts";
import { type ServerProcess, startServer } from "./server.ts";
import { measureUndo } from "./undo.ts";
import { measureWrites } from "./writes.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 5);
const seconds = Number(process.env["BENCH_SECONDS"] ?? 2);
const only = process.env["BENCH_ONLY"];
const root = join(import.meta.dir, "..");

const fields = [
  { name: "title", type: "string", required: true, max: 200 },
  { name: "body", type: "text" },
  { name: "count", type: "integer", min: 0 },
  { name: "score", type: "float" },
];

interface Target {
  readonly name: "socle" | "floor";
  readonly server: ServerProcess;
  ids: string[];
  token: string;
  key: string;
}

interface Scenario {
  readonly name: string;
  readonly connections: number;
  readonly aim: number | null;
  requests(target: Target): LoadRequest[];
}

function item(n: number): string {
  return JSON.stringify({
    title: `Item number ${n}`,
    body: "A text of a hundred characters or so, as a note or a comment might have it, with an é and a 漢字.",
    count: n,
    score: n / 7,
  });
}

const create = (): LoadRequest[] =>
  Array.from({ length: 100 }, (_, n) => ({ method: "POST", path: "/api/items", body: item(n) }));
const get = ({ ids }: Target): LoadRequest[] => ids.map((id) => ({ method: "GET", path: `/api/items/${id}` }));
const update = ({ ids }: Target): LoadRequest[] =>
  ids.map((id, n) => ({ method: "PUT", path: `/api/items/${id}`, body: JSON.stringify({ title: `New title ${n}` }) }));

const scenarios: readonly Scenario[] = [
  { name: "create, 1 connection", connections: 1, aim: null, requests: create },
  { name: "create, 32 connections", connections: 32, aim: 0.6, requests: create },
  { name: "create, 128 connections", connections: 128, aim: 0.6, requests: create },
  { name: "get one, 32", connections: 32, aim: 0.7, requests: get },
  {
    name: "get one with a token, 32",
    connections: 32,
    aim: null,
    requests: (target) =>
      get(target).map((request) => ({ ...request, headers: { Authorization: `Bearer ${target.token}` } })),
  },
  {
    name: "get one with an API key, 32",
    connections: 32,
    aim: null,
    requests: (target) =>
      get(target).map((request) => ({ ...request, headers: { Authorization: `Bearer ${target.key}` } })),
  },
  {
    name: "list of 50, 32",
    connections: 32,
    aim: 0.8,
    requests: () => [{ method: "GET", path: "/api/fifty" }],
  },
  { name: "update, 32", connections: 32, aim: null, requests: update },
  {
    name: "50/50 get and update, 32",
    connections: 32,
    aim: null,
    requests: (target) => {
      const updates = update(target);
      return get(target).flatMap((request, i) => [request, updates[i] ?? request]);
    },
  },
];

async function post<T>(url: string, body: string, token?: string): Promise<T> {
  const headers = {
    "Content-Type": "application/json",
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
  };
  const response = await fetch(url, { method: "POST", headers, body });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

async function fill(target: Target): Promise<void> {
  const { url } = target.server;
  for (let n = 0; n < 50; n++) await post(`${url}/api/fifty`, item(n));
  for (let n = 0; n < 1_000; n++) target.ids.push((await post<{ id: string }>(`${url}/api/items`, item(n))).id);
  if (target.name === "floor") return;
  const credentials = JSON.stringify({ email: "bench@example.com", password: "a long password" });
  target.token = (await post<{ accessToken: string }>(`${url}/api/auth/register`, credentials)).accessToken;
  const key = JSON.stringify({ name: "bench", scopes: ["items:read"] });
  target.key = (await post<{ key: string }>(`${url}/api/auth/keys`, key, target.token)).key;
}

async function prepareFolder(folder: string, collections: number): Promise<string> {
  await mkdir(`${folder}/collections`, { recursive: true });
  const names = ["items", "fifty", ...Array.from({ length: collections - 2 }, (_, i) => `spare${i + 1}`)];
  for (const name of names) await Bun.write(`${folder}/collections/${name}.json`, JSON.stringify({ name, fields }));
  await Bun.write(`${folder}/config.json`, JSON.stringify({ port: 0, log: { level: "WARN" } }));
  return folder;
}

/** Start to first answer and idle memory, with 20 existing collections. */
async function measureStart(executable: string, folder: string): Promise<string> {
  const times: number[] = [];
  const memory: number[] = [];
  const env = { SERVICE_LOG_LEVEL: "INFO" };
  await (await startServer([executable], folder, env)).stop();
  for (let i = 0; i < 11; i++) {
    const server = await startServer([executable], folder, env);
    times.push(server.startMs);
    await Bun.sleep(1_000);
    memory.push(server.resident());
    await server.stop();
  }
  return `Start to first answer with 20 collections: ${median(times).toFixed(0)} ms (aim ≤ 80). Idle: ${median(memory).toFixed(1)} MiB resident (aim ≤ 50).`;
}

/** Backups take minutes, and are measured alone: `BENCH_ONLY=backups npm run bench`. */
async function backups(): Promise<void> {
  const folder = await mkdtemp(`${tmpdir()}/socle-bench-`);
  await measureBackups(folder, rounds).finally(() => rm(folder, { recursive: true }));
}

async function main(): Promise<void> {
  const folder = await mkdtemp(`${tmpdir()}/socle-bench-`);
  const targets: Target[] = [];
  try {
    console.log(
      `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${(totalmem() / 1024 ** 3).toFixed(0)} GiB, Bun ${Bun.version}, load from ${generator}`,
    );
    console.log(`${rounds} rounds of ${seconds} s for each, in turns; medians\n`);
    console.log(`${await measureStart(executable, await prepareFolder(`${folder}/start`, 20))}\n`);
    const socle: Target = {
      name: "socle",
      server: await startServer([executable], await prepareFolder(`${folder}/socle`, 2), { SERVICE_LOG_LEVEL: "INFO" }),
      ids: [],
      token: "",
      key: "",
    };
    const floor: Target = {
      name: "floor",
      server: await startServer([process.execPath, `${root}/bench/floor.ts`, `${folder}/floor.db`], folder),
      ids: [],
      token: "",
      key: "",
    };
    targets.push(socle, floor);
    for (const target of targets) await fill(target);
    console.log(`${await loadCities(executable, `${folder}/cities`)}\n`);
    console.log("| | socle req/s | p50 ms | p99 ms | MiB | floor req/s | p50 ms | p99 ms | MiB | ratio | aim |");
    console.log("|---|---|---|---|---|---|---|---|---|---|---|");
    for (const scenario of scenarios) {
      if (only !== undefined && !scenario.name.includes(only)) continue;
      console.log(await measure(scenario, targets, folder));
    }
    if (only === undefined || only === "realtime") await measureRealtime({ root, folder, rounds, seconds });
    if (only === undefined || only === "files") await measureFiles(folder);
    if (only === undefined || only === "functions") await measureScripts({ root, folder, rounds, seconds });
    if (only === undefined || only === "endpoints") await measureEndpoints({ folder, rounds, seconds });
    if (only === undefined || only === "queries") await measureQueries({ root, folder, rounds, seconds });
    if (only === undefined || only === "admin") await measureAdmin({ root, folder, rounds });
    if (only === "distances") await measureDistances(folder);
    if (only === "nearest") await measureNearest(folder);
    if (only === "undo") await measureUndo({ folder, rounds });
    if (only === undefined || only === "dashboard") await measureDashboard(folder);
  } finally {
    for (const target of targets) await target.server.stop();
    await rm(folder, { recursive: true });
  }
}

async function measure(scenario: Scenario, targets: readonly Target[], folder: string): Promise<string> {
  const results = new Map<Target, LoadResult[]>(targets.map((target) => [target, []]));
  const ratios: number[] = [];
  for (let round = -1; round < rounds; round++) {
    // Round -1 warms both up and is not counted.
    const pair: number[] = [];
    for (const target of targets) {
      const load: Load = {
        url: target.server.url,
        connections: scenario.connections,
        seconds: round < 0 ? 1 : seconds,
        requests: scenario.requests(target),
      };
      const result = await runLoad(load, folder);
      if (result.errors > 0) throw new Error(`${target.name}, ${scenario.name}: ${result.errors} errors`);
      if (round >= 0) results.get(target)?.push(result);
      pair.push(result.requestsPerSecond);
    }
    if (round >= 0) ratios.push((pair[0] ?? 0) / (pair[1] ?? 1));
  }
  const cells = targets.flatMap((target) => {
    const all = results.get(target) ?? [];
    return [
      Math.round(median(all.map((result) => result.requestsPerSecond))).toLocaleString("en"),
      median(all.map((result) => result.p50)).toFixed(2),
      median(all.map((result) => result.p99)).toFixed(2),
      target.server.resident().toFixed(0),
    ];
  });
  const aim = scenario.aim === null ? "" : `≥ ${scenario.aim.toFixed(2)}`;
  return `| ${[scenario.name, ...cells, median(ratios).toFixed(2), aim].join(" | ")} |`;
}

/** Batches and imports, measured alone: `BENCH_ONLY=writes npm run bench`. */
async function writes(): Promise<void> {
  const folder = await mkdtemp(`${tmpdir()}/socle-bench-`);
  const measured = measureWrites(executable, { folder, rounds, seconds });
  console.log(await measured.finally(() => rm(folder, { recursive: true })));
}

/** Rules, measured alone: `BENCH_ONLY=rules npm run bench`. */
async function rules(): Promise<void> {
  const folder = await mkdtemp(`${tmpdir()}/socle-bench-`);
  await measureRules({ folder, rounds, seconds }).finally(() => rm(folder, { recursive: true }));
}

/** Live queries, measured alone: `BENCH_ONLY=live npm run bench`. */
async function live(): Promise<void> {
  const folder = await mkdtemp(`${tmpdir()}/socle-bench-`);
  await measureLive({ folder, seconds }).finally(() => rm(folder, { recursive: true }));
}

/** Logins and API keys, measured alone: `BENCH_ONLY=accounts npm run bench`. */
async function accounts(): Promise<void> {
  const folder = await mkdtemp(`${tmpdir()}/socle-bench-`);
  await measureAccounts({ folder, rounds, seconds }).finally(() => rm(folder, { recursive: true }));
}

const alone: { readonly [name: string]: () => Promise<void> } = { accounts, backups, writes, rules, live };
await (alone[only ?? ""] ?? main)();
