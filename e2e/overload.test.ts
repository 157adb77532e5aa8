/** Clients that take nothing, leave in the middle, send without an end, or only connect: the others hardly notice. */
// Promises: B1.
import { afterAll, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import {
  executable,
  inParallel,
  isLong,
  peakMiB,
  post,
  project,
  type Running,
  serve,
  singleService,
  until,
} from "./kit.ts";

const big = { name: "big", fields: [{ name: "text", type: "text" }] };
const notes = { name: "notes", fields: [{ name: "text", type: "text" }] };
const limits = { answers: "32MiB", bodies: "8MiB", rate: { login: "off" } };
const config = { host: "127.0.0.1", limits };
const server = await serve(await project({ collections: [big, notes], config }));
const text = "x".repeat(1_000_000);
await inParallel(Array(50), 2, async () => {
  expect((await post(`${server.url}/api/big`, { text })).status).toBe(201);
});
// Memory from the creation of the records is given back before memory is measured: until the memory falls no more.
let idle = await peakMiB(server);
for (let steady = 0; steady < 20; await Bun.sleep(100)) {
  const now = await peakMiB(server);
  steady = now < idle ? 0 : steady + 1;
  idle = Math.min(idle, now);
}

/** A connection that sends bytes and reads nothing without a request. */
function open({ url }: Running, bytes: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes, () => resolve(socket)));
    socket.pause();
    socket.on("error", reject);
    afterAll(() => {
      socket.destroy();
    });
  });
}

/** Reads and writes of another user. */
async function bystander({ url }: Running): Promise<void> {
  const created = await post(`${url}/api/notes`, { text: "mine" });
  const { id } = (await created.json()) as { id: string };
  expect([created.status, (await fetch(`${url}/api/notes/${id}`)).status]).toEqual([201, 200]);
  expect((await fetch(`${url}/api/notes`)).status).toBe(200);
}

async function metric({ url }: Running, limit: string, token: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${token}` } })).text();
  // A service of several processes counts in each process.
  const found = [...text.matchAll(new RegExp(`socle_limit_reached_total{limit="${limit}"[^}]*} (\\d+)`, "g"))];
  return found.reduce((sum, [, times]) => sum + Number(times), found.length === 0 ? Number.NaN : 0);
}

test("unread lists take bounded memory", async () => {
  const sockets: Socket[] = [];
  const peak = await peakMiB(server, async () => {
    for (let i = 0; i < 100; i++) sockets.push(await open(server, "GET /api/big HTTP/1.1\r\nHost: x\r\n\r\n"));
    for (let i = 0; i < 20; i++) {
      await bystander(server);
      await Bun.sleep(50);
    }
  });
  for (const socket of sockets) socket.destroy();
  expect(peak - idle).toBeLessThan(256);
  // The room of the broken-off lists is free again: a whole list is answered in full.
  const { items } = (await (await fetch(`${server.url}/api/big`)).json()) as { items: unknown[] };
  expect(items.length).toBe(50);
});

test("lists that are broken off leave nothing behind", async () => {
  const peak = await peakMiB(server, () =>
    inParallel(Array(isLong ? 600 : 150), 4, async () => {
      const socket = await open(server, "GET /api/big?limit=4 HTTP/1.1\r\nHost: x\r\n\r\n");
      await new Promise((resolve) => socket.once("readable", resolve));
      socket.destroy();
    }),
  );
  expect(peak - idle).toBeLessThan(400);
  await bystander(server);
});

test("bodies that never end take bounded memory; too many get 503, and small bodies are read", async () => {
  const answers: string[] = [];
  const head =
    "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n";
  const sockets: Socket[] = [];
  const peak = await peakMiB(server, async () => {
    for (let i = 0; i < (isLong ? 600 : 400); i++) {
      const socket = await open(server, head + "x".repeat(900_000));
      sockets.push(socket);
      socket.on("data", (data) => answers.push(data.toString()));
      socket.resume();
    }
    await bystander(server);
    await until(() => answers.length > 0);
  });
  for (const socket of sockets) socket.destroy();
  expect(peak - idle).toBeLessThan(300);
  for (const answer of answers) {
    expect(answer).toMatch(/^HTTP\/1.1 (503|400) /);
    if (answer.startsWith("HTTP/1.1 503")) expect(answer).toContain("Retry-After: 1");
  }
  await bystander(server);
});

test("a process that may open few files outlives more connections than its bound; sockets stay and receive", async () => {
  singleService("process");
  const folder = await project({ collections: [notes], config: { host: "127.0.0.1", metrics: { token: "watching" } } });
  const limited = await serve(folder, { executable: "bash", args: ["-c", `ulimit -n 256; exec "${executable}"`] });
  const heard: string[] = [];
  const socket = new WebSocket(`${limited.url.replace("http", "ws")}/api/realtime`);
  socket.onmessage = ({ data }) => heard.push(JSON.parse(String(data)).type);
  let isClosed = false;
  socket.onclose = () => {
    isClosed = true;
  };
  socket.onopen = () => socket.send(JSON.stringify({ action: "subscribe", channel: "notes.created" }));
  afterAll(() => socket.close());
  await until(() => heard.includes("subscribed"));
  const idlers = await Promise.all(Array.from({ length: 600 }, () => open(limited, "").catch(() => null)));
  await until(() => limited.output().includes("limit=connections"));
  for (const each of idlers) each?.destroy();
  // Refused until the service listens again.
  let answer: Response | null = null;
  while (answer === null) {
    await Bun.sleep(20);
    answer = await post(`${limited.url}/api/notes`, { text: "later" }).catch(() => null);
  }
  expect(answer.status).toBe(201);
  await until(() => heard.length >= 3);
  expect([heard, isClosed]).toEqual([["connected", "subscribed", "event"], false]);
  expect(await metric(limited, "connections", "watching")).toBeGreaterThan(0);
  expect(limited.output()).toContain("The process may open few files");
  expect(await limited.stop()).toBe(0);
});
