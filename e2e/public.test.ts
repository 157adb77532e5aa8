/** The folder of static files that `public` names. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { project, serve, socle } from "./kit.ts";

const cwd = await project({ config: { public: "./site" } });
const files: Record<string, string> = {
  "index.html": "<!doctype html><title>Home</title>",
  "app.js": "console.log(1)",
  "docs/index.html": "<!doctype html><title>Docs</title>",
  "docs/ä b.txt": "spaces",
  "empty/keep.txt": "",
  ".env": "SECRET=1",
  ".well-known/security.txt": "Contact: me",
  "api/posts": "not reached",
  "strange/index.html/file.txt": "x",
};
for (const [name, content] of Object.entries(files)) await Bun.write(join(cwd, "site", name), content);
symlinkSync("/etc/hostname", join(cwd, "site/leak.txt"));
symlinkSync(join(cwd, "site/app.js"), join(cwd, "site/linked.js"));
const server = await serve(cwd);

/** The status of a path that no client would tidy up. */
async function rawStatus(path: string): Promise<number> {
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  let text = "";
  for await (const data of socket) text += String(data);
  return Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1]);
}

test.each([
  ["/", 200, "text/html; charset=utf-8", "<title>Home"],
  ["/index.html", 200, "text/html; charset=utf-8", "<title>Home"],
  ["/?query=1", 200, "text/html; charset=utf-8", "<title>Home"],
  ["/app.js", 200, "text/javascript; charset=utf-8", "console.log"],
  ["/docs/", 200, "text/html; charset=utf-8", "<title>Docs"],
  ["/docs/%C3%A4%20b.txt", 200, "text/plain; charset=utf-8", "spaces"],
  ["/linked.js", 200, "text/javascript; charset=utf-8", "console.log"],
  ["/.well-known/security.txt", 200, "text/plain; charset=utf-8", "Contact"],
  ["/health", 200, "application/json", '"status":"ok"'],
  ["/nothing.html", 404, "application/json", "not_found"],
  ["/empty/", 404, "application/json", "not_found"],
  ["/empty", 404, "application/json", "not_found"],
  ["/.env", 404, "application/json", "not_found"],
  ["/leak.txt", 404, "application/json", "not_found"],
  ["/api/posts", 404, "application/json", "no collection"],
  ["/_/", 200, "text/html; charset=utf-8", "<title>Socle"],
  ["/_/app.js", 200, "text/html; charset=utf-8", "<title>Socle"],
  ["/_/assets/app.js", 200, "text/html; charset=utf-8", "<title>Socle"],
  ["/%61pi/posts", 404, "application/json", "not_found"],
  ["/strange/", 404, "application/json", "not_found"],
  ["/strange", 404, "application/json", "not_found"],
  ["/strange/index.html/file.txt", 200, "text/plain; charset=utf-8", "x"],
])("%s is %i", async (path, status, type, content) => {
  const response = await fetch(server.url + path);
  expect([response.status, response.headers.get("content-type")]).toEqual([status, type]);
  expect(await response.text()).toContain(content);
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
});

test.each([
  "/../config.json",
  "/%2e%2e/config.json",
  "/..%2fconfig.json",
  "/docs/../../config.json",
  "/docs%2f..%2f..%2fconfig.json",
  "/%00",
  "/%zz",
  "//etc/passwd",
  "/..\\config.json",
  "/site/../.env",
])("%s leads to no file", async (path) => {
  expect(await rawStatus(path)).toBe(404);
});

test("a folder without its slash redirects to the folder, conditions and ranges work, other methods do not", async () => {
  const redirect = await fetch(`${server.url}/docs`, { redirect: "manual" });
  expect([redirect.status, redirect.headers.get("location")]).toEqual([308, "./docs/"]);
  expect((await fetch(`${server.url}/docs?a=1`)).url).toBe(`${server.url}/docs/?a=1`);
  const first = await fetch(`${server.url}/app.js`);
  const etag = first.headers.get("etag") ?? "";
  expect(first.headers.get("cache-control")).toBe("no-cache");
  expect((await fetch(`${server.url}/app.js`, { headers: { "If-None-Match": etag } })).status).toBe(304);
  const part = await fetch(`${server.url}/app.js`, { headers: { Range: "bytes=0-6" } });
  expect([part.status, await part.text()]).toEqual([206, "console"]);
  const head = await fetch(server.url, { method: "HEAD" });
  expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "34", ""]);
  const wrong = await fetch(`${server.url}/app.js`, { method: "POST" });
  expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  expect((await fetch(`${server.url}/nothing.js`, { method: "POST" })).status).toBe(404);
  await Bun.write(join(cwd, "site/app.js"), "console.log(22)");
  const changed = await fetch(`${server.url}/app.js`, { headers: { "If-None-Match": etag } });
  expect(await changed.text()).toBe("console.log(22)");
});

