/** Endpoints over the API: the rights of callers, the input of handlers, the answers, and the traces of failures. */
import { describe, expect, test } from "bun:test";
import type { FunctionRun, Page } from "@socle/protocol";
import { setRole } from "../../../test/kit.ts";
import { openScripts } from "../../../test/scripts.ts";
import { until } from "../../../test/sockets.ts";

const show = `(request, { params, user, auth, db, storage, jobs, logger, signal }) => Response.json({
  method: request.method, url: request.url, params, user, same: auth.user?.id === user?.id,
  there: [typeof db.query, typeof storage.get, typeof jobs.enqueue, typeof logger.info, signal.aborted],
})`;
const opened = await openScripts({
  collections: [
    { name: "items", fields: [{ name: "name", type: "string", required: true }], permissions: { read: "admin" } },
  ],
  settings: { SERVICE_LIMITS_ENDPOINT_BODY: "200000" },
  files: {
    "endpoints/mine.ts": `export const GET = ${show};`,
    "endpoints/open.ts": `export const access = "public"; export const GET = ${show}; export const POST = GET;`,
    "endpoints/admins/index.ts": `export const access = "admin"; export const GET = ${show};`,
    "endpoints/items/[id].ts": `export const access = "public"; export const GET = ${show}; export const DELETE = GET;`,
    "endpoints/items/make.ts": `
      export const POST = async (request, { db, jobs }) => {
        const item = await db.collection("items").create(await request.json());
        await jobs.enqueue("note", item.id, { key: item.id });
        return Response.json(item, { status: 201, headers: { Location: "/api/items/" + item.id } });
      };`,
    "endpoints/_shared.ts": "export const secret = 1;",
    "endpoints/_folder/hidden.ts": `export const access = "public"; export const GET = () => new Response("");`,
    "endpoints/raw.ts": `export const access = "public"; export const POST = async (request) => {
      const bytes = await request.bytes();
      const key = new TextEncoder().encode("key");
      const hash = new Bun.CryptoHasher("sha256", key).update(bytes).digest("hex");
      return new Response(hash + " " + bytes.length + " " + request.headers.get("x-signature"));
    };`,
    "endpoints/heads.ts": `export const access = "public"; export const GET = () => new Response("body", { status: 207, headers: [
      ["Set-Cookie", "a=1; Path=/"], ["Set-Cookie", "b=2"], ["X-Request-Id", "mine"], ["X-Content-Type-Options", "no"],
      ["Connection", "close"], ["Keep-Alive", "x"], ["X-Own", "yes"], ["Cache-Control", "max-age=5"], ["Access-Control-Allow-Origin", "https://evil"],
      ["Access-Control-Expose-Headers", "X-Own"],
    ] });`,
    "endpoints/kinds/[kind].ts": `export const access = "public"; let shared = new Response("once");
      export const GET = (request, { params }) => ({
        text: () => new Response("ä"), json: () => Response.json([1]), bytes: () => new Response(new Uint8Array([1, 2])),
        empty: () => new Response(null, { status: 204 }), redirect: () => Response.redirect("https://example.com/", 303),
        object: () => ({ ok: true }), nothing: () => undefined, string: () => "text", error: () => Response.error(),
        newline: () => new Response("", { headers: { "X-A": "1\\r\\nX-B: 2" } }), shared: () => shared,
        throws: () => { throw new Error("secret 4711"); }, rejects: async () => { throw new Error("secret 4711"); },
        refusal: () => { throw new Refusal("secret 4711"); }, badPiece: () => new Response(new ReadableStream({ start(c) { c.enqueue(5); c.close(); } })),
        large: () => new Response("x".repeat(300_000)),
      })[params.kind]();`,
    "endpoints/late.ts": `export const access = "public"; export const options = { timeout: "150ms" };
      export const GET = (request, { signal, logger }) => new Promise(() => { signal.onabort = () => logger.info("aborted " + request.signal.aborted); });`,
    "jobs/note.ts": `export const queue = {}; export default ({ payload, logger }) => logger.info("noted " + payload);`,
  },
});
const { request, log } = opened;
const admin = await opened.admin();
const member = await opened.register("member@example.com");
const api = "/api/function";

/** The JSON of an answer, whatever the type says beside that. */
function jsonOf({ bytes }: { bytes: Uint8Array }): Record<string, unknown> {
  return JSON.parse(new TextDecoder().decode(bytes));
}

