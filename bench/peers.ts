/**
 * Socle and PocketBase on the same machine, in turns: `bun bench/peers.ts`, three to five minutes. Both keep their default settings, and have
 * the same collection, records and requests. Needs Go, with which the script builds PocketBase in a temporary folder; all traffic
 * stays on the loopback interface.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { executable } from "./executable.ts";
import { generator, type LoadRequest, type LoadResult, runLoad } from "./load/index.ts";
import { median } from "./median.ts";
import { measureDelivery } from "./peers/delivery.ts";
import type { Peer } from "./peers/peer.ts";
import { buildPocketBase, pocketBaseVersion, startPocketBase } from "./peers/pocketbase.ts";
import { startSocle } from "./peers/socle.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 5);
const seconds = Number(process.env["BENCH_SECONDS"] ?? 2);
const filled = 5_000;
const subscribers = 100;

function item(n: number): string {
  const body = "A text of a hundred characters or so, as a note or a comment might have it, with an é and a 漢字.";
  return JSON.stringify({ title: `Item number ${n}`, body, count: n, score: n / 7 });
}

interface Scenario {
  readonly name: string;
  readonly connections: number;
  requests(peer: Peer): LoadRequest[];
}

const creates = (peer: Peer): LoadRequest[] =>
  Array.from({ length: 100 }, (_, n) => ({ method: "POST", path: peer.records, body: item(n) }));
const gets = (peer: Peer): LoadRequest[] =>
  peer.ids.slice(0, 1_000).map((id) => ({ method: "GET", path: `${peer.records}/${id}` }));
/** More filters than a cache of answers holds, each of which 20 records fulfil. */
const lists = (peer: Peer): LoadRequest[] =>
  Array.from({ length: filled - 20 }, (_, n) => {
    const from = (n * 1_999) % (filled - 20);
    const filter = encodeURIComponent(`count >= ${from} && count < ${from + 20}`);
    return { method: "GET", path: `${peer.records}?filter=${filter}&${peer.listOptions}` };
  });

const scenarios: readonly Scenario[] = [
  { name: "create, 1 connection", connections: 1, requests: creates },
  { name: "create, 32 connections", connections: 32, requests: creates },
  { name: "get one, 32", connections: 32, requests: gets },
  { name: "filtered list of 20, 32", connections: 32, requests: lists },
  {
    name: "mixed, 32: 8 gets, a list, a create",
    connections: 32,
    requests: (peer) => {
      const [all, some, made] = [gets(peer), lists(peer), creates(peer)];
      return made.flatMap((create, n) => [...all.slice(n * 8, n * 8 + 8), ...some.slice(n, n + 1), create]);
    },
  },
];

async function fill(peer: Peer): Promise<void> {
  for (let n = 0; n < filled; n += 50) {
    const made = Array.from({ length: 50 }, async (_, i) => {
      const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: item(n + i) };
      const response = await fetch(peer.url + peer.records, init);
      if (!response.ok) throw new Error(`${peer.name}: ${response.status} ${await response.text()}`);
      return ((await response.json()) as { id: string }).id;
    });
    peer.ids.push(...(await Promise.all(made)));
  }
}

/** A list must answer with the records that the filter means, and a record in the list must have all fields. */
async function checkList(peer: Peer): Promise<void> {
  const [first] = lists(peer);
  const answer = (await (await fetch(peer.url + (first?.path ?? ""))).json()) as { items: { count: number }[] };
  const counts = answer.items.map(({ count }) => count).sort((a, b) => a - b);
  if (counts.join() !== Array.from({ length: 20 }, (_, n) => n).join())
    throw new Error(`${peer.name}: a filtered list has the records ${counts.join()}`);
}

async function row(scenario: Scenario, peers: readonly Peer[], folder: string): Promise<string> {
  const results = new Map<Peer, LoadResult[]>(peers.map((peer) => [peer, []]));
  // Round -1 warms both up and is not counted.
  for (let round = -1; round < rounds; round++)
    for (const peer of peers) {
      const load = { url: peer.url, connections: scenario.connections, seconds, requests: scenario.requests(peer) };
      const result = await runLoad(load, folder);
      if (result.errors > 0) throw new Error(`${scenario.name}: ${peer.name} had ${result.errors} errors`);
      if (round >= 0) results.get(peer)?.push(result);
    }
  const of = (peer: Peer, value: (result: LoadResult) => number): number =>
    median((results.get(peer) ?? []).map(value));
  const cells = peers.flatMap((peer) => [
    Math.round(of(peer, ({ requestsPerSecond }) => requestsPerSecond)).toLocaleString("en"),
    of(peer, ({ p50 }) => p50).toFixed(2),
    of(peer, ({ p99 }) => p99).toFixed(2),
    peer.resident().toFixed(0),
  ]);
  const [ours = [], theirs = []] = peers.map((peer) => results.get(peer) ?? []);
  const ratios = ours.map((result, n) => result.requestsPerSecond / (theirs[n]?.requestsPerSecond ?? Number.NaN));
  return `| ${scenario.name} | ${cells.join(" | ")} | ${median(ratios).toFixed(1)} |`;
}

async function deliveries(peers: readonly Peer[]): Promise<string> {
  const p50s = new Map<Peer, number[]>();
  const p99s = new Map<Peer, number[]>();
  let missing = 0;
  for (let round = -1; round < rounds; round++)
    for (const peer of peers) {
      const measured = await measureDelivery(peer, { subscribers, seconds, perSecond: 50, body: item });
      missing += measured.missing;
      if (round < 0) continue;
      p50s.set(peer, [...(p50s.get(peer) ?? []), measured.p50]);
      p99s.set(peer, [...(p99s.get(peer) ?? []), measured.p99]);
    }
  if (missing > 0) throw new Error(`${missing} events did not arrive`);
  const cells = peers.map((peer) => {
    const [p50, p99] = [median(p50s.get(peer) ?? []), median(p99s.get(peer) ?? [])];
    return `${peer.name} p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
  });
  return `From the request of a create to the event at each of ${subscribers} subscribers, 50 creates/s: ${cells.join("; ")}.`;
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "socle-bench-peers-"));
  const peers: Peer[] = [];
  try {
    const pocketBase = await buildPocketBase();
    for (const name of ["socle", "pocketbase"]) await mkdir(join(folder, name));
    peers.push(await startSocle(executable, join(folder, "socle")));
    peers.push(await startPocketBase(pocketBase, join(folder, "pocketbase")));
    const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 1024 ** 3)} GiB`;
    const load = loadavg()[0]?.toFixed(1);
    const version = Bun.spawnSync([executable, "version"]).stdout.toString().trim();
    console.log(`${new Date().toISOString().slice(0, 10)}, ${machine}, load of the machine at the start ${load}`);
    console.log(`${version}; PocketBase ${pocketBaseVersion}; load from ${generator}`);
    console.log(`${rounds} rounds of ${seconds} s for each, in turns; medians; ${filled} records at the start\n`);
    for (const peer of peers) {
      await fill(peer);
      await checkList(peer);
    }
    const heads = peers.map(({ name }) => `${name} req/s | p50 ms | p99 ms | MiB`);
    console.log(`| | ${heads.join(" | ")} | ratio |\n|${"---|".repeat(2 + 4 * peers.length)}`);
    for (const scenario of scenarios) console.log(await row(scenario, peers, folder));
    console.log(`\n${await deliveries(peers)}`);
  } finally {
    for (const peer of peers) await peer.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
