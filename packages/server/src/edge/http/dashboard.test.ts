/** The dashboard under `/_/`: from a folder, and packed into the executable; both answer the same. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { pack } from "../../../../../scripts/embed-dashboard.ts";
import { openApi, temporaryFolder } from "../../../test/kit.ts";
import { Dashboard, EmbeddedFiles } from "./dashboard.ts";
import { StaticFiles } from "./static-files.ts";

const folder = temporaryFolder();
const script = `export const numbers = [${Array.from({ length: 2_000 }, (_, n) => n).join(", ")}];`;
const page = "<!doctype html><title>Dashboard</title>";
const contents = {
  "index.html": page,
  "icon.svg": "<svg xmlns='http://www.w3.org/2000/svg'></svg>",
  "color-scheme.js": "1",
  "assets/index-BVpdKSVp.js": script,
  "assets/a-b_C-4_8x.css": "body { color: red }".repeat(100),
  "assets/face-DO1Apj_S.woff2": "wOF2\u0000bytes",
  "assets/plain.js": "2",
};
for (const [name, content] of Object.entries(contents)) {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), content);
}
const { files, bytes } = await pack(folder);
const packed = join(temporaryFolder(), "packed.bin");
writeFileSync(packed, bytes);
symlinkSync("/etc/hostname", join(folder, "leak.txt"));
mkdirSync(join(folder, ".git"));
writeFileSync(join(folder, ".git", "config"), "hidden");

const collections = [{ name: "posts", fields: [] }];
const inFolder = new Dashboard(new StaticFiles({ key: "dashboard.path", folder, secrets: [] }));
const embedded = new Dashboard(new EmbeddedFiles({ bytes: packed, builtAt: Date.now(), files }));
const forever = "public, max-age=31536000, immutable";
const asset = "/_/assets/index-BVpdKSVp.js";

describe.each([
  ["in a folder", inFolder],
  ["packed", embedded],
])("%s", async (_name, dashboard) => {
  const { request } = await openApi({ collections, dashboard });
  const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    request(method, path, { headers });
  const text = ({ bytes: body }: { bytes: Uint8Array }): string => new TextDecoder().decode(body);

  test.each<[path: string, status: number, type: string, caching: string, content: string]>([
    ["/_/", 200, "text/html; charset=utf-8", "no-cache", page],
    ["/_/?a=1", 200, "text/html; charset=utf-8", "no-cache", page],
    ["/_/index.html", 200, "text/html; charset=utf-8", "no-cache", page],
    ["/_/login", 200, "text/html; charset=utf-8", "no-cache", page],
    ["/_/setup?token=x", 200, "text/html; charset=utf-8", "no-cache", page],
    ["/_/collections/posts/records/rec_1", 200, "text/html; charset=utf-8", "no-cache", page],
    ["/_/collections/", 200, "text/html; charset=utf-8", "no-cache", page],
    ["/_/no.txt", 200, "text/html; charset=utf-8", "no-cache", page],
    ["/_/%zz", 200, "text/html; charset=utf-8", "no-cache", page],
    ["/_/..%2f..%2fetc%2fpasswd", 200, "text/html; charset=utf-8", "no-cache", page],
    ["/_/leak.txt", 200, "text/html; charset=utf-8", "no-cache", page],
    ["/_/.git/config", 200, "text/html; charset=utf-8", "no-cache", page],
    ["/_/constructor", 200, "text/html; charset=utf-8", "no-cache", page],
    ["/_/icon.svg", 200, "image/svg+xml", "no-cache", contents["icon.svg"]],
    ["/_/color-scheme.js", 200, "text/javascript; charset=utf-8", "no-cache", "1"],
    [asset, 200, "text/javascript; charset=utf-8", forever, script],
    ["/_/assets/a-b_C-4_8x.css", 200, "text/css; charset=utf-8", forever, contents["assets/a-b_C-4_8x.css"]],
    ["/_/assets/face-DO1Apj_S.woff2", 200, "font/woff2", forever, contents["assets/face-DO1Apj_S.woff2"]],
    ["/_/assets/plain.js", 200, "text/javascript; charset=utf-8", "no-cache", "2"],
  ])("%s", async (path, status, type, caching, content) => {
    const answer = await get(path);
    expect([answer.status, answer.headers.get("content-type"), answer.headers.get("cache-control")]).toEqual([
      status,
      type,
      caching,
    ]);
    expect(text(answer)).toBe(content);
    expect(answer.headers.get("content-encoding")).toBeNull();
    expect(answer.headers.get("etag")).toMatch(/^"[^"]+"$/);
    expect(answer.headers.get("vary")).toBe(type === "font/woff2" ? null : "Accept-Encoding");
  });

  test.each(["/_/assets/gone-BVpdKSVp.js", "/_/assets", "/_/assets/", "/_/assets/x/y.js", "/_/%61ssets/gone.js"])(
    "%s is the index page, as any other unknown path, and not cached",
    async (path) => {
      const [{ status, bytes, headers }, index] = [await get(path), await get("/_/")];
      expect([status, headers.get("cache-control"), headers.get("content-type")]).toEqual([
        200,
        "no-cache",
        "text/html; charset=utf-8",
      ]);
      expect(bytes).toEqual(index.bytes);
    },
  );

  test("every response has the security headers", async () => {
    for (const path of ["/_", "/_/", "/_/users", asset, "/_/icon.svg", "/_/assets/gone.js"]) {
      const { headers } = await get(path);
      const policy = headers.get("content-security-policy") ?? "";
      for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"])
        expect([path, policy.split("; ").includes(part)]).toEqual([path, true]);
      expect(policy).not.toContain("unsafe-eval");
      expect(
        ["x-frame-options", "referrer-policy", "x-content-type-options", "cross-origin-opener-policy"].map((name) =>
          headers.get(name),
        ),
      ).toEqual(["DENY", "no-referrer", "nosniff", "same-origin"]);
    }
    // The API has separate headers.
    expect((await get("/api/posts")).headers.get("content-security-policy")).toBeNull();
  });

  test.each<[accepted: string, coding: string | null]>([
    ["br", "br"],
    ["gzip, deflate, br", "br"],
    ["gzip", "gzip"],
    ["br;q=0, gzip", "gzip"],
    ["identity", null],
    ["br;q=0, *;q=0", null],
  ])("Accept-Encoding: %s", async (accepted, coding) => {
    const answer = await get(asset, { "Accept-Encoding": accepted });
    const whole = await get(asset);
    // A folder has brotli files only if an operator put the files there.
    const isFolder = dashboard === inFolder;
    const expected = isFolder && coding === "br" ? (accepted.includes("gzip") ? "gzip" : null) : coding;
    expect(answer.headers.get("content-encoding")).toBe(expected);
    const plain =
      expected === "br"
        ? brotliDecompressSync(answer.bytes)
        : expected === "gzip"
          ? gunzipSync(answer.bytes)
          : answer.bytes;
    expect(new TextDecoder().decode(plain)).toBe(script);
    expect(answer.headers.get("content-length")).toBe(String(answer.bytes.byteLength));
    expect(answer.headers.get("etag") === whole.headers.get("etag")).toBe(expected === null);
    const again = await get(asset, { "Accept-Encoding": accepted, "If-None-Match": answer.headers.get("etag") ?? "" });
    expect([again.status, again.bytes.byteLength, again.headers.get("cache-control")]).toEqual([304, 0, forever]);
  });

  test("ranges are parts of the file on disk", async () => {
    const { status, headers, bytes: body } = await get(asset, { Range: "bytes=7-11", "Accept-Encoding": "br" });
    expect([status, headers.get("content-range"), new TextDecoder().decode(body)]).toEqual([
      206,
      `bytes 7-11/${script.length}`,
      "const",
    ]);
    expect((await get(asset, { Range: "bytes=999999-" })).status).toBe(416);
  });

  test("HEAD has the same headers without a body", async () => {
    for (const path of ["/_/", asset, "/_/any"]) {
      const [whole, head] = [await get(path), await get(path, {}, "HEAD")];
      const names = ["content-length", "content-type", "etag", "cache-control", "content-security-policy"];
      expect([head.status, head.bytes.byteLength]).toEqual([200, 0]);
      expect(names.map((name) => head.headers.get(name))).toEqual(names.map((name) => whole.headers.get(name)));
    }
  });

  test("/_ redirects to /_/, relative, and keeps the query", async () => {
    for (const [path, location] of [
      ["/_", "./_/"],
      ["/_?a=%20b", "./_/?a=%20b"],
    ] as const) {
      const { status, headers } = await get(path);
      expect([status, headers.get("location")]).toEqual([308, location]);
    }
  });

  test.each(["POST", "PUT", "PATCH", "DELETE"])("%s is a 405 that names the allowed methods", async (method) => {
    for (const path of ["/_", "/_/", asset]) {
      const { status, body, headers } = await get(path, {}, method);
      expect([status, String(body["error"]?.["code"]), headers.get("allow")]).toEqual([
        405,
        "method_not_allowed",
        "GET, HEAD, OPTIONS",
      ]);
    }
  });

  test("a browser that asks for / is redirected to the dashboard; others get the health response", async () => {
    const browser = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };
    for (const method of ["GET", "HEAD"]) {
      const led = await get("/", browser, method);
      expect([led.status, led.headers.get("location"), led.headers.get("vary")]).toEqual([302, "_/", "Accept"]);
    }
    for (const headers of [{}, { Accept: "*/*" }, { Accept: "application/json" }, { Accept: "" }]) {
      const health = await get("/", headers);
      expect([health.status, health.headers.get("vary"), String(health.body["status"])]).toEqual([200, "Accept", "ok"]);
      expect(health.headers.get("content-type")).toBe("application/json");
    }
    expect((await get("/health", browser)).status).toBe(200);
    expect((await get("/__", browser)).status).toBe(404);
  });
});

