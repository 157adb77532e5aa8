/** Queries as values: the text of conditions, the parameters of requests, and the items of answers. */

import { afterAll, beforeEach, expect, test } from "bun:test";
import { parseSyntax } from "@socle/protocol/filter";
import { filterOf } from "@socle/protocol/query";
import { createClient, SocleError } from "./index.ts";

const conditions: readonly [object, string][] = [
  [{}, ""],
  [{ done: false, n: { gte: 3 }, project: { status: "paid" } }, 'done = false && n >= 3 && project.status = "paid"'],
  [{ title: 'a "b" \\', n: null }, 'title = "a \\"b\\" \\\\" && n = null'],
  [{ status: ["new", "open"], n: { in: [1, 2] } }, 'status in ("new", "open") && n in (1, 2)'],
  [{ n: { gt: 1, lt: 5, ne: 3 } }, "n > 1 && n < 5 && n != 3"],
  [{ title: { contains: "x", lacks: "y" } }, 'title ~ "x" && title !~ "y"'],
  [{ due: { lt: new Date(0) } }, 'due < "1970-01-01T00:00:00.000Z"'],
  [{ a: { b: { c: 1, d: { gte: 2 } } } }, "a.b.c = 1 && a.b.d >= 2"],
  [{ $or: [{ a: 1 }, { b: 2, c: 3 }], d: 4 }, "(a = 1 || b = 2 && c = 3) && d = 4"],
  [{ $not: { a: 1, b: 2 } }, "!(a = 1 && b = 2)"],
  [{ project: { $or: [{ a: 1 }, { $not: { b: 2 } }] } }, "(project.a = 1 || !(project.b = 2))"],
  [{ editors: { some: { age: { gt: 40 }, name: "x" } } }, 'editors[age > 40 && name = "x"]'],
  [{ editors: { none: {} } }, "!(editors[id != null])"],
  [{ "comments(post)": { every: { text: "x" } } }, 'every(comments(post), text = "x")'],
  [{ "comments(post)": { every: {} } }, ""],
  // No record has these conditions.
  [{ status: [] }, "id = null"],
  [{ $or: [] }, "id = null"],
  [{ $not: {} }, "id = null"],
  // Every record has these conditions.
  [{ $or: [{}, { a: 1 }], $and: [] }, ""],
  // Names of operators as fields of another record.
  [{ project: { $and: [{ in: 5 }] } }, "project.in = 5"],
];

test.each(conditions)("the text of %j is %s", (condition, text) => {
  expect(filterOf({ ...condition })).toBe(text);
  if (text !== "") expect(() => parseSyntax(text)).not.toThrow();
});

test("a condition without a value is refused with its place", () => {
  expect(() => filterOf({ a: { b: undefined } })).toThrow("undefined: a.b");
  expect(() => filterOf({ a: { b: {} } })).toThrow("{}: a.b");
  expect(() => filterOf({ a: Number.NaN })).toThrow(TypeError);
});

const asked: URL[] = [];
const answers: object[] = [];
const posted: unknown[] = [];
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    asked.push(new URL(request.url));
    if (request.url.endsWith("/query")) posted.push(await request.json());
    return Response.json(answers.shift() ?? { items: [], nextCursor: null });
  },
});
afterAll(() => server.stop(true));
beforeEach(() => {
  asked.length = 0;
  answers.length = 0;
});
const client = createClient({ baseUrl: server.url.origin });
const tasks = client.collection("tasks");

function parametersOf(url: URL | undefined): object {
  return Object.fromEntries(url?.searchParams ?? []);
}

