/** HTTPS without a proxy: the served protocols, the redirect of plain HTTP, and certificates that are replaced at runtime. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { newCertificate } from "../packages/server/test/certificates.ts";
import { project, type Running, serve, singleService, socle, until } from "./kit.ts";

singleService("certificate");

const posts = { name: "posts", fields: [{ name: "title", type: "string" }] };
type Pair = Awaited<ReturnType<typeof newCertificate>>;

const paths = { cert: "tls/cert.pem", key: "tls/key.pem" };

async function put(cwd: string, { cert, key }: Pair): Promise<void> {
  await Bun.write(join(cwd, paths.key), key);
  await Bun.write(join(cwd, paths.cert), cert);
}

async function secureProject(pair: Pair, tls: object = {}): Promise<string> {
  const cwd = await project({ collections: [posts], config: { host: "127.0.0.1", tls: { ...paths, ...tls } } });
  await put(cwd, pair);
  return cwd;
}

/** A connection that trusts only the given authority; null trusts all. */
function open(server: Running, ca: string | null): Promise<TLSSocket> {
  const port = Number(new URL(server.url).port);
  return new Promise((resolve, reject) => {
    const trust = ca === null ? { rejectUnauthorized: false } : { ca };
    const socket = connect({ host: "127.0.0.1", port, ...trust }, () => resolve(socket));
    socket.once("error", reject);
  });
}

/** The subject of the certificate that a new connection is shown. */
async function shownTo(server: Running): Promise<string> {
  const socket = await open(server, null);
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject?.CN);
}

/** A connection that is being opened while the certificate is replaced may be refused. */
async function untilShown(server: Running, name: string): Promise<void> {
  while ((await shownTo(server).catch(() => null)) !== name) await Bun.sleep(20);
}

function get(url: string, ca: string): Promise<Response> {
  return fetch(url, { tls: { ca }, keepalive: false });
}

test("the API, sockets and health over HTTPS; the log has https; plain HTTP is not served on that port", async () => {
  const pair = await newCertificate("first");
  const cwd = await secureProject(pair);
  const server = await serve(cwd);
  expect(server.url).toStartWith("https://127.0.0.1:");
  expect(server.output()).toContain(`The API is at ${server.url}/api/`);
  expect((await get(`${server.url}/api/posts`, pair.cert)).status).toBe(200);
  await expect(fetch(`${server.url}/api/posts`)).rejects.toThrow();
  await expect(fetch(server.url.replace("https:", "http:"))).rejects.toThrow();

  const socket = new WebSocket(`${server.url.replace("https:", "wss:")}/api/realtime`, { tls: { ca: pair.cert } });
  const frames: string[] = [];
  socket.onmessage = ({ data }) => frames.push(String(data));
  await new Promise((resolve) => {
    socket.onopen = resolve;
  });
  socket.send(JSON.stringify({ action: "subscribe", channel: "posts.created" }));
  await until(() => frames.length === 2);
  const body = JSON.stringify({ title: "over TLS" });
  const headers = { "Content-Type": "application/json" };
  await fetch(`${server.url}/api/posts`, { method: "POST", body, headers, tls: { ca: pair.cert } });
  await until(() => frames.length === 3);
  expect(frames[2]).toContain("over TLS");
  socket.close();

  const env = { SERVICE_PORT: new URL(server.url).port };
  expect(await socle(["health"], { cwd, env })).toEqual({ code: 0, stdout: "ready\n", stderr: "" });
  expect(await server.stop()).toBe(0);
});

test("plain HTTP on tls.redirectPort leads to the same address under HTTPS, with method and body", async () => {
  const pair = await newCertificate("first");
  const server = await serve(await secureProject(pair, { redirectPort: 0 }));
  const port = /Plain HTTP on port (\d+) redirects to HTTPS/.exec(server.output())?.[1];
  const at = (host: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}/api/posts?limit=1&sort=%2B`, {
      ...init,
      redirect: "manual",
      headers: { Host: host },
    });
  const secure = new URL(server.url).port;
  for (const [host, location] of [
    [`127.0.0.1:${port}`, `https://127.0.0.1:${secure}/api/posts?limit=1&sort=%2B`],
    ["api.example.com", `https://api.example.com:${secure}/api/posts?limit=1&sort=%2B`],
    ["[::1]:80", `https://[::1]:${secure}/api/posts?limit=1&sort=%2B`],
  ] as const) {
    const answer = await at(host, { method: "POST", body: "x".repeat(100_000) });
    expect([answer.status, answer.headers.get("location"), await answer.text()]).toEqual([308, location, ""]);
  }
  for (const host of ["evil.example/x", "a b", "user@host", "host:port"]) {
    const answer = await at(host);
    expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
    expect(await answer.json()).toMatchObject({ error: { code: "bad_request" } });
  }
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify({ title: "sent on" });
  const plain = `http://127.0.0.1:${port}/api/posts`;
  expect((await fetch(plain, { method: "POST", headers, body, tls: { ca: pair.cert } })).status).toBe(201);
  expect(await server.stop()).toBe(0);
  await expect(fetch(plain)).rejects.toThrow();
});

