/**
 * `bun bench/processes.ts`: services of one process and of several, in turns. Each figure has the requests per second, and the processor
 * time of the leader and of a reader process: of a read, for the process that answered; of a write, for each write of the service. On a
 * machine whose cores also generate the load, the times tell more. From the times follows the last column: the requests per second with a
 * core for each process, and connections that spread evenly. Then the same for 10,000 sockets that all hear each create, for each delivery,
 * and the memory of a reader process.
 *
 * `BENCH_PROCESSES=1,2,3,4` compares other numbers of processes; `PROCESSES_PLOT=1` draws docs/images/processes.svg.
 */
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { executable } from "./executable.ts";
import { type Listeners, startListeners } from "./listeners.ts";
import { generator, type LoadRequest, runLoad } from "./load/index.ts";
import { median } from "./median.ts";
import { plot, type Series } from "./processes-plot.ts";
import { type ServerProcess, startServer } from "./server.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 5);
const seconds = Number(process.env["BENCH_SECONDS"] ?? 2);
const only = process.env["BENCH_ONLY"] ?? "";
const counts = (process.env["BENCH_PROCESSES"] ?? "1,2").split(",").map(Number);
const image = process.env["PROCESSES_PLOT"] === "1" ? join(import.meta.dir, "../docs/images/processes.svg") : null;
const metricsToken = "bench";
const sockets = 10_000;
/** Creates under way while sockets hear the creates: with few, each of several processes soon waits for the next event. */
const creates = 16;
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
  /** Whether the process that has the connection answers. */
  readonly isRead: boolean;
  requests(ids: readonly string[]): LoadRequest[];
}