describe("access", () => {
  test.each([
    ["/mine", undefined, 401],
    ["/mine", "wrong", 401],
    ["/mine", member.accessToken, 200],
    ["/open", undefined, 200],
    ["/open", "wrong", 401],
    ["/admins", undefined, 401],
    ["/admins", member.accessToken, 403],
    ["/admins", admin, 200],
  ])("%s with the token %p: %p", async (path, token, status) => {
    const answer = await request("GET", `${api}${path}`, token === undefined ? {} : { token });
    expect(answer.status).toBe(status);
  });

  test("unknown paths, unknown methods, HEAD and OPTIONS", async () => {
    for (const path of [
      "/none",
      "/_shared",
      "/_folder/hidden",
      "/items",
      "/items/a/b",
      "/items/a%2Fb",
      "/items/%00",
      "/items/%zz",
      "",
    ]) {
      const { status, body } = await request("GET", `${api}${path}`, { token: admin });
      expect([path, status, body["error"]?.["code"] as unknown]).toEqual([path, 404, "not_found"]);
    }
    // The method is looked at before the token.
    const wrong = await request("PUT", `${api}/mine`);
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    const options = await request("OPTIONS", `${api}/items/7`);
    expect([options.status, options.headers.get("allow")]).toEqual([204, "GET, HEAD, DELETE, OPTIONS"]);
    const head = await request("HEAD", `${api}/open`);
    expect(head.status).toBe(200);
    const slash = await request("GET", `${api}/open/`);
    expect(slash.status).toBe(200);
  });
});

describe("a handler", () => {
  test("gets the request, the parts of its path, the caller and the service", async () => {
    const body = jsonOf(await request("GET", `${api}/items/a%20b?x=1&y=%2F`, { token: member.accessToken }));
    expect(body).toMatchObject({
      method: "GET",
      params: { id: "a b" },
      user: { id: member.user.id, email: "member@example.com", role: "authenticated" },
      same: true,
      there: ["function", "function", "function", "function", false],
    });
    expect(String(body["url"])).toEndWith("/api/function/items/a%20b?x=1&y=%2F");
    const anonymous = await request("GET", `${api}/items/make2`);
    expect(jsonOf(anonymous)).toMatchObject({ user: null, same: true });
  });

  test("uses the service: a record and a run, for the caller", async () => {
    const made = await request("POST", `${api}/items/make`, { body: { name: "x" }, token: member.accessToken });
    const id = String(jsonOf(made)["id"]);
    expect([made.status, made.headers.get("location")]).toEqual([201, `/api/items/${id}`]);
    await until(() => log.includes(`INFO noted ${id}`));
    // An uncaught error of the service is the answer, as over HTTP.
    const bad = await request("POST", `${api}/items/make`, { body: {}, token: member.accessToken });
    const http = await request("POST", "/api/items", { body: {}, token: admin });
    expect([bad.status, bad.body]).toEqual([400, http.body]);
  });

  test.each([
    ["small", 20],
    ["large", 100_000],
  ])("gets the raw bytes of a %s body, for a signature", async (_what, length) => {
    const bytes = crypto.getRandomValues(new Uint8Array(Math.min(length, 65_000)));
    const body = Buffer.concat(Array.from({ length: Math.ceil(length / bytes.length) }, () => bytes)).toString(
      "base64",
    );
    const answer = await request("POST", `${api}/raw`, {
      body,
      headers: { "X-Signature": "s1", "Content-Type": "application/x-own" },
    });
    const hash = new Bun.CryptoHasher("sha256", "key").update(body).digest("hex");
    expect(new TextDecoder().decode(answer.bytes)).toBe(`${hash} ${body.length} s1`);
  });

  test("never sees a body over the limit", async () => {
    for (const headers of [{}, { "Transfer-Encoding": "chunked" }] as Record<string, string>[]) {
      const answer = await request("POST", `${api}/raw`, { body: "x".repeat(200_001), headers });
      expect([answer.status, answer.body["error"]?.["code"] as unknown]).toEqual([413, "payload_too_large"]);
    }
  });
});

