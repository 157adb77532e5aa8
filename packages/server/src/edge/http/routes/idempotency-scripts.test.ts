/** Requests with `Idempotency-Key` and the user's code: endpoints run once, and hooks see a write once more only without an answer. */
import { expect, test } from "bun:test";
import { openScripts } from "../../../../test/scripts.ts";

const opened = await openScripts({
  collections: [
    { name: "calls", fields: [{ name: "name", type: "string" }], permissions: { create: "public", read: "public" } },
    { name: "hooked", fields: [{ name: "name", type: "string" }], permissions: { create: "public", read: "public" } },
  ],
  settings: { SERVICE_LIMITS_BODY: "100000" },
  files: {
    "endpoints/calls/[kind].ts": `
      export const access = "public";
      const large = () => new ReadableStream({ async start(c) { for (let n = 0; n < 20; n++) { c.enqueue(new Uint8Array(10_000).fill(n)); await Bun.sleep(1); } c.close(); } });
      const broken = () => new ReadableStream({ async pull(c) { if (this.begun) { await Bun.sleep(5); c.error(new Error("no more")); } else { this.begun = true; c.enqueue("begun"); } } }, { highWaterMark: 0 });
      export const POST = async (request, { params, db }) => {
        const name = params.kind + " " + await request.text();
        await db.collection("calls").create({ name });
        while (params.kind === "slow" && (await db.collection("calls").list()).every((call) => call.name !== "go")) await Bun.sleep(5);
        return ({
          whole: () => new Response(name, { status: 201, headers: [["Set-Cookie", "a=1"], ["Set-Cookie", "b=2"], ["X-Own", "yes"], ["Location", "/x"]] }),
          slow: () => new Response(name),
          bytes: () => new Response(new Uint8Array([0, 255, 128, 10, 0])),
          nul: () => new Response("a\\0ä\\0"),
          empty: () => new Response(null, { status: 204 }),
          pieces: () => new Response(new ReadableStream({ async start(c) { for (const n of ["a", "b", "c"]) { c.enqueue(n); await Bun.sleep(1); } c.close(); } })),
          long: () => new Response(large()),
          refused: () => new Response("sold out", { status: 409 }),
          failing: () => new Response("upstream is down", { status: 502 }),
          throws: () => { throw new Error("defect"); },
          broken: () => new Response(broken()),
        })[params.kind]();
      };
      export const PUT = POST;`,
    "endpoints/guarded/_middleware.ts": `export default (request, context, next) =>
      ({ a: next, b: next, wrong: () => new Response("wrong", { status: 401 }) })[request.headers.get("api-key") ?? "wrong"]();`,
    "endpoints/guarded/orders.ts": `export const access = "public";
      export const POST = async (request, { db }) => {
        const tenant = request.headers.get("api-key");
        await db.collection("calls").create({ name: "guarded " + tenant });
        return new Response(tenant);
      };`,
    "endpoints/soon/[kind].ts": `export const access = "public";
      export const POST = async (request, { params: { kind }, db }) => {
        await db.collection("calls").create({ name: "soon " + kind });
        if (kind === "thrown") throw new Refusal("not you", { status: 403 });
        if (kind === "busy") return new Response("busy", { status: 409, headers: { "Retry-After": "1" } });
        if (kind === "accepted") return new Response("later", { status: 202, headers: { "Retry-After": "1" } });
        return new Response("no", { status: Number(kind) });
      };`,
    "endpoints/mine.ts": `export const POST = (request, { user }) => Response.json({ id: user.id });`,
    "functions/hooked/check.ts": `export const beforeCreate = ({ record }) => {
      if (record.name === "refused") throw new Refusal("not this name");
      return { ...record, name: record.name + " checked" };
    };`,
  },
});
const { request } = opened;

const callsOf = async (name: string): Promise<number> =>
  (await request<{ items: { name: string }[] }>("GET", "/api/calls")).body.items.filter((call) => call.name === name)
    .length;

function call(kind: string, key: string, { method = "POST", body = key }: { method?: string; body?: string } = {}) {
  return request(method, `/api/function/calls/${kind}`, { body, headers: { "Idempotency-Key": key } });
}

test.each([
  ["whole", 201, "whole k-whole"],
  ["bytes", 200, "\0\uFFFD\uFFFD\n\0"],
  ["nul", 200, "a\0ä\0"],
  ["empty", 204, ""],
  ["pieces", 200, "abc"],
  ["refused", 409, "sold out"],
])("an endpoint runs once: %s", async (kind, status, text) => {
  const answers = [await call(kind, `k-${kind}`), await call(kind, `k-${kind}`), await call(kind, `k-${kind}`)];
  for (const [n, answer] of answers.entries()) {
    expect(answer.status).toBe(status);
    expect(new TextDecoder().decode(answer.bytes)).toBe(text);
    expect(answer.bytes).toEqual(answers[0]?.bytes as never);
    expect(answer.headers.get("idempotency-replayed")).toBe(n === 0 ? null : "true");
    if (kind === "whole") {
      expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
      expect([answer.headers.get("x-own"), answer.headers.get("location")]).toEqual(["yes", "/x"]);
    }
  }
  expect(await callsOf(`${kind} k-${kind}`)).toBe(1);
  expect((await call(kind, `k-${kind}`, { body: "other" })).status).toBe(400);
  expect((await call("nul", `k-${kind}`)).status).toBe(kind === "nul" ? 200 : 400);
  expect(await callsOf(`${kind} other`)).toBe(0);
});