test("a query is sent at its await, with the parameters of lists", async () => {
  const open = tasks.where({ done: false }).filter("n > 3").filter`title ~ ${'"x'}`
    .orderBy("-createdAt", "title")
    .select("title", { project: ["name", { client: ["name"] }] })
    .search("word", { snippet: ["title"] })
    .limit(50);
  const narrower = open.where({ n: 1 });
  expect(asked).toEqual([]);
  await open;
  await narrower.after("c1").withTotal();
  expect(asked.map(({ pathname }) => pathname)).toEqual(["/api/tasks", "/api/tasks"]);
  const shared = {
    sort: "-createdAt,title",
    fields: "id,title,project.name,project.client.name",
    search: "word",
    snippet: "title",
    limit: "50",
  };
  const text = '(done = false) && (n > 3) && (title ~ "\\"x")';
  expect(parametersOf(asked[0])).toEqual({ ...shared, filter: text });
  expect(parametersOf(asked[1])).toEqual({
    ...shared,
    filter: `${text} && (n = 1)`,
    cursor: "c1",
    count: "exact",
  });
});

test("an empty query is a page; groups and counts have their parameters", async () => {
  answers.push(
    { items: [], nextCursor: null },
    { items: [], nextCursor: null },
    { items: [{ count: 7 }], nextCursor: null },
  );
  await tasks.where({});
  await tasks.where({ done: true }).group("status", "createdAt:month").aggregate("count", "sum(n)").orderBy("-count");
  expect(await tasks.where({ done: true }).orderBy("n").count()).toBe(7);
  expect(asked.map(parametersOf)).toEqual([
    { limit: "1000" },
    {
      limit: "1000",
      filter: "done = true",
      group: "status,createdAt:month",
      aggregate: "count,sum(n)",
      sort: "-count",
    },
    { limit: "1", filter: "done = true", aggregate: "count" },
  ]);
});

test("records stand in the place of ids", async () => {
  const there = { name: "p", expand: { client: null } };
  answers.push({
    items: [{ id: "1", expand: { project: there, helpers: [{ name: "a", expand: {} }], "comments(task)": [] } }],
    nextCursor: null,
  });
  const { items } = await tasks.select({ project: ["name"] }, { helpers: ["name"] });
  expect<unknown>(items).toEqual([
    { id: "1", project: { name: "p", client: null }, helpers: [{ name: "a" }], "comments(task)": [] },
  ]);
});

test("all pages, until the caller has enough or aborts", async () => {
  const page = (id: string, nextCursor: string | null) => ({ items: [{ id }], nextCursor });
  answers.push(page("1", "c1"), page("2", "c2"), page("3", null));
  const found: unknown[] = [];
  for await (const { id } of tasks.where({}).limit(1).all()) found.push(id);
  expect(found).toEqual(["1", "2", "3"]);
  expect(asked.map(({ searchParams }) => searchParams.get("cursor"))).toEqual([null, "c1", "c2"]);
  answers.push(page("1", "c1"));
  for await (const _ of tasks.all()) break;
  expect(asked).toHaveLength(4);
  const reason = new Error("enough");
  const signal = AbortSignal.abort(reason);
  expect(tasks.all({ signal }).next()).rejects.toBe(reason);
  expect(tasks.where({}).page({ signal })).rejects.toBe(reason);
});

test("endpoints are called by their paths", async () => {
  const { endpoints } = client;
  answers.push({ paid: true }, {}, {}, {}, {});
  expect(await endpoints["orders"]?.("a/b")["pay"]?.post({ amount: 5 }, { query: { notify: true } })).toEqual({
    paid: true,
  });
  await endpoints["files"]?.("a", 1).get();
  await endpoints["/get"]?.get();
  await endpoints.get();
  await endpoints["orders"]?.delete({ query: { all: 1 } });
  expect(asked.map(({ pathname, search }) => pathname + search)).toEqual([
    "/api/function/orders/a%2Fb/pay?notify=true",
    "/api/function/files/a/1",
    "/api/function/get",
    "/api/function",
    "/api/function/orders?all=1",
  ]);
  // A promise does not take endpoints for a promise.
  expect(typeof (await endpoints["orders"])).toBe("function");
});

