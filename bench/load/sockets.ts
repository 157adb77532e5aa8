/**
 * A load generator of our own, for machines without wrk: raw sockets, one request at a time on each socket, in a separate
 * process. Reads a `Load` as JSON from standard input, writes a `LoadResult` as JSON to standard output.
 */
import { type Load, type LoadResult, toWire } from "./load.ts";

interface Connection {
  received: string;
  sentAt: number;
}

const headEnd = "\r\n\r\n";

/** The length of the first answer in `text`, or -1 for an incomplete answer. */
function answerLength(text: string): number {
  const end = text.indexOf(headEnd);
  if (end < 0) return -1;
  const head = text.slice(0, end).toLowerCase();
  if (head.includes("transfer-encoding: chunked")) {
    const last = text.indexOf("0\r\n\r\n", end);
    return last < 0 ? -1 : last + 5;
  }
  const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0);
  return text.length >= end + 4 + length ? end + 4 + length : -1;
}

async function run(load: Load): Promise<LoadResult> {
  const { hostname, port, host } = new URL(load.url);
  const wire = load.requests.map((request) => toWire(host, request));
  const latencies: number[] = [];
  let errors = 0;
  let next = 0;
  const start = performance.now();
  const end = start + load.seconds * 1_000;
  const open = new Set<Promise<void>>();
  for (let i = 0; i < load.connections; i++) {
    const closed = Promise.withResolvers<void>();
    open.add(closed.promise);
    const send = (socket: Bun.Socket<Connection>): void => {
      socket.data.sentAt = performance.now();
      socket.write(wire[next++ % wire.length] ?? "");
    };
    await Bun.connect<Connection>({
      hostname,
      port: Number(port),
      data: { received: "", sentAt: 0 },
      socket: {
        open: send,
        data(socket, data) {
          // A character for each byte: lengths are bytes.
          socket.data.received += data.toString("latin1");
          const length = answerLength(socket.data.received);
          if (length < 0) return;
          const now = performance.now();
          latencies.push(now - socket.data.sentAt);
          if (Number(socket.data.received.slice(9, 12)) >= 400) errors += 1;
          socket.data.received = socket.data.received.slice(length);
          const isDone = load.once === true && next >= wire.length;
          if (now < end && !isDone) send(socket);
          else socket.end();
        },
        close: () => closed.resolve(),
        error: () => {
          errors += 1;
          closed.resolve();
        },
      },
    });
  }
  await Promise.all(open);
  const seconds = (performance.now() - start) / 1_000;
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
  return { requestsPerSecond: latencies.length / seconds, p50: at(0.5), p99: at(0.99), errors };
}

if (import.meta.main) console.log(JSON.stringify(await run(await Bun.stdin.json())));