describe("a response", () => {
  test("has the headers of the handler, and the headers of every response", async () => {
    const { status, headers, bytes } = await request("GET", `${api}/heads`);
    expect([status, new TextDecoder().decode(bytes)]).toEqual([207, "body"]);
    expect(headers.getSetCookie()).toEqual(["a=1; Path=/", "b=2"]);
    expect(headers.get("x-own")).toBe("yes");
    expect(headers.get("cache-control")).toBe("max-age=5");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("x-request-id")).not.toBe("mine");
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(headers.get("access-control-expose-headers")).toMatch(/^X-Own, X-Request-Id, /);
    expect(headers.get("connection")).toBeNull();
    expect(headers.get("keep-alive")).toBeNull();
    expect(headers.get("content-type")).toBe("text/plain;charset=utf-8");
  });

  test.each([
    ["text", 200, "text/plain;charset=utf-8", 2],
    ["json", 200, "application/json;charset=utf-8", 3],
    ["bytes", 200, null, 2],
    ["empty", 204, null, 0],
    ["redirect", 303, null, 0],
    ["large", 200, "text/plain;charset=utf-8", 300_000],
  ])("%s: %p", async (kind, status, type, length) => {
    const answer = await request("GET", `${api}/kinds/${kind}`);
    expect([answer.status, answer.headers.get("content-type"), answer.bytes.length]).toEqual([status, type, length]);
  });

  test.each(["object", "nothing", "string", "error", "newline", "throws", "rejects", "unknown"])(
    "is 500 without the reason: %s",
    async (kind) => {
      const answer = await request("GET", `${api}/kinds/${kind}`);
      expect(answer.status).toBe(500);
      const { code, message } = answer.body["error"] as unknown as { code: string; message: string };
      expect(code).toBe("internal_error");
      expect(message).toContain(answer.headers.get("x-request-id") ?? "");
      expect(JSON.stringify(answer.body)).not.toContain("4711");
      expect(answer.headers.get("x-b")).toBeNull();
    },
  );

  test("is sent once: a response that was read before is 500", async () => {
    expect((await request("GET", `${api}/kinds/shared`)).status).toBe(200);
    expect((await request("GET", `${api}/kinds/shared`)).status).toBe(500);
    expect(log.some((line) => line.includes("a Response whose body was read before"))).toBe(true);
  });

  test("is sent within the timeout, or is 504; the signal is aborted then", async () => {
    const answer = await request("GET", `${api}/late`);
    expect([answer.status, answer.body["error"]?.["code"] as unknown]).toEqual([504, "unavailable"]);
    await until(() => log.includes("INFO aborted true"));
  });
});

test("failures are in the log, in the list of runs and in the metrics", async () => {
  const { headers } = await request("GET", `${api}/kinds/throws`);
  const entry =
    opened.entries("GET of endpoints/kinds/[kind].ts failed: secret 4711 (endpoints/kinds/[kind].ts:8:33)").at(-1) ??
    opened.entries(log.findLast((line) => line.includes("secret 4711"))?.slice("ERROR ".length) ?? "").at(-1);
  expect(entry?.fields?.["requestId"]).toBe(headers.get("x-request-id"));
  await opened.service.database.transact(() => undefined);
  const query = `/api/admin/functions/runs?status=failed&filePath=${encodeURIComponent("endpoints/kinds/[kind].ts")}&limit=1`;
  const { body } = await request<Page<FunctionRun>>("GET", query, { token: admin });
  expect(body.items).toMatchObject([
    {
      handler: "GET",
      eventType: "request",
      status: "failed",
      error: expect.stringContaining("secret 4711"),
      canRetry: false,
    },
  ]);
  const metrics = new TextDecoder().decode((await request("GET", "/metrics", { token: admin })).bytes);
  expect(metrics).toMatch(/socle_endpoint_requests_total\{file="endpoints\/late\.ts",method="GET",status="5xx"\} 1\n/);
  expect(metrics).toMatch(/socle_endpoint_duration_seconds_count \d+\n/);
  const list = await request("GET", "/api/admin/endpoints", { token: admin });
  expect(list.body["items"] as unknown).toContainEqual({
    path: "/api/function/items/[id]",
    filePath: "endpoints/items/[id].ts",
    methods: ["GET", "DELETE"],
    access: "public",
    timeout: 30_000,
  });
});

test("the response of a fetch is forwarded, whatever its encoding was", async () => {
  const text = "hello ".repeat(1_000);
  const gzipped = { "Content-Encoding": "gzip", "Content-Type": "text/x-own" };
  const upstream = Bun.serve({ port: 0, fetch: () => new Response(Bun.gzipSync(text), { headers: gzipped }) });
  const code = (init: string): string =>
    `export const access = "public"; export const GET = () => fetch("${upstream.url}", ${init});`;
  await opened.save({ "endpoints/fetched.ts": code("{}"), "endpoints/encoded.ts": code("{ decompress: false }") });
  const fetched = await request("GET", `${api}/fetched`);
  expect([fetched.status, fetched.headers.get("content-type"), fetched.headers.get("content-encoding")]).toEqual([
    200,
    "text/x-own",
    null,
  ]);
  expect(new TextDecoder().decode(fetched.bytes)).toBe(text);
  const encoded = await request("GET", `${api}/encoded`);
  expect(encoded.headers.get("content-encoding")).toBe("gzip");
  expect(new TextDecoder().decode(Bun.gunzipSync(new Uint8Array(encoded.bytes)))).toBe(text);
  await upstream.stop(true);
});

