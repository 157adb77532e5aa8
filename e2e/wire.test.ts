import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import { brotliCompressSync, deflateSync } from "node:zlib";
import { post, project, serve, until } from "./kit.ts";

const notes = { name: "notes", fields: [{ name: "text", type: "text" }] };
const server = await serve(await project({ collections: [notes] }));
const { hostname, port } = new URL(server.url);

/** Sends bytes and answers everything that comes back until the other side closes or is silent. `next` is sent when an answer has begun. */
function raw(bytes: string, next?: string): Promise<string> {
  return new Promise((resolve) => {
    let received = "";
    let isNextSent = next === undefined;
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    const finish = (): void => {
      socket.destroy();
      resolve(received);
    };
    socket.setTimeout(1_000, finish);
    socket.on("data", (data) => {
      received += data.toString();
      if (isNextSent) return;
      isNextSent = true;
      socket.write(next ?? "");
    });
    socket.on("close", finish);
    socket.on("error", finish);
  });
}

describe("a body over the limit is 413 with the spec's body", () => {
  test("with its length", async () => {
    const response = await post(`${server.url}/api/notes`, { text: "x".repeat(2 * 1024 ** 2) });
    expect([response.status, response.headers.get("content-type")]).toEqual([413, "application/json"]);
    expect(await response.json()).toMatchObject({ error: { code: "payload_too_large" } });
  });

  test("in chunks", async () => {
    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
    const answer = await raw(
      `POST /api/notes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(32)}0\r\n\r\n`,
    );
    expect(answer).toStartWith("HTTP/1.1 413");
    expect(answer).toContain('"payload_too_large"');
  });

  test("a byte less than the limit is fine", async () => {
    const text = "x".repeat(1024 ** 2 - '{"text":""}'.length);
    expect((await post(`${server.url}/api/notes`, { text })).status).toBe(201);
    expect((await post(`${server.url}/api/notes`, { text: `${text}x` })).status).toBe(413);
  });
});

describe("a body of a method without bodies", () => {
  const piece = `4000\r\n${"x".repeat(16_384)}\r\n`;

  test("changes nothing, in any form, and the connection serves the next request", async () => {
    const bodies = [
      ["Content-Length: 2", "{}"],
      ["Content-Length: 300000", "x".repeat(300_000)],
      ["Transfer-Encoding: chunked", "0\r\n\r\n"],
      ["Transfer-Encoding: chunked", `${piece.repeat(64)}0\r\n\r\n`],
    ] as const;
    for (const [head, body] of bodies) {
      for (const [line, status] of [
        ["GET /api/notes/rec_x", 404],
        ["DELETE /api/notes/rec_x", 404],
        ["DELETE /api/admin/collections/notes", 401],
        ["GET /api/admin/collections", 401],
        ["DELETE /api/nowhere/at/all", 404],
      ] as const) {
        const next = "GET /api/notes/rec_x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        const answer = await raw(`${line} HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n${body}`, next);
        const statuses = answer.match(/HTTP\/1\.1 \d+/g) ?? [];
        expect([line, head, ...statuses]).toEqual([line, head, `HTTP/1.1 ${status}`, "HTTP/1.1 404"]);
      }
    }
  });

  test("delays no response", async () => {
    for (const head of ["Content-Length: 100000", "Transfer-Encoding: chunked"])
      expect(await raw(`GET /api/notes HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`)).toStartWith("HTTP/1.1 200");
  });
});

test("HEAD is GET without a body, also with a trailing slash", async () => {
  for (const path of ["/", "/health", "/api/notes", "/api/notes/"]) {
    const response = await fetch(server.url + path, { method: "HEAD" });
    expect([path, response.status, await response.text()]).toEqual([path, 200, ""]);
    expect(response.headers.get("content-type")).toBe("application/json");
  }
  expect((await fetch(`${server.url}/api/nothing`, { method: "HEAD" })).status).toBe(404);
});

describe("bytes that are no HTTP do no harm", () => {
  const cases = [
    "\r\n\r\n",
    "hello\r\n\r\n",
    "GET\r\n\r\n",
    "FOO /api/notes HTTP/1.1\r\nHost: x\r\n\r\n",
    `GET /${"x".repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(100_000)}\r\n\r\n`,
    "POST /api/notes HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}",
    "POST /api/notes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    "GET /api/notes/%ff%00/../../etc HTTP/1.1\r\nHost: x\r\n\r\n",
  ];
  test.each(cases)("%j", async (bytes) => {
    expect(await raw(bytes)).not.toMatch(/^HTTP\/1.1 (2|5)/);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });
});