test("without an index.html, / is the health response", async () => {
  const folder = await project({ config: { public: "./site" } });
  await Bun.write(join(folder, "site/app.js"), "1");
  const other = await serve(folder);
  expect(await (await fetch(other.url)).json()).toMatchObject({ status: "ok" });
  expect((await fetch(`${other.url}/app.js`)).status).toBe(200);
  await other.stop();
});

test("a link does not hide files that must not be served", async () => {
  const real = await project({ config: { public: "." } });
  const links = await project({ config: { public: "./site", storage: "./link" } });
  mkdirSync(join(links, "site/files"), { recursive: true });
  symlinkSync(join(links, "site/files"), join(links, "link"));
  symlinkSync(real, join(links, "project"));
  for (const args of [
    ["--config", join(links, "project/config.json")],
    ["--config", join(links, "config.json")],
  ]) {
    const { code, stderr } = await socle(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(/public .*: everybody could read .*, which it is or holds/);
  }
});

test("files that are added and removed during requests are served whole or are 404, and never cut short", async () => {
  const path = join(cwd, "site/deployed.txt");
  const content = "x".repeat(90_000);
  let isDeploying = true;
  const deploying = (async () => {
    while (isDeploying) {
      await Bun.write(path, content);
      await Bun.sleep(0);
      await Bun.file(path).delete();
    }
  })();
  const seen = new Set<number>();
  for (let n = 0; n < 500; n++) {
    // Not compressed, so that the length is that of the file.
    const response = await fetch(`${server.url}/deployed.txt`, { headers: { "Accept-Encoding": "identity" } });
    const body = await response.text();
    seen.add(response.status);
    // A file that is written in place may be read in the middle; the answer is still as long as its header says.
    if (response.status === 200) expect(body.length).toBe(Number(response.headers.get("content-length")));
  }
  isDeploying = false;
  await deploying;
  expect([...seen].sort()).toEqual([200, 404]);
});

test.each([
  ["./nowhere", /public .*nowhere: there is no such folder/],
  ["./config.json", /public .*config\.json: is a file; it must be a folder/],
  [".", /public .*: everybody could read .*, which it is or holds; use a folder of its own/],
  ["./data", /public .*data: everybody could read .*socle\.db, which it is or holds/],
])("public %s stops the start with a single line", async (place, message) => {
  const folder = await project({ config: { public: place, database: "./data/socle.db" } });
  mkdirSync(join(folder, "data"));
  const { code, stderr } = await socle([], { cwd: folder });
  expect(code).toBe(2);
  expect(stderr.trim().split("\n").at(-1)).toMatch(message);
});

const script = "console.log('again and again');\n".repeat(100);
const packingFolder = await project({ config: { public: "./site", cors: { origins: ["https://app.example.com"] } } });
const packingFiles: Record<string, string | Uint8Array> = {
  "app.js": script,
  "small.js": "x",
  "noise.bin": crypto.getRandomValues(new Uint8Array(5_000)),
  "lib.js": script,
  "lib.js.br": brotliCompressSync(script),
  "lib.js.gz": gzipSync(script),
  "stolen.js": script,
};
for (const [name, content] of Object.entries(packingFiles)) await Bun.write(join(packingFolder, "site", name), content);
symlinkSync(join(packingFolder, "config.json"), join(packingFolder, "site/stolen.js.br"));
const packing = await serve(packingFolder);

describe("compression", () => {
  /** An answer with its bytes as sent, not unpacked. */
  function ask(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Response> {
    return fetch(packing.url + path, { method, headers, decompress: false });
  }

  test("text is sent in gzip to clients that accept gzip, with its own ETag and length, also to HEAD", async () => {
    const plain = await ask("/app.js");
    const packed = await ask("/app.js", { "Accept-Encoding": "gzip, deflate, br" });
    const bytes = await packed.bytes();
    expect(gunzipSync(bytes).toString()).toBe(script);
    expect(await plain.text()).toBe(script);
    for (const { headers } of [plain, packed]) {
      expect(headers.get("vary")).toBe("Origin, Accept-Encoding");
      expect(headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    }
    expect([plain.headers.get("content-encoding"), packed.headers.get("content-encoding")]).toEqual([null, "gzip"]);
    expect(packed.headers.get("content-length")).toBe(String(bytes.length));
    expect(bytes.length).toBeLessThan(script.length / 2);
    const tags = [plain, packed].map(({ headers }) => headers.get("etag") ?? "");
    expect(new Set(tags).size).toBe(2);
    const head = await ask("/app.js", { "Accept-Encoding": "gzip" }, "HEAD");
    expect([head.headers.get("content-length"), head.headers.get("etag")]).toEqual([
      String(bytes.length),
      tags[1] ?? "",
    ]);
    const again = { "Accept-Encoding": "gzip", "If-None-Match": tags[1] ?? "" };
    expect((await ask("/app.js", again)).status).toBe(304);
    expect((await ask("/app.js", { ...again, "If-None-Match": tags[0] ?? "" })).status).toBe(200);
  });

  test("a range is a range of the file on disk", async () => {
    const part = await ask("/app.js", { "Accept-Encoding": "gzip", Range: "bytes=0-6" });
    expect([part.status, await part.text(), part.headers.get("content-encoding")]).toEqual([206, "console", null]);
    const packed = await ask("/app.js", { "Accept-Encoding": "gzip" });
    expect(packed.headers.get("accept-ranges")).toBe("none");
    // A client that has a part of the compressed bytes gets no part of others.
    const tag = packed.headers.get("etag") ?? "";
    const mixed = await ask("/app.js", { "Accept-Encoding": "gzip", Range: "bytes=0-6", "If-Range": tag });
    expect([mixed.status, await mixed.text()]).toEqual([200, script]);
  });

  test("a small file, a compressed file, and a file for a client without gzip are sent unchanged; so is the API", async () => {
    const accepting = { "Accept-Encoding": "gzip, br" };
    const cases: [string, Record<string, string>][] = [
      ["/small.js", accepting],
      ["/noise.bin", accepting],
      ["/app.js", { "Accept-Encoding": "gzip;q=0" }],
      ["/app.js", { "Accept-Encoding": "br" }],
      ["/health", accepting],
    ];
    for (const [path, headers] of cases) expect((await ask(path, headers)).headers.get("content-encoding")).toBe(null);
    expect((await ask("/noise.bin", accepting)).headers.get("vary")).toBe("Origin");
  });

  test("codings made beforehand are served, br first, and lead out of the folder as little as other files", async () => {
    const br = await ask("/lib.js", { "Accept-Encoding": "gzip, br" });
    expect([br.headers.get("content-encoding"), br.headers.get("content-type")]).toEqual([
      "br",
      "text/javascript; charset=utf-8",
    ]);
    expect(brotliDecompressSync(await br.bytes()).toString()).toBe(script);
    const gz = await ask("/lib.js", { "Accept-Encoding": "gzip" });
    expect(await gz.bytes()).toEqual(new Uint8Array(gzipSync(script)));
    const tags = [br, gz, await ask("/lib.js")].map(({ headers }) => headers.get("etag"));
    expect(new Set(tags).size).toBe(3);
    const stolen = await ask("/stolen.js", { "Accept-Encoding": "br" });
    expect([stolen.headers.get("content-encoding"), await stolen.text()]).toEqual([null, script]);
  });

  test("a file that changes is compressed anew", async () => {
    await Bun.write(join(packingFolder, "site/app.js"), script.replaceAll("again", "anew!"));
    const packed = await ask("/app.js", { "Accept-Encoding": "gzip" });
    expect(gunzipSync(await packed.bytes()).toString()).toContain("anew! and anew!");
  });
});

const appFolder = await project({ config: { public: "./site", publicFallback: true } });
await Bun.write(join(appFolder, "site/index.html"), "<title>App</title>");
await Bun.write(join(appFolder, "site/docs/readme.txt"), "x");
const app = await serve(appFolder);

describe("the fallback of a single-page app", () => {
  const html = { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
  test.each(["/settings", "/users/42", "/users/42/", "/docs", "/docs/", "/a.b/c", "/?x=1"])(
    "%s is the app",
    async (path) => {
      const response = await fetch(app.url + path, { headers: html });
      expect([response.status, await response.text()]).toEqual([200, "<title>App</title>"]);
      expect((await fetch(app.url + path, { headers: html, method: "HEAD" })).status).toBe(200);
    },
  );

  test.each<[string, RequestInit]>([
    ["/app.js", { headers: html }],
    ["/users/a.b", { headers: html }],
    ["/settings", {}],
    ["/settings", { headers: { Accept: "*/*" } }],
    ["/settings", { headers: { Accept: "application/json" } }],
    ["/settings", { headers: html, method: "POST" }],
    ["/api/nothing", { headers: html }],
    ["/api/", { headers: html }],
    ["/.git/config", { headers: html }],
    ["/%2e%2e%2fconfig", { headers: html }],
  ])("%s with %j is not", async (path, init) => {
    const response = await fetch(app.url + path, init);
    expect([response.status, response.headers.get("content-type")]).toEqual([404, "application/json"]);
  });

  test.each(["/_/", "/_/settings", "/_/app.js", "/_/assets/settings"])("%s is the dashboard", async (path) => {
    const response = await fetch(app.url + path, { headers: html });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("<title>Socle")]);
  });

  test("without the key the fallback is off; without a folder the key stops the start", async () => {
    expect((await fetch(`${server.url}/settings`, { headers: html })).status).toBe(404);
    const { code, stderr } = await socle([], { cwd: await project({ config: { publicFallback: true } }) });
    expect(code).toBe(2);
    expect(stderr).toContain("publicFallback: needs the key public");
  });
});