test("a right that ends while the body arrives is checked again", async () => {
  const late = await opened.register("late@example.com");
  await setRole(opened.service, late.user.id, "admin");
  expect((await request("GET", `${api}/admins`, { token: late.accessToken })).status).toBe(200);
  await setRole(opened.service, late.user.id, "authenticated");
  expect((await request("GET", `${api}/admins`, { token: late.accessToken })).status).toBe(403);
});

test("an entry of limits.requests without an endpoint is a warning", async () => {
  const names = [
    "/buy",
    "/by",
    "/buy/*",
    "/orders/7",
    "/orders/7/*",
    "/app/a/b",
    "/app/*",
    "/orders/7/items/8",
    "/none/*",
    "/*",
  ];
  const requests = names.map((name) => ({ routes: `POST ${api}${name}`, per: "user", max: 9, window: "1m" }));
  const get = "export const GET = () => new Response();";
  const limited = await openScripts({
    files: {
      "endpoints/buy.ts": get,
      "endpoints/orders/[id]/items.ts": get,
      "endpoints/app/[...rest].ts": get,
      "endpoints/orders/[id].ts": "broken(",
    },
    settings: { SERVICE_LIMITS_REQUESTS: JSON.stringify(requests) },
  });
  const warned = limited.log.flatMap(
    (line) => /^WARN limits.requests: "POST (.*)" limits nothing/.exec(line)?.[1] ?? [],
  );
  expect(warned).toEqual(["/by", "/buy/*", "/orders/7/items/8", "/none/*"].map((name) => api + name));
  await limited.stop();
});

describe("files", () => {
  test("two files of the same path are refused with both names, and the version before goes on; a reload is whole", async () => {
    const one = (word: string): string =>
      `export const access = "public"; export const GET = () => new Response("${word}");`;
    const second = await openScripts({ files: { "endpoints/a.ts": one("first") } });
    const get = async (path: string) => new TextDecoder().decode((await second.request("GET", `${api}${path}`)).bytes);
    expect(await get("/a")).toBe("first");
    await second.save({
      "endpoints/a/index.ts": one("second"),
      "endpoints/b/[x].ts": one("x"),
      "endpoints/b/[y].ts": one("y"),
    });
    expect(second.log).toContain(
      "ERROR endpoints/a.ts does not load, its last version keeps running: has the path of endpoints/a/index.ts; one of them must go",
    );
    expect(second.log).toContain(
      "ERROR endpoints/b/[x].ts does not load, its path answers 500: has the path of endpoints/b/[y].ts; one of them must go",
    );
    expect((await second.request("GET", `${api}/b/1`)).status).toBe(500);
    expect(await get("/a")).toBe("first");
    await Bun.file(`${second.folder}/endpoints/a.ts`).delete();
    await second.save({ "endpoints/c.ts": "export const GET = ;" });
    expect(await get("/a")).toBe("second");
    expect(second.log.some((line) => line.startsWith("ERROR endpoints/c.ts does not load"))).toBe(true);
    await second.stop();
  });

  test.each([
    ["endpoints/a b.ts", "export const GET = () => 1;", '"a b" cannot be a part of a path'],
    ["endpoints/none.ts", "export const get = () => 1;", "did you mean GET instead of get?"],
    [
      "endpoints/head.ts",
      "export const GET = () => 1; export const HEAD = () => 1;",
      "HEAD is answered by the service itself",
    ],
    [
      "endpoints/who.ts",
      'export const access = "everybody"; export const GET = () => 1;',
      'access: "everybody" is not valid; allowed: public, authenticated or admin',
    ],
    [
      "endpoints/opts.ts",
      "export const options = { retries: 1 }; export const GET = () => 1;",
      "options.retries is unknown; allowed: timeout",
    ],
  ])("%s does not load: %s", async (path, code, message) => {
    const second = await openScripts({ files: { [path]: code } });
    expect(second.log.some((line) => line.startsWith(`ERROR ${path} does not load`) && line.includes(message))).toBe(
      true,
    );
    await second.stop();
  });
});
