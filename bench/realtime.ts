/** Sockets: deliveries, latency and memory, against the floor of bare `server.publish`. */

import { mkdir } from "node:fs/promises";
import { executable } from "./executable.ts";
import { type Listeners, startListeners } from "./listeners.ts";
import type { ListenerResult } from "./load/load.ts";
import { median } from "./median.ts";
import { type ServerProcess, startServer } from "./server.ts";
import { jwtSecret, makeUsers } from "./users.ts";

const fields = [
  { name: "title", type: "string" },
  { name: "body", type: "text" },
  { name: "count", type: "integer" },
  { name: "score", type: "float" },
];
const body = `{"title":"Item","body":"A text of a hundred characters or so, as a note or a comment might have it, with an é and a 漢字.","count":COUNT,"score":1.5}`;
const channel = "items.created";
const env = { SERVICE_LOG_LEVEL: "INFO", SERVICE_AUTH_JWT_SECRET: jwtSecret };

interface Target {
  readonly server: ServerProcess;
  readonly listeners: Listeners;
  readonly tokens: string[];
}

export interface RealtimeOptions {
  root: string;
  folder: string;
  rounds: number;
  seconds: number;
}

/** A service with this read rule of the collection, with as many users as are needed. */
async function startSocle(options: RealtimeOptions, read: string, users: number): Promise<Target> {
  const folder = `${options.folder}/realtime-${read}-${users}-${crypto.randomUUID()}`;
  await mkdir(`${folder}/collections`, { recursive: true });
  const definition = { name: "items", fields, permissions: { read, create: "public" } };
  await Bun.write(`${folder}/collections/items.json`, JSON.stringify(definition));
  const limits = { connections: 20_000, connectionsPerAddress: 20_000 };
  await Bun.write(`${folder}/config.json`, JSON.stringify({ port: 0, limits }));
  const command = [executable];
  await (await startServer(command, folder, env)).stop();
  const tokens = await makeUsers(`${folder}/socle.db`, users);
  return { server: await startServer(command, folder, env), listeners: startListeners(), tokens };
}

async function startFloor(options: RealtimeOptions, tokens: string[]): Promise<Target> {
  const server = await startServer([process.execPath, `${options.root}/bench/floor-sockets.ts`], options.folder);
  return { server, listeners: startListeners(), tokens };
}

async function stop(targets: readonly Target[]): Promise<void> {
  for (const { server, listeners } of targets) {
    await listeners.stop();
    await server.stop();
  }
}

function connect({ server, listeners, tokens }: Target, count: number, reads = true): Promise<ListenerResult> {
  return listeners.tell({ do: "connect", url: server.url, count, channel, tokens, reads });
}

interface Writing {
  seconds: number;
  perEvent: number;
  window?: number;
  intervalMs?: number;
}

async function write({ server, listeners, tokens }: Target, writing: Writing): Promise<Required<ListenerResult>> {
  const headers = tokens.map((token) => ({ Authorization: `Bearer ${token}` }));
  const defaults = { window: 16, intervalMs: 0 };
  const result = await listeners.tell({ do: "write", url: server.url, body, headers, ...defaults, ...writing });
  const {
    writesPerSecond = 0,
    deliveriesPerSecond = 0,
    missing = 0,
    closed = 0,
    p50 = 0,
    p99 = 0,
    latest = 0,
  } = result;
  if (missing > 0 || closed > 0) throw new Error(`${missing} events are missing, ${closed} sockets were closed`);
  return { ready: 0, writesPerSecond, deliveriesPerSecond, missing, closed, p50, p99, latest };
}

/** A row of the table: full speed in turns, then latency at a pace that leaves the machine half idle. */
async function measureDeliveries(
  name: string,
  targets: readonly [Target, Target],
  options: RealtimeOptions & { sockets: number; perEvent: number; aim: string },
): Promise<string> {
  for (const target of targets) await connect(target, options.sockets);
  const { perEvent, seconds } = options;
  const rates: [number[], number[]] = [[], []];
  const ratios: number[] = [];
  for (let round = -1; round < options.rounds; round++) {
    const pair: number[] = [];
    for (const [i, target] of targets.entries()) {
      const { deliveriesPerSecond } = await write(target, { seconds, perEvent });
      pair.push(deliveriesPerSecond);
      if (round >= 0) rates[i]?.push(deliveriesPerSecond);
    }
    // Round -1 warms both up and is not counted.
    if (round >= 0) ratios.push((pair[0] ?? 0) / (pair[1] ?? 1));
  }
  const intervalMs = perEvent > 1 ? perEvent / 200 : 2;
  const cells: string[] = [];
  for (const [i, target] of targets.entries()) {
    const { p50, p99 } = await write(target, { seconds: 2 * seconds, perEvent, intervalMs });
    cells.push(Math.round(median(rates[i] ?? [])).toLocaleString("en"), p50.toFixed(1), p99.toFixed(1));
  }
  const pace = `${Math.round(1_000 / intervalMs)}/s`;
  return `| ${[name, ...cells, median(ratios).toFixed(2), options.aim, pace].join(" | ")} |`;
}

