/** Middlewares and catch-all files over the API: the order, the changes of requests and answers, and the faults of a middleware. */
import { describe, expect, test } from "bun:test";
import type { LogEntry, Page } from "@socle/protocol";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";

const open = `export const access = "public";`;
const say = (word: string): string => `${open} export const GET = () => new Response("${word}");`;
const opened = await openScripts({
  files: {
    "endpoints/_middleware.ts": `
      export default async (request, context, next) => {
        const seen = new Request(request, { headers: { "X-Seen": [request.headers.get("x-seen") ?? "", "outer"].join(" ") } });
        const answer = await next(seen);
        answer.headers.append("X-Passed", "outer");
        return answer;
      };`,
    "endpoints/plain.ts": `${open} export const GET = (request) => new Response(request.headers.get("x-seen"));`,
    "endpoints/in/_middleware.ts": `
      export default async (request, { params, user, db, logger }, next) => {
        if (new URL(request.url).searchParams.has("stop")) return new Response("stopped", { status: 418 });
        const answer = await next(new Request(request, { headers: { "X-Seen": request.headers.get("x-seen") + " inner " + JSON.stringify(params) } }));
        return new Response("<" + (await answer.text()) + ">", { status: answer.status, headers: { "X-Passed": "inner", "X-There": [user === null, typeof db.query, typeof logger.info].join() } });
      };`,
    "endpoints/in/[id].ts": `${open} export const GET = (request) => new Response(request.headers.get("x-seen"), { status: 201 });
      export const POST = async (request) => new Response(await request.text());`,
    "endpoints/in/member.ts": `export const GET = () => new Response("member");`,
    "endpoints/all/named.ts": say("named"),
    "endpoints/all/[id].ts": say("id"),
    "endpoints/all/[...rest].ts": `${open} export const GET = (_, { params }) => Response.json(params.rest);`,
    "endpoints/forgets/_middleware.ts": "export default async (request, context, next) => { await next(); };",
    "endpoints/forgets/x.ts": say("secret 4711"),
    "endpoints/twice/_middleware.ts":
      "export default async (request, context, next) => { await next(); return next(); };",
    "endpoints/twice/x.ts": say("twice"),
    "endpoints/odd/_middleware.ts": 'export default (request, context, next) => next("/elsewhere");',
    "endpoints/odd/x.ts": say("odd"),
    "endpoints/catches/_middleware.ts": `
      export default async (request, context, next) => {
        try { return await next(); } catch (error) { return new Response(error.message, { status: 409 }); }
      };`,
    "endpoints/catches/x.ts": `${open} export const GET = () => { throw new Error("thrown below"); };`,
    "endpoints/faults/_middleware.ts": "export default async (request, context, next) => { return await next(); };",
    "endpoints/faults/[method].ts": `${open}
      const schema = (validate) => ({ "~standard": { version: 1, vendor: "x", validate } });
      export const GET = endpoint({ query: schema(() => { throw new Error("no database"); }) }, () => 1);
      export const POST = endpoint({ answer: schema(() => ({ issues: [{ message: "refused" }] })) }, async () => 1);
      export const PUT = async () => 5;`,
    "endpoints/catches/y.ts": `${open} export const GET = () => 5;`,
  },
});
const api = "/api/function";

async function get(
  path: string,
  { service = opened, headers = {} }: { service?: TestScripts; headers?: Record<string, string> } = {},
) {
  const answer = await service.request("GET", `${api}${path}`, { headers });
  return { ...answer, text: new TextDecoder().decode(answer.bytes) };
}

test("the log of the start names the middlewares", async () => {
  const token = await opened.admin();
  const { body } = await opened.request<Page<LogEntry>>("GET", "/api/admin/logs?search=Loaded", { token });
  expect(body.items[0]?.fields?.["middlewares"]).toEqual([
    "endpoints/_middleware.ts",
    ...["catches", "faults", "forgets", "in", "odd", "twice"].map((name) => `endpoints/${name}/_middleware.ts`),
  ]);
});