const scenarios: readonly Scenario[] = [
  {
    name: "get one",
    connections: 32,
    isRead: true,
    requests: (ids) => ids.map((id) => ({ method: "GET", path: `/api/items/${id}` })),
  },
  {
    name: "list that is kept",
    connections: 32,
    isRead: true,
    requests: () => [{ method: "GET", path: "/api/items?limit=20" }],
  },
  {
    name: "list with a filter",
    connections: 32,
    isRead: true,
    requests: () =>
      Array.from({ length: 500 }, (_, n) => ({ method: "GET", path: `/api/items?limit=20&filter=n%3D${n}` })),
  },
  {
    name: "create",
    connections: 128,
    isRead: false,
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
  const base = { port: 0, host: "127.0.0.1", log: { level: "WARN" } };
  const limits = { connections: 4 * sockets, connectionsPerAddress: 4 * sockets };
  const config = { ...base, processes, limits, metrics: { token: metricsToken } };
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

/** The requests that each process has answered, the leader first. */
async function answered({ server: { url } }: Target): Promise<Map<string, number>> {
  const response = await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${metricsToken}` } });
  const sums = new Map([["leader", 0]]);
  for (const [, labels = "", value] of (await response.text()).matchAll(
    /^socle_http_requests_total\{(.*)\} (\d+)$/gm,
  )) {
    const name = /process="([^"]*)"/.exec(labels)?.[1] ?? "leader";
    sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  return sums;
}

interface Measured {
  readonly perSecond: number;
  /** Microseconds of processor time, of the leader and of the slowest reader process. */
  readonly leader: number;
  readonly reader: number;
  /** Requests per second with a core for each process. */
  readonly withCores: number;
}

async function measure(target: Target, scenario: Scenario, folder: string): Promise<Measured> {
  const pids = await pidsOf(target);
  const requestsBefore = await answered(target);
  const before = await Promise.all(pids.map(cpuSeconds));
  const { url } = target.server;
  const requests = scenario.requests(target.ids);
  const result = await runLoad({ url, connections: scenario.connections, seconds, requests }, folder);
  if (result.errors > 0) throw new Error(`${scenario.name}: ${result.errors} errors`);
  const after = await Promise.all(pids.map(cpuSeconds));
  const requestsAfter = await answered(target);
  const own = [...requestsAfter].map(([name, count]) => count - (requestsBefore.get(name) ?? 0));
  const all = result.requestsPerSecond * seconds;
  // A process that got few connections says little about the time of a request.
  const share = all / target.processes / 4;
  const times = after.map((end, i) => {
    const of = scenario.isRead ? (own[i] ?? 0) : all;
    return of < share ? 0 : ((end - (before[i] ?? 0)) / of) * 1e6;
  });
  const [leader = 0, ...readers] = times;
  const each = scenario.isRead ? target.processes : 1;
  const withCores = (each * 1e6) / Math.max(...times);
  return { perSecond: result.requestsPerSecond, leader, reader: Math.max(0, ...readers), withCores };
}

/** Deliveries per second to sockets that each hear every create, and the microseconds of processor time for each delivery. */
async function measureSockets(target: Target, listeners: Listeners): Promise<Measured> {
  const pids = await pidsOf(target);
  const before = await Promise.all(pids.map(cpuSeconds));
  const writing = { url: target.server.url, seconds, window: creates, intervalMs: 0, perEvent: sockets, headers: [] };
  const body = '{"title":"Item","n":COUNT}';
  const start = performance.now();
  const { deliveriesPerSecond = 0, missing = 0, closed = 0 } = await listeners.tell({ do: "write", body, ...writing });
  if (missing > 0 || closed > 0) throw new Error(`${missing} events are missing, ${closed} sockets were closed`);
  const after = await Promise.all(pids.map(cpuSeconds));
  const all = (deliveriesPerSecond * (performance.now() - start)) / 1_000;
  const [leader = 0, ...readers] = after.map((end, i) => ((end - (before[i] ?? 0)) / all) * 1e6);
  const reader = Math.max(0, ...readers);
  return { perSecond: deliveriesPerSecond, leader, reader, withCores: 1e6 / Math.max(leader, reader) };
}

/** The proportional share of a process of the memory, in MiB: pages that processes share count once in all. */
async function shareOfMemory(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
  return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1]) / 1_024;
}

const folder = await mkdtemp(join(tmpdir(), "socle-bench-"));
const targets: Target[] = [];
for (const count of counts) targets.push(await start(folder, count));
const series: Series[] = [];
console.log(`Load by ${generator}, ${rounds} rounds of ${seconds} s for each; medians.\n`);
console.log("| | processes | requests/s | µs of the leader | µs of a reader | requests/s with a core each |");
console.log("| --- | ---: | ---: | ---: | ---: | ---: |");
for (const scenario of scenarios.filter(({ name }) => name.includes(only))) {
  const found = new Map<Target, Measured[]>(targets.map((target) => [target, []]));
  for (let round = 0; round < rounds; round++)
    for (const target of targets) found.get(target)?.push(await measure(target, scenario, folder));
  const points: { processes: number; measured: number; withCores: number }[] = [];
  for (const [{ processes }, all] of found) {
    const of = (key: keyof Measured): number => Math.round(median(all.map((each) => each[key])));
    const row = [processes, of("perSecond"), of("leader"), of("reader"), of("withCores")];
    console.log(`| ${scenario.name}, ${scenario.connections} connections | ${row.join(" | ")} |`);
    points.push({ processes, measured: of("perSecond"), withCores: of("withCores") });
  }
  series.push({ name: scenario.name, points });
}
if ("sockets".includes(only)) {
  const listeners = new Map(targets.map((target) => [target, startListeners()]));
  const found = new Map<Target, Measured[]>(targets.map((target) => [target, []]));
  for (const [{ server }, each] of listeners)
    await each.tell({
      do: "connect",
      url: server.url,
      count: sockets,
      channel: "items.created",
      tokens: [],
      reads: true,
    });
  for (let round = 0; round < rounds; round++)
    for (const [target, each] of listeners) found.get(target)?.push(await measureSockets(target, each));
  for (const [{ processes }, all] of found) {
    const of = (key: keyof Measured): number => median(all.map((each) => each[key]));
    const row = [processes, Math.round(of("perSecond")), of("leader").toFixed(2), of("reader").toFixed(2)];
    console.log(`| ${sockets} sockets, deliveries | ${row.join(" | ")} | ${Math.round(of("withCores"))} |`);
  }
  for (const each of listeners.values()) await each.stop();
}
for (const target of targets) {
  const [leader = 0, ...readers] = await Promise.all((await pidsOf(target)).map(shareOfMemory));
  const list = readers.map((each) => each.toFixed(0)).join(", ");
  console.log(
    `\n${target.processes} processes, afterwards: leader ${leader.toFixed(0)} MiB, readers ${list || "none"} (proportional share).`,
  );
}
await Promise.all(targets.map(({ server }) => server.stop()));
await rm(folder, { recursive: true });
if (image !== null) await Bun.write(image, plot(series));
