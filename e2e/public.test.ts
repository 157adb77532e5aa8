/** The folder of static files that `public` names. */
import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
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
  ["/_/", 404, "application/json", "not_found"],
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
])("%s leads nowhere", async (path) => {
  expect(await rawStatus(path)).toBe(404);
});

test("a folder without its slash leads to it, conditions and ranges work, other methods do not", async () => {
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

test("without an index.html, / is the health answer", async () => {
  const folder = await project({ config: { public: "./site" } });
  await Bun.write(join(folder, "site/app.js"), "1");
  const other = await serve(folder);
  expect(await (await fetch(other.url)).json()).toMatchObject({ status: "ok" });
  expect((await fetch(`${other.url}/app.js`)).status).toBe(200);
  await other.stop();
});

test("a link does not hide what must not be served", async () => {
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

test("files that come and go while they are asked for are there or not, and never cut short", async () => {
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
  for (let n = 0; n < 1_500; n++) {
    const response = await fetch(`${server.url}/deployed.txt`);
    const body = await response.text();
    seen.add(response.status);
    // Whoever writes in place is read in the middle; what is answered is as long as it says.
    if (response.status === 200) expect(body.length).toBe(Number(response.headers.get("content-length")));
  }
  isDeploying = false;
  await deploying;
  expect([...seen].sort()).toEqual([200, 404]);
});

test.each([
  ["./nowhere", /public .*nowhere: is no folder that can be read: /],
  ["./config.json", /public .*config\.json: is a file; it must be a folder/],
  [".", /public .*: everybody could read .*, which it is or holds; use a folder of its own/],
  ["./data", /public .*data: everybody could read .*socle\.db, which it is or holds/],
])("public %s stops the start with one line", async (place, message) => {
  const folder = await project({ config: { public: place, database: "./data/socle.db" } });
  mkdirSync(join(folder, "data"));
  const { code, stderr } = await socle([], { cwd: folder });
  expect(code).toBe(2);
  expect(stderr.trim().split("\n").at(-1)).toMatch(message);
});