test("a search over several collections is a request, and answers the records with their collections", async () => {
  const items = [{ collection: "notes", record: { id: "rec_1" } }];
  answers.push({ items });
  expect(await client.query({ search: "crea*", in: ["posts", "notes"], limit: 5 })).toEqual(items as never);
  expect(asked.map(({ pathname, search }) => pathname + search)).toEqual(["/api/query"]);
  expect(posted.splice(0)).toEqual([{ search: "crea*", in: ["posts", "notes"], limit: 5 }]);
  const aborted = client.query({ search: "x", in: ["posts"] }, { signal: AbortSignal.abort(new Error("left")) });
  expect(await aborted.catch((error: unknown) => error)).toEqual(new Error("left"));
  expect(asked).toHaveLength(1);
});

test("server queries are called with their arguments as JSON", async () => {
  answers.push({ open: 1 });
  expect(await client.queries["board"]?.({ project: "x" })).toEqual({ open: 1 });
  expect(asked[0]?.pathname).toBe("/api/query/board");
  expect(asked[0]?.searchParams.get("args")).toBe('{"project":"x"}');
});

test("a page in place of a response is an error that names the address, as from a server of pages for every path", async () => {
  const fetch = (): Response => new Response("<!doctype html>", { headers: { "Content-Type": "text/html" } });
  const page = Bun.serve({ port: 0, fetch });
  const thrown: unknown = await createClient({ baseUrl: page.url.origin })
    .collection("tasks")
    .first()
    .catch((error: unknown) => error);
  await page.stop(true);
  if (!SocleError.is(thrown, "offline")) throw new Error(`expected offline, got ${thrown}`);
  expect(thrown.message).toStartWith(`The service cannot be reached at ${page.url.origin}/api/tasks`);
  expect(thrown.cause).toBeInstanceOf(SyntaxError);
});

test("without a response, the error is offline; fields are the messages of a form", async () => {
  const lost = createClient({ baseUrl: "http://127.0.0.1:1" });
  const thrown: unknown = await lost
    .collection("tasks")
    .first()
    .catch((error: unknown) => error);
  if (!SocleError.is(thrown, "offline")) throw new Error(`expected offline, got ${thrown}`);
  const code: "offline" = thrown.code;
  expect(thrown.message).toStartWith("The service cannot be reached at http://127.0.0.1:1/api/tasks");
  expect([code, thrown.status, thrown.is("validation_error")]).toEqual(["offline", 0, false]);
  const details = [
    { field: "title", rule: "required", message: "is missing" } as const,
    { field: "title", rule: "min", message: "is too short" } as const,
  ];
  const refused = new SocleError(new Response(null, { status: 400 }), {
    code: "validation_error",
    message: "no",
    details,
  });
  expect(refused.fields).toEqual({ title: "is missing" });
});

test("a collection with the name of a member is at collection(name), and a live query needs live", async () => {
  expect(client["tasks"]).not.toBeUndefined();
  await client.collection("login").first();
  expect(asked[0]?.pathname).toBe("/api/login");
  expect(() => tasks.live(() => undefined)).toThrow("createClient({ live })");
});

test("a query that is too long for an address is sent in a body, with the same parameters", async () => {
  const ids = Array.from({ length: 1_000 }, (_, i) => `rec_${String(i).padStart(36, "0")}`);
  const query = client.collection("posts").where({ id: ids }).orderBy("-title").limit(5);
  answers.push({ items: [{ id: "rec_1" }], nextCursor: null });
  expect((await query).items).toMatchObject([{ id: "rec_1" }]);
  expect(asked.map(({ pathname, search }) => pathname + search)).toEqual(["/api/posts/query"]);
  expect(posted).toEqual([{ filter: filterOf({ id: ids }), sort: "-title", limit: 5 }]);
  await client.collection("posts").where({ id: ids.slice(0, 3) });
  expect([asked.at(-1)?.pathname, posted.length]).toEqual(["/api/posts", 1]);
});
