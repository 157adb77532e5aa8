/**
 * Many sockets that listen, and a few connections that write, in a separate process. Each line of standard input is a
 * command as JSON, each line of standard output the answer.
 */
import { type ListenerCommand, type ListenerResult, type LoadRequest, toWire } from "./load.ts";
import { listen, readFrames } from "./web-socket.ts";

/** Sockets with frames that are read separately, to know the arrival time of each event. */
const maxProbes = 50;

interface Probe {
  rest: Buffer;
}

let sockets: Bun.Socket<undefined>[] = [];
let received = 0;
let closed = 0;
const sentAt = new Map<number, number>();
let latencies: number[] = [];

function onProbe(probe: Probe, bytes: Buffer): void {
  const now = performance.now();
  const { texts, rest } = readFrames(probe.rest.length === 0 ? bytes : Buffer.concat([probe.rest, bytes]));
  probe.rest = rest;
  for (const text of texts) {
    const sent = sentAt.get(Number(/"count":(\d+)/.exec(text)?.[1]));
    if (sent !== undefined) latencies.push(now - sent);
  }
}

async function connect(command: ListenerCommand & { do: "connect" }): Promise<ListenerResult> {
  const { url, tokens, count, channel, reads, filters = [] } = command;
  const every = Math.max(1, Math.floor(count / maxProbes));
  for (let start = 0; start < count; start += 100) {
    const batch = Array.from({ length: Math.min(100, count - start) }, (_, i) => start + i);
    const opened = await Promise.all(
      batch.map((n) => {
        const probe: Probe | null = n % every === 0 ? { rest: Buffer.alloc(0) } : null;
        return listen({
          url,
          channel,
          token: tokens[n % Math.max(1, tokens.length)] ?? null,
          filter: filters[n % Math.max(1, filters.length)] ?? null,
          onBytes(bytes) {
            received += bytes.length;
            if (probe !== null) onProbe(probe, bytes);
          },
          onClose: () => {
            closed += 1;
          },
        });
      }),
    );
    if (!reads) for (const socket of opened) socket.pause();
    sockets.push(...opened);
  }
  return { ready: sockets.length };
}

/** A connection that sends a request and gives the time to the answer. */
async function openWriter(url: string): Promise<(request: LoadRequest) => Promise<void>> {
  const { hostname, port, host } = new URL(url);
  let answered = (): void => undefined;
  const socket = await Bun.connect<undefined>({
    hostname,
    port: Number(port),
    socket: {
      data(_, data) {
        if (!data.subarray(0, 13).includes(" 201 ")) throw new Error(`Not created: ${data.toString()}`);
        answered();
      },
    },
  });
  return (request) =>
    new Promise((resolve) => {
      answered = resolve;
      socket.write(toWire(host, request));
    });
}

/** The bytes of an event at a socket: sends a write and counts; all other events have the same length. */
async function calibrate(send: (n: number) => Promise<void>, perEvent: number): Promise<number> {
  const before = received;
  await send(0);
  await Bun.sleep(300);
  return (received - before) / perEvent;
}

/** Writes as fast as the listeners read: at most `window` events are under way, so that no socket is cut off. */
async function write(command: ListenerCommand & { do: "write" }): Promise<ListenerResult> {
  const { url, seconds, window, perEvent, body, headers, intervalMs, path = "/api/items", writers = 4 } = command;
  const sends = await Promise.all(Array.from({ length: writers }, () => openWriter(url)));
  async function send(writer: (request: LoadRequest) => Promise<void>, n: number): Promise<void> {
    const count = 1_000_000 + n;
    sentAt.set(count, performance.now());
    const request = { method: "POST", path, body: body.replace("COUNT", String(count)) } as const;
    await writer({ ...request, headers: headers[n % Math.max(1, headers.length)] ?? {} });
  }
  sentAt.clear();
  const size = await calibrate((n) => send(sends[0] ?? (() => Promise.resolve()), n), perEvent);
  latencies = [];
  const before = { received, closed };
  const delivered = (): number => (received - before.received) / (size * perEvent);
  let sent = 0;
  const start = performance.now();
  const end = start + seconds * 1_000;
  await Promise.all(
    sends.map(async (writer) => {
      while (performance.now() < end) {
        const wait =
          intervalMs > 0 ? start + sent * intervalMs - performance.now() : sent - delivered() > window ? 0 : -1;
        if (wait >= 0) {
          await Bun.sleep(wait);
          continue;
        }
        sent += 1;
        await send(writer, sent);
      }
    }),
  );
  const took = (performance.now() - start) / 1_000;
  const inTime = delivered() * perEvent;
  await Bun.sleep(500);
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return {
    writesPerSecond: sent / took,
    deliveriesPerSecond: inTime / took,
    missing: sent - Math.round(delivered()),
    closed: closed - before.closed,
    p50: at(0.5),
    p99: at(0.99),
    latest: latencies.at(-1) ?? Number.NaN,
  };
}

function disconnect(): ListenerResult {
  for (const socket of sockets) socket.terminate();
  sockets = [];
  return { ready: 0 };
}

for await (const line of console) {
  const command = JSON.parse(line) as ListenerCommand;
  const result =
    command.do === "connect" ? await connect(command) : command.do === "write" ? await write(command) : disconnect();
  console.log(JSON.stringify(result));
}
