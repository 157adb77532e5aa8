/**
 * Benchmark of functions and hooks: cost to the requests that trigger scripts, delay and rate, and the memory of the process.
 */
import { Database } from "bun:sqlite";
import { mkdir } from "node:fs/promises";
import { executable } from "./executable.ts";
import { type LoadRequest, runLoad } from "./load/index.ts";
import { median } from "./median.ts";
import { type ServerProcess, startServer } from "./server.ts";

const queued = 10_000;
const pace = 500;
const paceSeconds = 6;

interface Options {
  readonly root: string;
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
}

interface Project {
  readonly folder: string;
  start(): Promise<ServerProcess>;
}

const fields = [
  { name: "title", type: "string", required: true },
  { name: "n", type: "integer" },
];

async function project(options: Options, name: string, handler: string | null): Promise<Project> {
  const folder = `${options.folder}/${name}`;
  await mkdir(`${folder}/collections`, { recursive: true });
  await Bun.write(`${folder}/collections/items.json`, JSON.stringify({ name: "items", fields }));
  await Bun.write(`${folder}/config.json`, JSON.stringify({ port: 0 }));
  if (handler !== null) await Bun.write(`${folder}/functions/items/run.ts`, handler);
  const env = { SERVICE_LOG_LEVEL: "INFO" };
  return { folder, start: () => startServer([executable], folder, env) };
}

/** Deliveries that have not been run. */
function waiting({ folder }: Project): number {
  const database = new Database(`${folder}/socle.db`, { readonly: true });
  const row = database.prepare<{ n: number }, []>("SELECT count(*) AS n FROM _deliveries").get();
  database.close();
  return row?.n ?? 0;
}

async function drained(project: Project): Promise<number> {
  const start = performance.now();
  while (waiting(project) > 0) await Bun.sleep(5);
  return performance.now() - start;
}

const creates: readonly LoadRequest[] = Array.from({ length: 100 }, (_, n) => ({
  method: "POST",
  path: "/api/items",
  body: JSON.stringify({ title: `Item number ${n}`, n }),
}));

/** Creates with one trigger on the collection against creates without a trigger, in turns. */
async function measureCreates(options: Options, connections: number): Promise<string> {
  const bare = await project(options, `bare-${connections}`, null);
  const triggered = await project(options, `triggered-${connections}`, "export const onCreate = () => undefined;\n");
  const servers = [await triggered.start(), await bare.start()];
  const speeds: [number[], number[]] = [[], []];
  const ratios: number[] = [];
  const drains: number[] = [];
  try {
    for (let round = -1; round < options.rounds; round++) {
      const pair: number[] = [];
      for (const server of servers) {
        const seconds = round < 0 ? 1 : options.seconds;
        const result = await runLoad({ url: server.url, connections, seconds, requests: creates }, options.folder);
        if (result.errors > 0) throw new Error(`creates: ${result.errors} errors`);
        pair.push(result.requestsPerSecond);
        if (server !== servers[0]) continue;
        const left = waiting(triggered);
        const ms = await drained(triggered);
        if (left > 1_000) drains.push((left / ms) * 1_000);
      }
      if (round < 0) continue;
      const [withTrigger = 0, without = 1] = pair;
      speeds[0].push(withTrigger);
      speeds[1].push(without);
      ratios.push(withTrigger / without);
    }
  } finally {
    for (const server of servers) await server.stop();
  }
  const [withTrigger, without] = speeds.map((all) => Math.round(median(all)).toLocaleString("en"));
  const backlog =
    drains.length === 0 ? "" : ` What was left then ran at ${Math.round(median(drains)).toLocaleString("en")}/s.`;
  return `Creates at ${connections} connections with one trigger: ${withTrigger}/s, without: ${without}/s; ratio ${median(ratios).toFixed(2)} (aim ≥ 0.75).${backlog}`;
}