test.each([
  "/api/notes/a%2Fb",
  "/api/notes/%00",
  "/api/notes/..%2f..%2fetc",
  "/api/../etc/passwd",
  "/_/../etc/passwd",
  "/api",
])("%s is a JSON 404", async (path) => {
  const answer = await raw(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  expect(answer).toStartWith("HTTP/1.1 404");
  expect(answer).toContain('{"error":{"code":"not_found"');
});

describe("the address of a login", () => {
  const statuses = async (proxies: string) => {
    const { url, output } = await serve(await project(), { env: { SERVICE_TRUSTED_PROXIES: proxies } });
    const attempt = async (forwarded: string) => {
      const body = { email: "nobody@example.com", password: "wrong" };
      return (await post(`${url}/api/auth/login`, body, { "X-Forwarded-For": forwarded })).status;
    };
    for (let n = 0; n < 10; n++) await attempt(`spoofed${n}, 10.0.0.1`);
    const last = [await attempt("other, 10.0.0.1"), await attempt("10.0.0.1, 10.0.0.2")];
    // The log names the key once, for an operator who forgot the proxy.
    expect(output().match(/WARN .*trustedProxies is 0/g)?.length ?? 0).toBe(proxies === "0" ? 1 : 0);
    return last;
  };

  test("without a trusted proxy, X-Forwarded-For is ignored", async () => {
    expect(await statuses("0")).toEqual([429, 429]);
  });

  test("with a trusted proxy, the proxy's own entry counts, and not the client's entry", async () => {
    expect(await statuses("1")).toEqual([429, 401]);
  });
});

describe("the path alone decides, whatever the Host", () => {
  const hosts = ["", "Host:\r\n", "Host: a:99999\r\n", "Host: evil.example\r\n"];
  test.each(hosts)("%j", async (host) => {
    const version = host === "" ? "1.0" : "1.1";
    const ask = (path: string) => raw(`GET ${path} HTTP/${version}\r\n${host}Connection: close\r\n\r\n`);
    expect(await ask("/nope")).toMatch(/^HTTP\/1.1 404[\s\S]*X-Request-Id/i);
    expect(await ask("/api/notes/")).toStartWith("HTTP/1.1 200");
  });
});

test("a body that is nested very deeply is refused at once", async () => {
  for (const path of ["/api/notes", "/api/auth/login", "/api/auth/logout"]) {
    const response = await post(server.url + path, `${"[".repeat(200_000)}${"]".repeat(200_000)}`);
    expect([path, response.status]).toEqual([path, 400]);
    expect(await response.json()).toMatchObject({ error: { code: "bad_request" } });
  }
});

test("while long lists are read at full speed, everything else has its turn", async () => {
  const busy = await serve(await project({ collections: [notes] }));
  const text = "x".repeat(500_000);
  for (let n = 0; n < 20; n++) await post(`${busy.url}/api/notes`, { text });
  const order: string[] = [];
  const lists = Array.from({ length: 4 }, async () => {
    await (await fetch(`${busy.url}/api/notes`)).arrayBuffer();
    order.push("list");
  });
  await (await fetch(`${busy.url}/health`)).arrayBuffer();
  order.push("health");
  await Promise.all(lists);
  expect(order[0]).toBe("health");
});

describe("stopping", () => {
  test("SIGTERM: a response that is on its way arrives whole", async () => {
    const first = await serve(await project({ collections: [notes] }));
    const text = "x".repeat(500_000);
    for (let n = 0; n < 26; n++) await post(`${first.url}/api/notes`, { text });
    const response = await fetch(`${first.url}/api/notes`);
    const reader = response.body?.getReader();
    let size = (await reader?.read())?.value?.byteLength ?? 0;
    first.signal("SIGTERM");
    await until(() => first.output().includes("stopping"));
    let last = "";
    while (reader !== undefined) {
      const { value, done } = await reader.read();
      if (done) break;
      size += value.byteLength;
      last = (last + Buffer.from(value).toString()).slice(-4);
    }
    expect(size).toBeGreaterThan(26 * text.length);
    expect(last).toBe('"}]}');
    expect(await first.exited).toBe(0);
  });

  test("SIGTERM: a client that reads nothing of its response does not delay the stop for 10 s", async () => {
    const first = await serve(await project({ collections: [notes] }));
    const text = "x".repeat(500_000);
    for (let n = 0; n < 26; n++) await post(`${first.url}/api/notes`, { text });
    const socket = connect(Number(new URL(first.url).port), new URL(first.url).hostname);
    socket.pause();
    socket.on("error", () => undefined);
    socket.write("GET /api/notes HTTP/1.1\r\nHost: x\r\n\r\n");
    // The answer has begun: the first bytes wait in this process.
    await new Promise((resolve) => socket.once("readable", resolve));
    first.signal("SIGTERM");
    expect(await first.exited).toBe(0);
    socket.destroy();
  });

  test("SIGTERM: running requests are finished, acknowledged writes are stored, exit 0", async () => {
    const cwd = await project({ collections: [notes] });
    const first = await serve(cwd);
    const running = Array.from({ length: 200 }, (_, n) =>
      post(`${first.url}/api/notes`, { text: String(n) }).then(
        async (response) => (response.status === 201 ? ((await response.json()) as { id: string }).id : null),
        () => null,
      ),
    );
    await running[0];
    const code = await first.stop();
    const answered = (await Promise.all(running)).filter((id) => id !== null);
    expect(code).toBe(0);
    expect(first.output()).toContain("SIGTERM: stopping");
    const second = await serve(cwd);
    const { items } = (await (await fetch(`${second.url}/api/notes`)).json()) as { items: { id: string }[] };
    expect(answered.length).toBeGreaterThan(0);
    expect(items.map(({ id }) => id)).toEqual(expect.arrayContaining(answered));
  });

  test("SIGTERM: new connections are refused, and endless requests get 503", async () => {
    const cwd = await project({ collections: [notes] });
    await Bun.write(
      join(cwd, "endpoints/never.ts"),
      'export const access = "public";\nexport const options = { timeout: "60s" };\nexport const GET = (_: Request, { logger }) => (logger.info("called"), new Promise(() => {}));\n',
    );
    const first = await serve(cwd);
    const { port } = new URL(first.url);
    const heads = [
      "POST /api/notes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{",
      "GET /api/function/never HTTP/1.1\r\nHost: x\r\n\r\n",
    ];
    const answers = heads.map((head) => {
      const { promise, resolve } = Promise.withResolvers<string>();
      const socket = connect(Number(port), "localhost");
      let text = "";
      socket.on("data", (data) => {
        text += String(data);
      });
      socket.on("error", () => undefined);
      socket.on("close", () => resolve(text));
      socket.write(head);
      return promise;
    });
    await until(() => first.output().includes("called"));
    first.signal("SIGTERM");
    await until(() => first.output().includes("SIGTERM: stopping"));
    // Each process of the service learns of the stop a moment after the line. Until the port is closed, a request is told.
    const ask = () => fetch(`${first.url}/api/notes`, { headers: { Connection: "close" } }).catch(() => null);
    let told = await ask();
    for (; told?.status === 200; told = await ask()) await Bun.sleep(2);
    if (told !== null) {
      const { headers, status } = told;
      expect([status, headers.get("retry-after"), headers.get("connection")]).toEqual([503, "1", "close"]);
    }
    while ((await ask()) !== null) await Bun.sleep(5);
    for (const answer of await Promise.all(answers)) {
      expect(answer).toStartWith("HTTP/1.1 503");
      expect(answer).toContain('"code":"unavailable"');
    }
    expect(await first.exited).toBe(0);
  });

  test("a request whose body never arrives delays the stop; a second signal ends the service at once", async () => {
    const slow = await serve(await project({ collections: [notes] }));
    const { port: slowPort } = new URL(slow.url);
    const socket = connect(Number(slowPort), "localhost");
    socket.on("error", () => undefined);
    socket.write(
      "POST /api/notes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{",
    );
    await Bun.sleep(100);
    slow.signal("SIGINT");
    const early = await Promise.race([slow.exited, Bun.sleep(500).then(() => "running")]);
    expect(early).toBe("running");
    slow.signal("SIGINT");
    expect(await slow.exited).toBe(1);
    socket.destroy();
  });
});

describe("the header Host", () => {
  test.each(["a b", "a.example, b.example", "u@a.example", "a.example/x", "a.example:port", "[::1", "["])(
    "%j is 400, and changes nothing",
    async (host) => {
      const before = await (await fetch(`${server.url}/api/notes?count=exact&limit=1`)).json();
      for (const path of ["/", "/health", "/api/notes", "/api/nothing", "/_/"])
        expect(await raw(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).toStartWith(
          "HTTP/1.1 400",
        );
      const body = '{"text":"x"}';
      const head = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
      const answer = await raw(
        `POST /api/notes HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${head}\r\n\r\n${body}`,
      );
      expect(answer).toStartWith("HTTP/1.1 400");
      expect(answer).toContain('"bad_request"');
      expect(await (await fetch(`${server.url}/api/notes?count=exact&limit=1`)).json()).toEqual(before);
    },
  );

  test("is 400 when a request has the header twice, also with the same host", async () => {
    const heads = ["Host: a.example\r\nHost: b.example", "Host: a.example\r\nHost: a.example"];
    for (const head of heads)
      expect(await raw(`GET /health HTTP/1.1\r\n${head}\r\nConnection: close\r\n\r\n`)).toStartWith("HTTP/1.1 400");
  });

  test.each([
    "a",
    "a.example",
    "A.Example.:8080",
    "127.0.0.1:1",
    "[::1]:8080",
    "xn--mnchen-3ya.example",
    "a_b.example",
  ])("%j is served", async (host) => {
    expect(await raw(`GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).toStartWith("HTTP/1.1 200");
  });

  test("may lack in a request of HTTP/1.0", async () => {
    expect(await raw("GET /health HTTP/1.0\r\n\r\n")).toMatch(/^HTTP\/1\.[01] 200/);
  });
});

describe("a handshake of a socket", () => {
  const handshake =
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  test.each([
    ["", "426"],
    ["Connection: keep-alive\r\n", "426"],
    ["Connection: upgraded\r\n", "426"],
    ["Connection: Upgrade\r\n", "101"],
    ["Connection: keep-alive, Upgrade\r\n", "101"],
  ])("with %j is %s", async (head, status) => {
    const answer = await raw(`GET /api/realtime HTTP/1.1\r\nHost: x\r\n${head}${handshake}`);
    expect(answer).toStartWith(`HTTP/1.1 ${status}`);
  });
});

describe("a body with a Content-Encoding", () => {
  const encodings = [
    ["gzip", (text: string) => Bun.gzipSync(text)],
    ["deflate", (text: string) => deflateSync(text)],
    ["br", (text: string) => brotliCompressSync(text)],
    ["zstd", (text: string) => Bun.zstdCompressSync(text)],
  ] as const;
  test.each(encodings)("%s is 415, and nothing is written", async (name, encode) => {
    const json = "application/json";
    const large = JSON.stringify({ text: Buffer.from(crypto.getRandomValues(new Uint8Array(50_000))).toString("hex") });
    for (const [path, type, body] of [
      ["/api/notes", json, '{"text":"x"}'],
      ["/api/notes", json, large],
      ["/api/batch", json, '{"operations":[]}'],
      ["/api/auth/login", json, '{"email":"a@example.com","password":"password123"}'],
      ["/api/notes/import", "text/csv", "text\nx\n"],
    ] as const) {
      const headers = { "Content-Type": type, "Content-Encoding": name };
      const response = await fetch(server.url + path, { method: "POST", headers, body: encode(body) });
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      // The import is for admins: the token comes first.
      const [status, code] = path.endsWith("import") ? [401, "unauthorized"] : [415, "bad_request"];
      expect([path, response.status, error.code]).toEqual([path, status, code]);
      if (status === 415) expect(error.message).toContain(name);
    }
  });

  test("identity is no encoding", async () => {
    const headers = { "Content-Type": "application/json", "Content-Encoding": "identity" };
    const response = await fetch(`${server.url}/api/notes`, { method: "POST", headers, body: '{"text":"x"}' });
    expect(response.status).toBe(201);
  });
});
