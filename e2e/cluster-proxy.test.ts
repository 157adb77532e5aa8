/** Proxy of a tested cluster: each request goes to the next instance that accepts connections, with the highest position answered so far. */
import { afterAll, expect, test } from "bun:test";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";

interface Target {
  readonly port: number;
  /** The requests so far: method, position, and the length of the body. */
  readonly had: string[];
  stop(): Promise<void>;
}

function openTarget(name: string, position: number): Target {
  const had: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const body = await request.bytes();
      had.push(`${request.method} ${request.headers.get("socle-position")} ${body.byteLength}`);
      return new Response(name, { headers: { "Socle-Position": String(position) } });
    },
  });
  afterAll(() => server.stop(true));
  return { port: server.port ?? 0, had, stop: () => server.stop(true) };
}

async function openProxy(targets: readonly Target[]): Promise<number> {
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, "cluster-proxy.ts"), "0", ...targets.map(({ port }) => String(port))],
    { stdin: "pipe", stdout: "pipe", stderr: "inherit" },
  );
  afterAll(() => child.kill());
  const { value } = await child.stdout.getReader().read();
  return Number(new TextDecoder().decode(value));
}

test("requests of a connection take turns, with bodies of any form, and name the highest position", async () => {
  const targets = [openTarget("a", 5), openTarget("b", 9), openTarget("c", 7)];
  const url = `http://127.0.0.1:${await openProxy(targets)}/`;
  const stream = (): ReadableStream<Uint8Array> => new Response("x".repeat(100_000)).body ?? new ReadableStream();
  const names: string[] = [];
  for (const init of [{}, { body: "hello" }, { body: stream() }, { headers: { "Socle-Position": "20" } }, {}])
    names.push(await (await fetch(url, { method: "POST", ...init })).text());
  expect(names).toEqual(["a", "b", "c", "a", "b"]);
  expect(targets.map(({ had }) => had)).toEqual([
    ["POST null 0", "POST 20 0"],
    ["POST 5 5", "POST 9 0"],
    ["POST 9 100000"],
  ]);
});

test("the position of a response counts, in however many packets the head arrives", async () => {
  let heads = "";
  const server = createServer((socket) => {
    socket.on("data", async (bytes) => {
      heads += bytes.toString("latin1");
      for (const part of ["HTTP/1.1 ", "200 OK\r\nSocle-Posi", "tion: 1", "2\r\nContent-Length: 2\r\n", "\r\nok"]) {
        socket.write(part);
        await Bun.sleep(2);
      }
    });
  }).listen(0, "127.0.0.1");
  afterAll(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${await openProxy([{ port, had: [], stop: async () => undefined }])}/`;
  for (let i = 0; i < 2; i++) expect(await (await fetch(url)).text()).toBe("ok");
  expect([...heads.matchAll(/socle-position: (\d+)/gi)].map(([, position]) => position)).toEqual(["12"]);
});

test("an instance that has stopped is skipped, and the requests of a client that does not wait get their responses in order", async () => {
  const targets = [openTarget("a", 1), openTarget("b", 1), openTarget("c", 1)];
  const port = await openProxy(targets);
  await targets[1]?.stop();
  const names = await Promise.all(
    Array.from({ length: 6 }, async () => (await fetch(`http://127.0.0.1:${port}/`, { keepalive: false })).text()),
  );
  expect(new Set(names)).toEqual(new Set(["a", "c"]));
  const { promise, resolve } = Promise.withResolvers<string>();
  let answers = "";
  const socket = connect(port, "127.0.0.1", () =>
    socket.write("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
  );
  socket.on("data", (bytes) => {
    answers += bytes.toString();
  });
  socket.on("close", () => resolve(answers));
  const [first, second] = [...(await promise).matchAll(/\r\n\r\n([ac])/g)].map(([, name]) => name);
  expect(["a", "c"]).toContain(first ?? "");
  expect(second).toBe(first);
});