/** The cost of a further socket for a record of another user: the cost should be zero. */
async function measureOwnerCost(options: RealtimeOptions): Promise<string> {
  const few = await startSocle(options, "owner", 10);
  const many = await startSocle(options, "owner", 5_000);
  const targets = [few, many];
  try {
    await connect(few, 10);
    await connect(many, 5_000);
    const writer = (target: Target): Target => ({ ...target, tokens: target.tokens.slice(0, 10) });
    const ratios: number[] = [];
    const rates: number[][] = [[], []];
    for (let round = -1; round < options.rounds; round++) {
      const pair: number[] = [];
      for (const [i, target] of targets.entries()) {
        const { writesPerSecond } = await write(writer(target), {
          seconds: options.seconds,
          perEvent: 1,
          window: 1_000,
        });
        pair.push(writesPerSecond);
        if (round >= 0) rates[i]?.push(writesPerSecond);
      }
      if (round >= 0) ratios.push((pair[1] ?? 0) / (pair[0] ?? 1));
    }
    const [a, b] = rates.map((each) => Math.round(median(each)).toLocaleString("en"));
    return `Creates on an owner channel: ${a}/s with 10 sockets, ${b}/s with 5,000; ratio ${median(ratios).toFixed(2)} (aim ≥ 0.80).`;
  } finally {
    await stop(targets);
  }
}

async function measureIdle(options: RealtimeOptions): Promise<string> {
  const target = await startSocle(options, "owner", 5_000);
  try {
    const before = target.server.resident();
    await connect(target, 10_000);
    await Bun.sleep(2_000);
    const more = target.server.resident() - before;
    return `10,000 idle sockets of 5,000 users, subscribed: ${more.toFixed(0)} MiB more resident memory (aim ≤ 150).`;
  } finally {
    await stop([target]);
  }
}

/** Sockets that never read, beside others that do: other sockets are not to notice, and the memory stays bounded. */
async function measureDeaf(options: RealtimeOptions): Promise<string> {
  const target = await startSocle(options, "public", 0);
  const others = { ...target, listeners: startListeners() };
  const count = 50;
  const rates: { true: number[]; false: number[] } = { true: [], false: [] };
  const ratios: number[] = [];
  let peak = 0;
  try {
    await connect(target, 100);
    const before = target.server.resident();
    for (let round = -1; round < options.rounds; round++) {
      const pair: number[] = [];
      // The same number of sockets in turn: fifty that read, fifty that do not.
      for (const reads of [false, true]) {
        await connect(others, count, reads);
        const sampler = setInterval(() => {
          if (!reads) peak = Math.max(peak, target.server.resident() - before);
        }, 100);
        const { deliveriesPerSecond } = await write(target, { seconds: options.seconds, perEvent: 100 });
        clearInterval(sampler);
        await others.listeners.tell({ do: "disconnect" });
        pair.push(deliveriesPerSecond);
        if (round >= 0) rates[`${reads}`].push(deliveriesPerSecond);
      }
      if (round >= 0) ratios.push((pair[0] ?? 0) / (pair[1] ?? 1));
    }
    const [deaf, reading] = [rates.false, rates.true].map((each) => Math.round(median(each)).toLocaleString("en"));
    return `100 sockets that read, beside ${count} that never do: ${deaf} deliveries/s; beside ${count} that do: ${reading}; ratio ${median(ratios).toFixed(2)}. ${peak.toFixed(0)} MiB more resident memory at most (bound ${count}: 1 MiB each).`;
  } finally {
    await others.listeners.stop();
    await stop([target]);
  }
}

export async function measureRealtime(options: RealtimeOptions): Promise<void> {
  console.log(
    "\n| | socle deliveries/s | p50 ms | p99 ms | floor deliveries/s | p50 ms | p99 ms | ratio | aim | latency at |",
  );
  console.log("|---|---|---|---|---|---|---|---|---|---|");
  for (const sockets of [1_000, 5_000]) {
    const targets = [await startSocle(options, "public", 0), await startFloor(options, [])] as const;
    const name = `public channel, ${sockets.toLocaleString("en")} sockets`;
    console.log(await measureDeliveries(name, [...targets], { ...options, sockets, perEvent: sockets, aim: "≥ 0.70" }));
    await stop(targets);
  }
  const socle = await startSocle(options, "owner", 1_000);
  const targets = [socle, await startFloor(options, socle.tokens)] as const;
  const owner = { ...options, sockets: 1_000, perEvent: 1, aim: "" };
  console.log(await measureDeliveries("owner channel, 1,000 sockets, each record to one", [...targets], owner));
  await stop(targets);
  console.log(`\n${await measureOwnerCost(options)}`);
  console.log(`\n${await measureIdle(options)}`);
  console.log(`\n${await measureDeaf(options)}`);
}
