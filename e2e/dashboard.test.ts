/** The dashboard inside the executable, in a real browser: the page loads, and the policy allows only the necessary requests. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { openWindow } from "./browser.ts";
import { project, serve, singleService, socle } from "./kit.ts";

const server = await serve(await project({ collections: [{ name: "posts", fields: [] }] }));
const link = /within 30 minutes: (\S+)\n/.exec(server.output())?.[1] ?? "";

test("the index page and its files are served, compressed, with their headers", async () => {
  const index = await fetch(`${server.url}/_/`, { headers: { "Accept-Encoding": "identity" } });
  const html = await index.text();
  const paths = [...html.matchAll(/(?:src|href)="(\/_\/[^"]+)"/g)].map(([, path]) => path ?? "");
  expect(paths.length).toBeGreaterThan(3);
  for (const path of paths) {
    const plain = await fetch(server.url + path, { headers: { "Accept-Encoding": "identity" } });
    const content = await plain.bytes();
    expect([path, plain.status, content.byteLength]).toEqual([
      path,
      200,
      Number(plain.headers.get("content-length") ?? Number.NaN),
    ]);
    const isAsset = path.startsWith("/_/assets/");
    expect([path, plain.headers.get("cache-control")]).toEqual([
      path,
      isAsset ? "public, max-age=31536000, immutable" : "no-cache",
    ]);
    const packed = await fetch(server.url + path, { headers: { "Accept-Encoding": "br" }, decompress: false });
    const body = await packed.bytes();
    const isPacked = packed.headers.get("content-encoding") === "br";
    expect(Buffer.from(isPacked ? brotliDecompressSync(body) : body).equals(Buffer.from(content))).toBe(true);
    if (content.byteLength > 10_000) expect([path, isPacked]).toEqual([path, true]);
  }
});

test("a browser that opens the address runs the dashboard, and no rule of the policy is broken", async () => {
  const page = await (await openWindow()).newPage();
  const problems: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(error.message));
  await page.goto(server.url);
  expect(new URL(page.url()).pathname.startsWith("/_/")).toBe(true);
  await page.waitForFunction("document.querySelector('#root').childElementCount > 0");
  await page.goto(link);
  await page.waitForFunction("document.querySelector('#root').childElementCount > 0");
  expect(link.startsWith(`${server.url}/_/setup?token=`)).toBe(true);
  await page.waitForLoadState("networkidle");
  expect(problems).toEqual([]);
});

/** Runs in the page. */
const probe = `(async () => {
  const violations = [];
  document.addEventListener("securitypolicyviolation", (event) => violations.push(event.effectiveDirective));
  const inline = document.createElement("script");
  inline.textContent = "window.hasRun = true";
  const frame = document.createElement("iframe");
  frame.src = "/health";
  document.body.append(inline, frame);
  const socket = (address) =>
    new Promise((resolve) => {
      const opened = new WebSocket(address);
      opened.onopen = () => resolve("open");
      opened.onerror = () => resolve("refused");
    });
  const call = (address) => fetch(address).then(({ status }) => status, () => "refused");
  const outcome = {
    own: await socket("ws://" + location.host + "/api/realtime"),
    api: await call("/api/posts"),
    elsewhere: await socket("ws://127.0.0.2:1/api/realtime").catch(() => "refused"),
    other: await call("http://127.0.0.2:1/"),
    hasRun: "hasRun" in window,
  };
  await new Promise((resolve) => setTimeout(resolve, 100));
  return { ...outcome, violations: violations.sort() };
})()`;

test("its policy: a socket of the same origin opens; another origin, inline scripts and frames do not", async () => {
  const page = await (await openWindow()).newPage();
  await page.goto(`${server.url}/_/login`);
  const outcome = await page.evaluate(probe);
  expect(outcome).toEqual({
    own: "open",
    api: 200,
    elsewhere: "refused",
    other: "refused",
    hasRun: false,
    violations: ["connect-src", "connect-src", "frame-src", "script-src-elem"],
  });
});

describe("the configuration", () => {
  test("switched off, nothing is served or warned of, and the link leads to the API", async () => {
    const off = await serve(await project(), {
      env: { SERVICE_DASHBOARD_ENABLED: "false", SERVICE_LOG_LEVEL: "WARN" },
    });
    expect((await fetch(`${off.url}/_/`)).status).toBe(404);
    expect((await fetch(off.url, { headers: { Accept: "text/html" } })).status).toBe(200);
    expect(off.output()).toContain(`${off.url}/api/auth/setup?token=`);
    expect(off.output()).not.toContain("WARN");
  });

  test("another build from a folder; a missing folder is a single warning, and the API works", async () => {
    singleService("process");
    const cwd = await project({ config: { dashboard: { path: "own" } } });
    const without = await serve(cwd);
    expect(without.output().match(/WARN .*/g)).toEqual([expect.stringContaining("own: has no index.html")]);
    expect([(await fetch(`${without.url}/_/`)).status, (await fetch(`${without.url}/health`)).status]).toEqual([
      404, 200,
    ]);
    await without.stop();
    mkdirSync(join(cwd, "own"));
    writeFileSync(join(cwd, "own/index.html"), "<!doctype html>mine");
    const own = await serve(cwd);
    expect(await (await fetch(`${own.url}/_/any/page`)).text()).toBe("<!doctype html>mine");
    expect(own.output()).not.toContain("WARN");
  });

  test("a folder with the configuration stops the start with a single line", async () => {
    const cwd = await project({ config: { dashboard: { path: "." } } });
    const { code, stderr } = await socle([], { cwd });
    expect([code, stderr.trimEnd().split("\n").length]).toEqual([2, 1]);
    expect(stderr).toContain("dashboard.path");
  });
});