test("a new certificate is served to new connections; sockets and running requests go on", async () => {
  const [first, second] = await Promise.all([newCertificate("first"), newCertificate("second")]);
  const cwd = await secureProject(first);
  const server = await serve(cwd);
  const realtime = `${server.url.replace("https:", "wss:")}/api/realtime`;
  const socket = new WebSocket(realtime, { tls: { ca: first.cert } });
  const frames: string[] = [];
  let isClosed = false;
  socket.onmessage = ({ data }) => frames.push(String(data));
  socket.onclose = () => {
    isClosed = true;
  };
  await new Promise((resolve) => {
    socket.onopen = resolve;
  });
  socket.send(JSON.stringify({ action: "subscribe", channel: "posts.created" }));
  await until(() => frames.length === 2);
  // A request with half of the body.
  const request = await open(server, first.cert);
  let answer = "";
  request.on("data", (data) => {
    answer += String(data);
  });
  const body = JSON.stringify({ title: "begun under the first" });
  request.write(
    `POST /api/posts HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
  );
  await Bun.sleep(100);

  await put(cwd, second);
  server.signal("SIGHUP");
  await untilShown(server, "second");
  request.write(body.slice(10));
  await until(() => answer.includes("begun under the first"));
  expect(answer).toStartWith("HTTP/1.1 201");
  await until(() => frames.length === 3);
  expect([isClosed, frames[2]?.includes("begun under the first")]).toEqual([false, true]);
  expect((await get(`${server.url}/api/posts`, second.cert)).status).toBe(200);
  await expect(get(`${server.url}/api/posts`, first.cert)).rejects.toThrow();
  expect(server.output()).toContain("The certificate was replaced");
  socket.close();
  request.destroy();
  expect(await server.stop()).toBe(0);
});

test("changed files are found without a signal; a pair that cannot be served leaves the old pair, and is an ERROR", async () => {
  const [first, second, third] = await Promise.all(["first", "second", "third"].map((name) => newCertificate(name)));
  if (first === undefined || second === undefined || third === undefined) throw new Error("no certificates");
  const cwd = await secureProject(first);
  const server = await serve(cwd);
  const errors = (): string[] =>
    server
      .output()
      .split("\n")
      .filter((line) => line.includes(" ERROR "));
  await put(cwd, { cert: second.cert, key: third.key });
  server.signal("SIGHUP");
  await until(() => errors().length === 1);
  expect(errors()[0]).toMatch(
    /The old certificate stays in use: tls\.key .*key\.pem: is not the key of the certificate in/,
  );
  expect(await shownTo(server)).toBe("first");
  writeFileSync(join(cwd, paths.cert), "half of a cert");
  server.signal("SIGHUP");
  await until(() => errors().length === 2);
  expect(errors()[1]).toMatch(/tls\.cert .*cert\.pem: is no certificate in PEM/);
  expect(await shownTo(server)).toBe("first");
  await put(cwd, third);
  await untilShown(server, "third");
  // The log says no more about a mended certificate.
  expect(errors()).toHaveLength(2);
  expect(await server.stop()).toBe(0);
});

test("a certificate that has expired is served, and warned of", async () => {
  const old = await newCertificate("old", { from: Date.now() - 7_200_000, until: Date.now() - 3_600_000 });
  const server = await serve(await secureProject(old));
  expect(server.output()).toMatch(/WARN {2}The certificate has expired/);
  expect(await shownTo(server)).toBe("old");
});

describe("a start that cannot serve HTTPS gives the reason in a line", () => {
  const names = { SERVICE_TLS_CERT: "cert.pem", SERVICE_TLS_KEY: "key.pem" };
  test.each<[name: string, env: Record<string, string>, change: (pair: Pair, other: Pair) => Pair, message: RegExp]>([
    ["no key", { SERVICE_TLS_CERT: "cert.pem" }, (pair) => pair, /^socle: tls\.cert needs tls\.key\n$/],
    ["no certificate", { SERVICE_TLS_KEY: "key.pem" }, (pair) => pair, /^socle: tls\.key needs tls\.cert\n$/],
    ["no file", { ...names, SERVICE_TLS_CERT: "none.pem" }, (pair) => pair, /tls\.cert .*none\.pem: cannot be read/],
    ["no PEM", names, (pair) => ({ ...pair, cert: "text" }), /cert\.pem: is no certificate in PEM \(\w+\)\n$/],
    ["no key in PEM", names, (pair) => ({ ...pair, key: pair.cert }), /key\.pem: is no private key in PEM/],
    ["another key", names, (pair, other) => ({ ...pair, key: other.key }), /key\.pem: is not the key of/],
    [
      "a chain that is cut",
      names,
      (pair) => ({ ...pair, cert: `${pair.cert}-----BEGIN CERTIFICATE-----\nMIIB\n` }),
      /cert\.pem: cannot be served/,
    ],
  ])("%s", async (_name, env, change, message) => {
    const cwd = await project();
    const pair = change(await newCertificate("first"), await newCertificate("second"));
    await Bun.write(join(cwd, "cert.pem"), pair.cert);
    await Bun.write(join(cwd, "key.pem"), pair.key);
    const { code, stdout, stderr } = await socle([], { cwd, env });
    expect([code, stdout.includes("Listening")]).toEqual([2, false]);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stderr).not.toContain("PRIVATE");
  });

  test("a port of plain HTTP that is in use", async () => {
    const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("other") });
    const cwd = await secureProject(await newCertificate("first"), { redirectPort: other.port });
    const { code, stderr } = await socle([], { cwd });
    expect([code, stderr]).toEqual([2, expect.stringContaining(`port ${other.port} is in use`)]);
    await other.stop(true);
  });
});