describe("a middleware", () => {
  test("stands around the handlers of the folder and below, the outer first; request and response may be changed", async () => {
    const plain = await get("/plain");
    expect([plain.text, plain.headers.get("x-passed")]).toEqual(["outer", "outer"]);
    const inner = await get("/in/7");
    expect([inner.status, inner.text]).toEqual([201, '<outer inner {"id":"7"}>']);
    expect(inner.headers.get("x-passed")).toBe("inner, outer");
    expect(inner.headers.get("x-there")).toBe("true,function,function");
  });

  test("may respond without the handler", async () => {
    const { status, text, headers } = await get("/in/7?stop");
    expect([status, text, headers.get("x-passed")]).toEqual([418, "stopped", "outer"]);
  });

  test("runs after the check of access", async () => {
    const answer = await get("/in/member");
    expect([answer.status, answer.headers.get("x-passed")]).toEqual([401, null]);
  });

  test("forwards a body, small or in pieces", async () => {
    for (const length of [10, 200_000]) {
      const answer = await opened.request("POST", `${api}/in/7`, {
        body: "x".repeat(length),
        headers: { "Content-Type": "text/plain" },
      });
      expect([answer.status, answer.bytes.length]).toEqual([200, length + 2]);
    }
  });

  test.each([
    [
      "/forgets/x",
      "endpoints/forgets/_middleware.ts returned undefined, which is no Response: it must return next() or a Response",
    ],
    ["/twice/x", "endpoints/twice/_middleware.ts called next() twice"],
    ["/odd/x", "endpoints/odd/_middleware.ts called next() with a string; allowed: a Request"],
  ])("%s is 500, and the log names the file", async (path, message) => {
    const { status, body, text } = await get(path);
    expect([status, body["error"]?.["code"] as unknown]).toEqual([500, "internal_error"]);
    expect(text).not.toContain("4711");
    expect(opened.log.some((line) => line.startsWith("ERROR GET of endpoints") && line.includes(message))).toBe(true);
  });

  test.each([
    ["GET", "The schema of query threw an error: no database"],
    ["POST", "The handler returned a value that the schema of answer refuses: answer: refused"],
    ["PUT", "The handler returned a number, which is no Response"],
  ])("is not named for a fault of the endpoint: %s", async (method, message) => {
    expect((await opened.request(method, `${api}/faults/x`)).status).toBe(500);
    const [line = ""] = opened.log.filter((each) => each.startsWith(`ERROR ${method} of endpoints/faults`));
    expect(line).toStartWith(
      `ERROR ${method} of endpoints/faults/[method].ts failed: ${message} (endpoints/faults/[method].ts)`,
    );
  });

  test("may catch the errors of the handler", async () => {
    expect(await get("/catches/x")).toMatchObject({ status: 409, text: "thrown below" });
    expect(await get("/catches/y")).toMatchObject({
      status: 409,
      text: "The handler returned a number, which is no Response",
    });
  });
});

test("a catch-all takes the paths that no other file takes, decoded and in parts", async () => {
  expect(await get("/all/named")).toMatchObject({ status: 200, text: "named" });
  expect(await get("/all/x")).toMatchObject({ status: 200, text: "id" });
  expect(await get("/all")).toMatchObject({ status: 200, text: "[]" });
  expect(await get("/all/named/b%20c/d")).toMatchObject({ status: 200, text: '["named","b c","d"]' });
  expect((await get("/all/x/a%2Fb")).status).toBe(404);
});

describe("a middleware that does not load", () => {
  const broken = "export default (request, context, next) => {";
  const guard =
    "export default (request, context, next) => request.headers.has('x-key') ? next() : new Response('', { status: 403 });";

  test.each([
    ["a syntax error", broken, "endpoints/in/_middleware.ts:"],
    [
      "no default export",
      "export const GET = () => new Response('');",
      "it has no default function (request, context, next)",
    ],
    [
      "an access of its own",
      `${open} export default (request, context, next) => next();`,
      "it exports access, which only an endpoint may export",
    ],
    ["an error at the load", "throw new Error('no key');", "no key"],
  ])("%s: the endpoints below respond with 500, and no other file in their place", async (_what, code, message) => {
    const second = await openScripts({
      files: {
        "endpoints/in/_middleware.ts": code,
        "endpoints/in/x.ts": say("x"),
        "endpoints/[...all].ts": say("all"),
        "endpoints/in/deep/y.ts": say("y"),
      },
    });
    for (const path of ["/in/x", "/in/deep/y"]) {
      const { status, body, text } = await get(path, { service: second });
      expect([path, status, body["error"]?.["code"] as unknown]).toEqual([path, 500, "internal_error"]);
      expect(text).not.toContain(message);
    }
    expect(await get("/in", { service: second })).toMatchObject({ status: 200, text: "all" });
    const line =
      "ERROR endpoints/in/x.ts does not load, its path answers 500: its middleware endpoints/in/_middleware.ts does not load: ";
    expect(second.log.some((each) => each.startsWith(line) && each.includes(message))).toBe(true);
    await second.stop();
  });

  test("after a reload: the old version stays, with the old middleware; a new file has no effect", async () => {
    const second = await openScripts({ files: { "endpoints/_middleware.ts": guard, "endpoints/a.ts": say("old") } });
    const key = { "X-Key": "1" };
    await second.save({ "endpoints/_middleware.ts": broken, "endpoints/a.ts": say("new"), "endpoints/b.ts": say("b") });
    expect((await get("/a", { service: second })).status).toBe(403);
    expect(await get("/a", { service: second, headers: key })).toMatchObject({ status: 200, text: "old" });
    expect((await get("/b", { service: second, headers: key })).status).toBe(500);
    await second.save({ "endpoints/_middleware.ts": guard });
    expect((await get("/a", { service: second })).status).toBe(403);
    expect(await get("/a", { service: second, headers: key })).toMatchObject({ status: 200, text: "new" });
    expect((await get("/b", { service: second })).status).toBe(403);
    await second.stop();
  });
});
