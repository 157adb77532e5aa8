/**
 * `bun bench/processes.ts`: one process against two, in turns. Each figure has the requests per second, and the processor time that a
 * request took in the leader and in the reader process: on a machine whose cores also generate the load, the times tell more. A
 * service with a core for each process answers as many requests per second as the process with the most time allows.
 */
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { executable } from "./executable.ts";
import { generator, type LoadRequest, runLoad } from "./load/index.ts";
import { median } from "./median.ts";
import { type ServerProcess, startServer } from "./server.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 5);
const seconds = Number(process.env["BENCH_SECONDS"] ?? 2);
const only = process.env["BENCH_ONLY"] ?? "";
/** Ticks of the processor time of a process in a second, on Linux. */
const ticks = 100;

const items = {
  name: "items",
  fields: [
    { name: "title", type: "string" },
    { name: "n", type: "integer" },
  ],
  indexes: [{ fields: ["n"] }],
};

interface Scenario {
  readonly name: string;
  readonly connections: number;
  requests(ids: readonly string[]): LoadRequest[];
}

const scenarios: readonly Scenario[] = [
  {
    name: "get one",
    connections: 32,
    requests: (ids) => ids.map((id) => ({ method: "GET", path: `/api/items/${id}` })),
  },
  {
    name: "list that is kept",
    connections: 32,
    requests: () => [{ method: "GET", path: "/api/items?limit=20" }],
  },
  {
    name: "list with a filter",
    connections: 32,
    requests: () =>
      Array.from({ length: 500 }, (_, n) => ({ method: "GET", path: `/api/items?limit=20&filter=n%3D${n}` })),
  },
  {
    name: "create",
    connections: 128,
    requests: () =>
      Array.from({ length: 100 }, (_, n) => ({
        method: "POST",
        path: "/api/items",
        body: JSON.stringify({ title: `Item number ${n}`, n }),
      })),
  },
];

interface Target {
  readonly processes: number;
  readonly server: ServerProcess;
  readonly ids: string[];
}

async function start(folder: string, processes: number): Promise<Target> {
  const cwd = join(folder, String(processes));
  await mkdir(join(cwd, "collections"), { recursive: true });
  await Bun.write(join(cwd, "collections/items.json"), JSON.stringify(items));
  const config = { port: 0, host: "127.0.0.1", processes, log: { level: "WARN" } };
  await Bun.write(join(cwd, "config.json"), JSON.stringify(config));
  const server = await startServer([executable], cwd);
  const ids: string[] = [];
  for (let n = 0; n < 1_000; n++) {
    const answer = await fetch(`${server.url}/api/items`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ title: `Item number ${n}`, n: n % 500 }),
    });
    ids.push(((await answer.json()) as { id: string }).id);
  }
  return { processes, server, ids };
}

async function pidsOf({ server: { pid } }: Target): Promise<number[]> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).trim();
  return [pid, ...(children === "" ? [] : children.split(" ").map(Number))];
}

/** Seconds of processor time that a process has taken. */
async function cpuSeconds(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / ticks;
}

interface Measured {
  readonly perSecond: number;
  /** Microseconds of processor time for a request, of the leader and of the reader process. */
  readonly leader: number;
  readonly reader: number;
}

async function measure(target: Target, scenario: Scenario, folder: string): Promise<Measured> {
  const pids = await pidsOf(target);
  const before = await Promise.all(pids.map(cpuSeconds));
  const { url } = target.server;
  const requests = scenario.requests(target.ids);
  const result = await runLoad({ url, connections: scenario.connections, seconds, requests }, folder);
  if (result.errors > 0) throw new Error(`${scenario.name}: ${result.errors} errors`);
  const after = await Promise.all(pids.map(cpuSeconds));
  const [leader = 0, ...readers] = after.map((end, i) => end - (before[i] ?? 0));
  const count = result.requestsPerSecond * seconds;
  const reader = Math.max(0, ...readers);
  return { perSecond: result.requestsPerSecond, leader: (leader / count) * 1e6, reader: (reader / count) * 1e6 };
}

const folder = await mkdtemp(join(tmpdir(), "socle-bench-"));
const targets = [await start(folder, 1), await start(folder, 2)];
console.log(`Load by ${generator}, ${rounds} rounds of ${seconds} s for each; medians.\n`);
console.log("| | processes | requests/s | µs of the leader | µs of the reader |\n| --- | ---: | ---: | ---: | ---: |");
for (const scenario of scenarios.filter(({ name }) => name.includes(only))) {
  const found = new Map<Target, Measured[]>(targets.map((target) => [target, []]));
  for (let round = 0; round < rounds; round++)
    for (const target of targets) found.get(target)?.push(await measure(target, scenario, folder));
  for (const [{ processes }, all] of found) {
    const [perSecond, leader, reader] = (["perSecond", "leader", "reader"] as const).map((key) =>
      Math.round(median(all.map((each) => each[key]))),
    );
    console.log(
      `| ${scenario.name}, ${scenario.connections} connections | ${processes} | ${perSecond} | ${leader} | ${reader} |`,
    );
  }
}
await Promise.all(targets.map(({ server }) => server.stop()));
await rm(folder, { recursive: true });