test("without a dashboard, its paths are 404, and / is the health response for all", async () => {
  const { request } = await openApi({});
  for (const path of ["/_", "/_/", asset]) {
    const { status, body } = await request("GET", path, { headers: { Accept: "text/html" } });
    expect([path, status, String(body["error"]?.["code"])]).toEqual([path, 404, "not_found"]);
  }
  const { status, headers } = await request("GET", "/", { headers: { Accept: "text/html" } });
  expect([status, headers.get("vary")]).toEqual([200, null]);
});

test("a folder `public` has its own paths, and the dashboard the paths under /_/", async () => {
  const site = temporaryFolder();
  mkdirSync(join(site, "_"));
  writeFileSync(join(site, "_", "index.html"), "mine");
  const open = () =>
    openApi({ dashboard: inFolder, files: new StaticFiles({ key: "public", folder: site, secrets: [] }) });
  const browser = { Accept: "text/html" };
  const bare = await open();
  expect((await bare.request("GET", "/", { headers: browser })).status).toBe(302);
  writeFileSync(join(site, "index.html"), "site");
  const { bytes: home, status } = await bare.request("GET", "/", { headers: browser });
  expect([status, new TextDecoder().decode(home)]).toEqual([200, "site"]);
  const own = await bare.request("GET", "/_/", { headers: browser });
  expect(new TextDecoder().decode(own.bytes)).toBe(page);
});