/** Creates with an empty hook, against creates without a hook, and with a hook on another collection, in turns. */
async function measureHooks(options: Options, connections: number): Promise<string> {
  const hook = "export const beforeCreate = () => undefined;\n";
  const bare = await project(options, `unhooked-${connections}`, null);
  const hooked = await project(options, `hooked-${connections}`, hook);
  const beside = await project(options, `hooked-beside-${connections}`, null);
  await Bun.write(`${beside.folder}/collections/others.json`, JSON.stringify({ name: "others", fields }));
  await Bun.write(`${beside.folder}/functions/others/run.ts`, hook);
  const servers = [await hooked.start(), await bare.start(), await beside.start()];
  const speeds: number[][] = servers.map(() => []);
  try {
    for (let round = -1; round < options.rounds; round++)
      for (const [i, server] of servers.entries()) {
        const seconds = round < 0 ? 1 : options.seconds;
        const result = await runLoad({ url: server.url, connections, seconds, requests: creates }, options.folder);
        if (result.errors > 0) throw new Error(`creates with hooks: ${result.errors} errors`);
        if (round >= 0) speeds[i]?.push(result.requestsPerSecond);
      }
  } finally {
    for (const server of servers) await server.stop();
  }
  const [withHook, without, elsewhere] = speeds.map((all) => Math.round(median(all)).toLocaleString("en"));
  return `Creates at ${connections} connections with an empty hook: ${withHook}/s (aim ≥ 8,000), without: ${without}/s, with one on another collection: ${elsewhere}/s.`;
}

const timing = `
const starts: number[] = [];
export const onCreate = async ({ record }: { record: { n: number; title: string } }) => {
  starts[record.n] = performance.timeOrigin + performance.now();
  if (record.title === "last") await Bun.write("starts.json", JSON.stringify(starts));
};
`;

/** From the answer at the client to the start of the handler. */
async function measureLatency(options: Options): Promise<string> {
  const timed = await project(options, "latency", timing);
  const server = await timed.start();
  try {
    const answers: number[] = [];
    const total = pace * paceSeconds;
    const begin = performance.now();
    const create = async (n: number): Promise<void> => {
      const body = JSON.stringify({ title: n === total - 1 ? "last" : "item", n });
      const headers = { "Content-Type": "application/json" };
      const response = await fetch(`${server.url}/api/items`, { method: "POST", headers, body });
      answers[n] = performance.timeOrigin + performance.now();
      await response.arrayBuffer();
    };
    const all: Promise<void>[] = [];
    for (let n = 0; n < total - 1; n++) {
      const wait = begin + (n * 1_000) / pace - performance.now();
      if (wait > 0) await Bun.sleep(wait);
      all.push(create(n));
    }
    await Promise.all(all);
    await drained(timed);
    await create(total - 1);
    await drained(timed);
    const starts = (await Bun.file(`${timed.folder}/starts.json`).json()) as (number | null)[];
    const waits = answers.slice(pace, total - 1).map((answer, n) => (starts[n + pace] ?? Number.NaN) - answer);
    if (waits.some(Number.isNaN)) throw new Error("A handler did not run");
    const sorted = waits.sort((a, b) => a - b);
    const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1);
    return `From answer to handler at ${pace} creates/s: p50 ${at(0.5)} ms (aim ≤ 5), p99 ${at(0.99)} ms (aim ≤ 50); below 0: it started before the client had its answer.`;
  } finally {
    await server.stop();
  }
}

/** Deliveries that wait from before a start. */
async function measureDrain(options: Options): Promise<string> {
  const speeds: number[] = [];
  for (let round = 0; round < Math.min(3, options.rounds); round++) {
    const blocked = await project(options, `drain-${round}`, "export const onCreate = () => new Promise(() => {});\n");
    const first = await blocked.start();
    const requests = Array.from({ length: queued / creates.length }, () => creates).flat();
    const load = { url: first.url, connections: 64, seconds: 60, requests, once: true };
    await runLoad(load, options.folder);
    process.kill(first.pid, "SIGKILL");
    await Bun.sleep(200);
    await project(options, `drain-${round}`, "export const onCreate = () => undefined;\n");
    const count = waiting(blocked);
    if (count !== queued) throw new Error(`${count} deliveries wait instead of ${queued}`);
    const second = await blocked.start();
    speeds.push((count / (await drained(blocked))) * 1_000);
    await second.stop();
  }
  return `${queued.toLocaleString("en")} queued deliveries with an empty handler: ${Math.round(median(speeds)).toLocaleString("en")}/s (aim ≥ 5,000).`;
}

