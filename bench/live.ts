/**
 * Live queries: a thousand sockets with one query, and with a thousand different queries, at a hundred writes a second. Measured are
 * the time from the answer of a write to the last socket with the write, the processor time of the service, and a bystander's reads.
 */
import { mkdir } from "node:fs/promises";
import { executable } from "./executable.ts";
import { median } from "./median.ts";
import { startServer } from "./server.ts";
import { processorTime } from "./user-code-calls.ts";

const sockets = 1_000;
const writesPerSecond = 100;

interface Result {
  readonly latest: number;
  readonly p50: number;
  readonly processor: number;
  readonly bystander: number;
}

function percentile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? 0;
}

/** One run on a new service. @param filterOf the filter of a socket, by number. */
async function run(folder: string, seconds: number, filterOf: (socket: number) => string): Promise<Result> {
  await mkdir(`${folder}/collections`, { recursive: true });
  const fields = [
    { name: "title", type: "string" },
    { name: "n", type: "integer" },
  ];
  await Bun.write(`${folder}/collections/items.json`, JSON.stringify({ name: "items", fields, indexes: [["n"]] }));
  const limits = { connections: 20_000, connectionsPerAddress: 20_000, liveRecords: 1_000_000 };
  await Bun.write(`${folder}/config.json`, JSON.stringify({ port: 0, limits, trustedProxies: 1 }));
  const server = await startServer([executable], folder, { SERVICE_LOG_LEVEL: "INFO" });
  const clients: WebSocket[] = [];
  try {
    const headers = { "Content-Type": "application/json" };
    const operations = Array.from({ length: 1_000 }, (_, i) => ({
      method: "create",
      collection: "items",
      body: { title: `Item ${i}`, n: i },
    }));
    await fetch(`${server.url}/api/batch`, { method: "POST", headers, body: JSON.stringify({ operations }) });
    /** When each socket heard of each seq, at the latest. */
    const heard: number[] = new Array(sockets).fill(0);
    let windows = 0;
    const open = (number: number): Promise<void> =>
      new Promise((resolve, reject) => {
        // Each socket is a caller of its own.
        const address = { headers: { "X-Forwarded-For": `10.0.${number >> 8}.${number & 255}` } };
        const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/realtime`, address);
        clients.push(socket);
        socket.onerror = () => reject(new Error("A socket failed"));
        socket.onopen = () => {
          const query = { collection: "items", filter: filterOf(number), sort: "-createdAt", limit: 50 };
          socket.send(JSON.stringify({ action: "subscribe", id: "a", query }));
        };
        socket.onmessage = ({ data }) => {
          const seq = Number(/"seq":(\d+)/.exec(String(data))?.[1] ?? 0);
          if (seq === 0) return;
          heard[number] = seq;
          windows += 1;
          resolve();
        };
      });
    for (let i = 0; i < sockets; i += 50) await Promise.all(Array.from({ length: 50 }, (_, j) => open(i + j)));
    const before = processorTime(server.pid);
    const start = performance.now();
    const waits: number[] = [];
    const reads: number[] = [];
    let isOver = false;
    const bystander = (async () => {
      while (!isOver) {
        const asked = performance.now();
        await (await fetch(`${server.url}/api/items?limit=1&filter=n=5`)).arrayBuffer();
        reads.push(performance.now() - asked);
        await Bun.sleep(10);
      }
    })();
    const pending: Promise<void>[] = [];
    for (let i = 0; i < seconds * writesPerSecond; i += 1) {
      await Bun.sleep(Math.max(0, start + (i * 1_000) / writesPerSecond - performance.now()));
      const body = JSON.stringify({ title: "New", n: 2_000 + i });
      pending.push(
        (async () => {
          const answer = await fetch(`${server.url}/api/items`, { method: "POST", headers, body });
          const position = Number(answer.headers.get("socle-position"));
          const answered = performance.now();
          await answer.arrayBuffer();
          while (heard.some((seq) => seq < position) && performance.now() - answered < 10_000) await Bun.sleep(2);
          waits.push(performance.now() - answered);
        })(),
      );
    }
    const elapsed = performance.now() - start;
    const processor = (processorTime(server.pid) - before) / 10 / elapsed;
    await Promise.all(pending);
    isOver = true;
    await bystander;
    if (windows === sockets) throw new Error("No window has changed");
    return { latest: Math.max(...waits), p50: median(waits), processor, bystander: percentile(reads, 0.99) };
  } finally {
    for (const client of clients) client.close();
    await server.stop();
  }
}

export async function measureLive({ folder, seconds }: { folder: string; seconds: number }): Promise<void> {
  console.log(`\n### Live queries, ${sockets} sockets with windows of 50, ${writesPerSecond} writes/s\n`);
  console.log(
    "| queries | p50 to the last socket, ms | latest | processor, % of a core | a bystander's read, p99 ms |",
  );
  console.log("|---|---|---|---|---|");
  for (const [name, filterOf] of [
    ["one for all", () => "n >= 0"],
    ["a thousand different", (number: number) => `n >= ${-number}`],
  ] as const) {
    const { latest, p50, processor, bystander } = await run(`${folder}/live-${crypto.randomUUID()}`, seconds, filterOf);
    const cells = [p50, latest, processor, bystander].map((value) => value.toFixed(0));
    console.log(`| ${[name, ...cells].join(" | ")} |`);
  }
}