test.each([
  ["failing", 502],
  ["throws", 500],
  ["broken", 502],
])("a response from 500 on is not stored: %s", async (kind, status) => {
  for (let n = 1; n <= 2; n++) {
    const answer = await call(kind, `k-${kind}`);
    expect([answer.status, answer.headers.get("idempotency-replayed")]).toEqual([status, null]);
    expect(await callsOf(`${kind} k-${kind}`)).toBe(n);
  }
});

test.each([
  ["401", 401],
  ["403", 403],
  ["429", 429],
  ["thrown", 403],
  ["busy", 409],
])("a refusal of the caller or of the moment is not stored: %s", async (kind, status) => {
  for (let n = 1; n <= 2; n++) {
    const answer = await request("POST", `/api/function/soon/${kind}`, { headers: { "Idempotency-Key": `k-${kind}` } });
    expect([answer.status, answer.headers.get("idempotency-replayed")]).toEqual([status, null]);
    expect(await callsOf(`soon ${kind}`)).toBe(n);
  }
});

test("a response below 400 with Retry-After is stored", async () => {
  for (const replayed of [null, "true"]) {
    const answer = await request("POST", "/api/function/soon/accepted", {
      headers: { "Idempotency-Key": "k-accepted" },
    });
    expect([answer.status, answer.headers.get("idempotency-replayed")]).toEqual([202, replayed]);
  }
  expect(await callsOf("soon accepted")).toBe(1);
});

test("a repeated request with other headers gets no response of another caller, and runs nothing; headers of proxies may differ", async () => {
  const order = (headers: Record<string, string>) =>
    request("POST", "/api/function/guarded/orders", { headers: { "Idempotency-Key": "k-guarded", ...headers } });
  expect((await order({})).status).toBe(401);
  expect((await order({ "Api-Key": "a", "X-Request-Id": "1" })).status).toBe(200);
  for (const headers of [{}, { "Api-Key": "b" }, { "Api-Key": "wrong" }] as Record<string, string>[]) {
    const other = await order(headers);
    expect([other.status, other.headers.get("idempotency-replayed")]).toEqual([400, null]);
    expect(String(other.body["error"]?.["message"])).toContain("or with other headers");
    expect(new TextDecoder().decode(other.bytes)).not.toBe("a");
  }
  const again = await order({ "Api-Key": "a", "X-Request-Id": "2", "X-Forwarded-For": "192.0.2.7" });
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
  expect([await callsOf("guarded a"), await callsOf("guarded b")]).toEqual([1, 0]);
});

test("a response that is too long to be stored is sent whole; a repeated request is 409 and runs nothing", async () => {
  const first = await call("long", "k-long");
  expect([first.status, first.bytes.byteLength, first.bytes.at(-1)]).toEqual([200, 200_000, 19]);
  const again = await call("long", "k-long");
  expect([again.status, again.body["error"]?.["code"]]).toEqual([409, "conflict"] as never);
  expect([again.headers.get("retry-after"), again.headers.get("idempotency-replayed")]).toEqual([null, "true"]);
  expect(await callsOf("long k-long")).toBe(1);
});

test("a second request is 409 while the handler runs, then gets the response", async () => {
  const first = call("slow", "k-slow");
  while ((await callsOf("slow k-slow")) === 0) await Bun.sleep(1);
  const second = await call("slow", "k-slow");
  expect([second.status, second.headers.get("retry-after")]).toEqual([409, "1"]);
  await request("POST", "/api/calls", { body: { name: "go" } });
  expect((await first).status).toBe(200);
  expect((await call("slow", "k-slow")).headers.get("idempotency-replayed")).toBe("true");
  expect(await callsOf("slow k-slow")).toBe(1);
});

test("only POST has keys, and access comes first", async () => {
  for (let n = 1; n <= 2; n++) {
    expect((await call("whole", "k-put", { method: "PUT" })).status).toBe(201);
    expect(await callsOf("whole k-put")).toBe(n);
  }
  const { accessToken: token, user } = await opened.register("ann@example.com");
  const headers = { "Idempotency-Key": "k-mine" };
  const mine = await request("POST", "/api/function/mine", { token, headers });
  expect(JSON.parse(new TextDecoder().decode(mine.bytes))).toEqual({ id: user.id });
  expect((await request("POST", "/api/function/mine", { headers })).status).toBe(401);
  expect(
    (await request("POST", "/api/function/mine", { headers: { "Idempotency-Key": "k".repeat(300) }, token })).status,
  ).toBe(400);
});

test("a hook's refusal and a hook's values are in the response, also of a batch", async () => {
  const operations = [{ method: "create", collection: "hooked", body: { name: "b" } }];
  for (const replayed of [null, "true"]) {
    const post = (path: string, key: string, body: object) =>
      request("POST", path, { body, headers: { "Idempotency-Key": key } });
    const answers = [
      await post("/api/hooked", "h-refused", { name: "refused" }),
      await post("/api/hooked", "h-made", { name: "a" }),
      await post("/api/batch", "h-batch", { operations }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 201, 200]);
    for (const { headers } of answers) expect(headers.get("idempotency-replayed")).toBe(replayed);
  }
  const { items } = (await request<{ items: { name: string }[] }>("GET", "/api/hooked")).body;
  expect(items.map(({ name }) => name).sort()).toEqual(["a checked", "b checked"]);
});