/** From the moment in which a file was saved to the first run of the new version, in development mode. */
async function measureReload(options: Options): Promise<string> {
  const code = (version: number): string =>
    `import { writeFileSync } from "node:fs";\nexport const onCreate = () => writeFileSync("version", "${version}");\n`;
  const { folder } = await project(options, "reload", code(0));
  const server = await startServer([executable, "dev"], folder);
  const times: number[] = [];
  try {
    for (let version = 1; version <= 20; version++) {
      await Bun.sleep(Math.random() * 100);
      await Bun.write(`${folder}/functions/items/run.ts`, code(version));
      const start = performance.now();
      const body = JSON.stringify({ title: "item", n: version });
      const headers = { "Content-Type": "application/json" };
      while (
        (await Bun.file(`${folder}/version`)
          .text()
          .catch(() => "")) !== String(version)
      )
        await (await fetch(`${server.url}/api/items`, { method: "POST", headers, body })).arrayBuffer();
      times.push(performance.now() - start);
    }
  } finally {
    await server.stop();
  }
  return `From a save to the first run of the new version: median ${median(times).toFixed(0)} ms, longest ${Math.max(...times).toFixed(0)} ms (aim ≤ 200).`;
}

/** Reads while handlers loop for ever, in turn, against reads without such handlers. */
async function measureBeside(options: Options): Promise<string> {
  const loop = 'export const options = { timeout: "200ms" };\nexport const onCreate = () => { for (;;); };\n';
  const server = await (await project(options, "beside", loop)).start();
  const quiet: number[] = [];
  const beside: number[] = [];
  const create = async (): Promise<void> => {
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify({ title: "item", n: 1 });
    await (await fetch(`${server.url}/api/items`, { method: "POST", headers, body })).arrayBuffer();
  };
  const requests: readonly LoadRequest[] = [{ method: "GET", path: "/health" }];
  const load = { url: server.url, connections: 8, seconds: options.seconds, requests };
  try {
    for (let round = 0; round < options.rounds; round++) {
      quiet.push((await runLoad(load, options.folder)).p99);
      const timer = setInterval(() => void create(), 400);
      beside.push((await runLoad(load, options.folder)).p99);
      clearInterval(timer);
      // The last runs end before the next round.
      await Bun.sleep(6_000);
    }
  } finally {
    await server.stop();
  }
  return `Requests at 8 connections: p99 ${median(quiet).toFixed(2)} ms, and beside handlers that loop for ever ${median(beside).toFixed(2)} ms.`;
}

/** The resident memory of the processes that a service has started, in MiB. */
function childMemory(parent: number): number[] {
  const lines = Bun.spawnSync(["ps", "-o", "rss=", "--ppid", String(parent)])
    .stdout.toString()
    .trim()
    .split("\n");
  return lines.filter((line) => line !== "").map((line) => Number(line) / 1_024);
}

async function measureMemory(options: Options): Promise<string> {
  const server = await (await project(options, "memory", "export const onCreate = () => undefined;\n")).start();
  const bare = await (await project(options, "memory-bare", null)).start();
  await Bun.sleep(1_500);
  const [host = Number.NaN] = childMemory(server.pid);
  const none = childMemory(bare.pid).length;
  const rest = `service ${server.resident().toFixed(1)} MiB, without functions ${bare.resident().toFixed(1)} MiB and ${none} processes beside it`;
  await server.stop();
  await bare.stop();
  return `Idle process of functions: ${host.toFixed(1)} MiB (aim ≤ 60); ${rest}.`;
}

export async function measureScripts(options: Options): Promise<void> {
  console.log("\n### Functions\n");
  for (const connections of [32, 128]) console.log(`${await measureCreates(options, connections)}\n`);
  for (const connections of [32, 128]) console.log(`${await measureHooks(options, connections)}\n`);
  console.log(`${await measureLatency(options)}\n`);
  console.log(`${await measureDrain(options)}\n`);
  console.log(`${await measureReload(options)}\n`);
  console.log(`${await measureBeside(options)}\n`);
  console.log(await measureMemory(options));
}
