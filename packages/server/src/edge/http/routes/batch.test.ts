/** `POST /api/batch`: shapes, references, all or nothing, events. */
import { describe, expect, test } from "bun:test";
import type { BatchResult, ErrorBody } from "@socle/protocol";
import { eventsSince, lastSeq, openApi } from "../../../../test/kit.ts";

const collections = [
  {
    name: "notes",
    fields: [
      { name: "title", type: "string", required: true, max: 20 },
      { name: "slug", type: "string", unique: true },
      { name: "next", type: "relation", collection: "notes" },
      { name: "about", type: "json" },
      { name: "n", type: "integer", min: 0 },
    ],
  },
  { name: "locked", fields: [{ name: "x", type: "string" }], permissions: { read: "public", create: "admin" } },
  {
    name: "mine",
    fields: [{ name: "x", type: "string" }],
    permissions: { read: "public", create: "authenticated", update: "owner" },
  },
];
const api = await openApi({ collections });
const { request, service } = api;
const ann = await api.register("ann@example.com");
const bob = await api.register("bob@example.com");

interface Batch {
  status: number;
  results: BatchResult[];
  error: ErrorBody["error"];
}

async function batch(operations: unknown, token?: string): Promise<Batch> {
  const body = { operations };
  const answer = await request<{ results: BatchResult[]; error: ErrorBody["error"] }>("POST", "/api/batch", {
    body,
    ...(token !== undefined && { token }),
  });
  return { status: answer.status, ...answer.body };
}

/** "operation:field:rule" of each problem. */
function problemsOf({ error }: Batch): string[] {
  return (error?.details ?? []).map(({ operation, field, rule }) => `${operation}:${field}:${rule}`);
}

const create = (body: object, collection = "notes") => ({ method: "create", collection, body });
const update = (id: unknown, body: object, collection = "notes") => ({ method: "update", collection, id, body });
const remove = (id: unknown, collection = "notes") => ({ method: "delete", collection, id });

async function all(collection = "notes"): Promise<{ id: string; title: string }[]> {
  const answer = await request<{ items: { id: string; title: string }[] }>("GET", `/api/${collection}`);
  return answer.body.items;
}

/** The batch fails and leaves nothing behind: no record, no event. */
async function refused(operations: unknown, token?: string): Promise<Batch> {
  const [before, seq] = [await all(), await lastSeq(service)];
  const answer = await batch(operations, token);
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(await all()).toEqual(before);
  expect(await eventsSince(service, seq)).toEqual([]);
  return answer;
}

async function note(title = "a"): Promise<{ id: string; tag: string }> {
  const made = await request<{ id: string }>("POST", "/api/notes", { body: { title } });
  return { id: made.body.id, tag: made.headers.get("etag") ?? "" };
}

test("create, update and delete, with results in order, each with its event", async () => {
  const [kept, gone] = [await note("kept"), await note("gone")];
  const seq = await lastSeq(service);
  const { status, results } = await batch([
    create({ title: "new" }),
    update(kept.id, { title: "changed" }),
    remove(gone.id),
    update({ $ref: 0 }, { n: 1 }),
    update(kept.id, {}),
  ]);
  expect(status).toBe(200);
  expect(results.map((each) => [each.status, each.body?.["title"] ?? null, each.body?.["n"] ?? null])).toEqual([
    [201, "new", null],
    [200, "changed", null],
    [204, null, null],
    [200, "new", 1],
    [200, "changed", null],
  ]);
  expect(results[0]?.body?.id).toBe(results[3]?.body?.id ?? "");
  const id = results[0]?.body?.id ?? "";
  expect(
    (await eventsSince(service, seq)).map(({ type, payload }) => [type, "id" in payload ? payload.id : null]),
  ).toEqual([
    ["notes.created", id],
    ["notes.updated", kept.id],
    ["notes.deleted", gone.id],
    ["notes.updated", id],
  ]);
  // As a read would answer.
  expect((await request("GET", `/api/notes/${id}`)).body as object).toEqual(results[3]?.body ?? {});
});

test("$ref may name a later operation, or the own operation; the relations are checked at the end", async () => {
  const answer = await batch([
    create({ title: "a", next: { $ref: 1 }, about: { deep: [{ $ref: 3 }] } }),
    create({ title: "b", next: { $ref: 0 } }),
    create({ title: "c", next: { $ref: 2 } }),
    update({ $ref: 1 }, { n: 5 }),
    create({ title: "d", next: { $ref: 3 } }),
  ]);
  expect(answer.status).toBe(200);
  const [a, b, c, , d] = answer.results.map(({ body }) => body);
  expect([a?.["next"], b?.["next"], c?.["next"], d?.["next"]]).toEqual([b?.id, a?.id, c?.id, b?.id]);
  expect(a?.["about"]).toEqual({ deep: [b?.id ?? ""] });
});

test("$ref stands for an id in a relation, as id, and deep in JSON; other objects with that key are values", async () => {
  const other = [{ $ref: "#/definitions/x" }, { $ref: 0, more: 1 }, { $ref: null }];
  const { status, results } = await batch([
    create({ title: "a" }),
    create({ title: "b", next: { $ref: 0 }, about: { deep: [{ id: { $ref: 0 } }, other], own: "x" } }),
    update({ $ref: 0 }, { next: { $ref: 1 }, about: [{ $ref: 1 }] }),
    create({ title: "c", about: other[0] ?? null }),
  ]);
  expect(status).toBe(200);
  const [a, b, changed, c] = results.map(({ body }) => body);
  expect(b?.["next"]).toBe(a?.id ?? "");
  expect(b?.["about"]).toEqual({ deep: [{ id: a?.id ?? "" }, other], own: "x" } as never);
  expect([changed?.["next"], changed?.["about"]]).toEqual([b?.id, [b?.id]] as never);
  expect(c?.["about"]).toEqual(other[0] as never);
});

test("an operation sees the results of earlier operations", async () => {
  const { id } = await note("a");
  await batch([update(id, { slug: "taken" })]);
  const { status } = await batch([
    update(id, { slug: "free" }),
    create({ title: "b", slug: "taken" }),
    remove(id),
    create({ title: "c", slug: "free" }),
  ]);
  expect(status).toBe(200);
  const twice = await refused([create({ title: "d", slug: "x" }), create({ title: "e", slug: "x" })]);
  expect([twice.status, problemsOf(twice)]).toEqual([400, ["1:slug:unique"]]);
  const { id: gone } = await note("gone");
  const after = await refused([remove(gone), update(gone, { title: "x" })]);
  expect([after.status, problemsOf(after)]).toEqual([404, ["1:id:refused"]]);
});

test("a record may be changed several times", async () => {
  const { status, results } = await batch([
    create({ title: "a", n: 0 }),
    ...[1, 2, 3].map((n) => update({ $ref: 0 }, { n })),
  ]);
  expect(status).toBe(200);
  const times = results.map(({ body }) => body?.updatedAt ?? "");
  expect(times).toEqual([...new Set(times)].toSorted());
});

describe("malformed", () => {
  const long = Array.from({ length: 1_001 }, () => create({ title: "a" }));
  test.each<[string, unknown, string]>([
    ["nothing", {}, ""],
    ["operations that are no array", { operations: { 0: create({ title: "a" }) } }, ""],
    ["another key", { operations: [], operation: [] }, ""],
    ["1,001 operations", { operations: long }, ""],
    ["an array", [create({ title: "a" })], ""],
    ["not JSON", "{", ""],
    ["no body", "", ""],
    ["an operation that is null", { operations: [create({ title: "a" }), null] }, "1::type"],
    ["an operation that is a list", { operations: [[]] }, "0::type"],
    ["no method", { operations: [{ collection: "notes", body: {} }] }, "0:method:required"],
    ["another method", { operations: [{ method: "PUT", collection: "notes", id: "x", body: {} }] }, "0:method:type"],
    ["no collection", { operations: [{ method: "create", body: {} }] }, "0:collection:required"],
    [
      "a collection that is a number",
      { operations: [{ method: "create", collection: 1, body: {} }] },
      "0:collection:type",
    ],
    ["no body of a create", { operations: [{ method: "create", collection: "notes" }] }, "0:body:required"],
    ["a body that is a list", { operations: [{ method: "create", collection: "notes", body: [] }] }, "0:body:type"],
    ["a body that is a reference", { operations: [create({ title: "a" }), create({ $ref: 0 })] }, "1:body:type"],
    ["a create with an id", { operations: [{ ...create({ title: "a" }), id: "x" }] }, "0:id:unknown"],
    ["a delete with a body", { operations: [{ ...remove("x"), body: {} }] }, "0:body:unknown"],
    ["another key of an operation", { operations: [{ ...create({ title: "a" }), path: "x" }] }, "0:path:unknown"],
    ["no id", { operations: [{ method: "delete", collection: "notes" }] }, "0:id:required"],
    ["an id that is a number", { operations: [remove(7)] }, "0:id:type"],
    ["ifMatch that is a number", { operations: [{ ...remove("x"), ifMatch: 7 }] }, "0:ifMatch:type"],
    [
      "a reference behind the last operation",
      { operations: [create({ title: "a", next: { $ref: 2 } }), create({ title: "b" })] },
      "0:next:relation",
    ],
    [
      "a reference to a later record that is deleted again",
      { operations: [create({ title: "a", next: { $ref: 1 } }), create({ title: "b" }), remove({ $ref: 1 })] },
      "0:next:relation",
    ],
    [
      "a reference to a later record that is refused",
      { operations: [create({ title: "a", next: { $ref: 1 } }), create({ title: "b", nope: 1 })] },
      "1:nope:unknown",
    ],
    [
      "a change of a later record",
      { operations: [update({ $ref: 1 }, { n: 1 }), create({ title: "a" })] },
      "0:id:relation",
    ],
    ["a reference out of range", { operations: [create({ title: "a" }), remove({ $ref: 2 })] }, "1:id:relation"],
    ["a negative reference", { operations: [create({ title: "a" }), remove({ $ref: -1 })] }, "1:id:relation"],
    ["half a reference", { operations: [create({ title: "a" }), remove({ $ref: 0.5 })] }, "1:id:relation"],
    [
      "a reference to a delete",
      { operations: [remove("x"), create({ title: "a", next: { $ref: 0 } })] },
      "1:next:relation",
    ],
    [
      "several, all told",
      { operations: [null, remove(7), create({ title: "a", next: { $ref: 9 } }), { method: "create" }] },
      "0::type 1:id:type 2:next:relation 3:collection:required 3:body:required",
    ],
  ])("%s", async (_name, body, problems) => {
    const before = await all();
    const answer = await request("POST", "/api/batch", { body });
    expect(answer.status).toBe(400);
    const batchAnswer = { status: 400, results: [], error: answer.body["error"] as never };
    expect(problemsOf(batchAnswer)).toEqual(problems === "" ? [] : problems.split(" "));
    expect(await all()).toEqual(before);
  });

  test("other methods, another type, a body that is too large, a bad token", async () => {
    const answer = await request("GET", "/api/batch");
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
    const headers = { "Content-Type": "text/plain" };
    expect((await request("POST", "/api/batch", { body: { operations: [] }, headers })).status).toBe(400);
    const large = create({ title: "a", about: "x".repeat(8 * 1024 ** 2) });
    expect((await refused([create({ title: "b" }), large])).status).toBe(413);
    expect((await request("POST", "/api/batch", { body: { operations: [] }, token: "x" })).status).toBe(401);
  });

  test("the bounds themselves are fine: no operation, 1,000, more than limits.body", async () => {
    expect(await batch([])).toMatchObject({ status: 200, results: [] });
    const many = await batch(Array.from({ length: 1_000 }, (_, n) => create({ title: "many", n })));
    expect([many.status, many.results.length, many.results[999]?.body?.["n"]]).toEqual([200, 1_000, 999]);
    const large = await batch([create({ title: "large", about: "x".repeat(2 * 1024 ** 2) })]);
    expect(large.status).toBe(200);
    await batch([...many.results, ...large.results].slice(1).map(({ body }) => remove(body?.id)));
  });

  test("deeply nested JSON is checked to its end, or refused", async () => {
    const nested = (depth: number) => {
      const deep = `${"[".repeat(depth)}{"$ref":0}${"]".repeat(depth)}`;
      const body = `{"operations":[{"method":"create","collection":"notes","body":{"title":"a"}},{"method":"create","collection":"notes","body":{"title":"b","about":${deep}}}]}`;
      return request<{ results: BatchResult[] }>("POST", "/api/batch", { body });
    };
    expect((await nested(200_000)).status).toBe(400);
    const answer = await nested(50);
    expect(answer.status).toBe(200);
    expect(JSON.stringify(answer.body.results[1]?.body?.["about"])).toContain(answer.body.results[0]?.body?.id ?? "?");
  });

  test("a key __proto__ reaches no prototype", async () => {
    const body = `{"operations":[{"method":"create","collection":"notes","body":{"title":"a"}},{"method":"create","collection":"notes","body":{"title":"b","__proto__":{"$ref":0},"about":{"__proto__":{"$ref":0}}}}]}`;
    const answer = await request("POST", "/api/batch", { body });
    expect([answer.status, String(answer.body["error"]?.["details"]?.["0"]?.["field"])]).toEqual([400, "__proto__"]);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});

describe("refused", () => {
  test("all problems of validation at once, each with its operation", async () => {
    const { id } = await note();
    const answer = await refused([
      create({ title: "fine" }),
      create({ titel: "x", n: -1 }),
      update(id, { title: null }),
      create({ title: "x".repeat(21), next: "rec_x" }),
      create({ title: "fine too" }),
    ]);
    expect(answer.status).toBe(400);
    expect(answer.error).toMatchObject({
      code: "validation_error",
      message: "3 operations of the batch are not valid.",
    });
    expect(problemsOf(answer)).toEqual([
      "1:titel:unknown",
      "1:title:required",
      "1:n:min",
      "2:title:required",
      "3:title:max",
      "3:next:relation",
    ]);
  });

  test("consequences of a failed operation are not reported as well", async () => {
    const answer = await refused([
      create({ title: null }),
      create({ title: "b", next: { $ref: 0 } }),
      update({ $ref: 0 }, { n: -1 }),
      create({ title: "c", next: { $ref: 1 }, n: -1 }),
      remove({ $ref: 2 }),
      create({ x: 1 }, "locked"),
    ]);
    expect([answer.status, problemsOf(answer)]).toEqual([400, ["0:title:required", "3:n:min"]]);
  });

  test("a reference behind a failed operation leads to the named operation", async () => {
    const answer = await refused([create({ title: null }), create({ title: "b" }), update({ $ref: 1 }, { n: -1 })]);
    expect([answer.status, problemsOf(answer)]).toEqual([400, ["0:title:required", "2:n:min"]]);
  });

  test.each<[string, unknown, number, string, string]>([
    ["an unknown collection", create({}, "nothing"), 404, "not_found", "1:collection:refused"],
    ["a missing record", update("rec_00000000-0000-7000-8000-000000000000", {}), 404, "not_found", "1:id:refused"],
    ["an id of another form", remove("x"), 404, "not_found", "1:id:refused"],
    ["a rule, nobody", create({}, "mine"), 401, "unauthorized", "1:collection:refused"],
    ["a rule for admins, nobody", create({}, "locked"), 401, "unauthorized", "1:collection:refused"],
    ["users are no collection", create({ email: "x@example.com" }, "users"), 404, "not_found", "1:collection:refused"],
  ])("%s", async (_name, operation, status, code, problem) => {
    const answer = await refused([create({ title: "a" }), operation, create({ title: "b" })]);
    expect([answer.status, answer.error.code as string, problemsOf(answer)]).toEqual([status, code, [problem]]);
  });

  test("with an insufficient token: 403", async () => {
    const answer = await refused([create({ title: "a" }), create({}, "locked")], ann.accessToken);
    expect([answer.status, problemsOf(answer)]).toEqual([403, ["1:collection:refused"]]);
    const mine = await batch([create({ x: "1" }, "mine")], ann.accessToken);
    const id = mine.results[0]?.body?.id;
    const other = await refused([create({ title: "a" }), update(id, { x: "2" }, "mine")], bob.accessToken);
    expect([other.status, problemsOf(other)]).toEqual([403, ["1:id:refused"]]);
    expect((await batch([update(id, { x: "2" }, "mine")], ann.accessToken)).status).toBe(200);
  });

  test("a version that has changed: 412, also by the batch itself", async () => {
    const { id, tag } = await note();
    expect((await batch([{ ...update(id, { title: "b" }), ifMatch: tag }])).status).toBe(200);
    const answer = await refused([create({ title: "a" }), { ...remove(id), ifMatch: tag }]);
    expect([answer.status, answer.error.code, problemsOf(answer)]).toEqual([412, "conflict", ["1:id:refused"]]);
    const current = (await request("GET", `/api/notes/${id}`)).headers.get("etag");
    const twice = [
      { ...update(id, { title: "c" }), ifMatch: current },
      { ...update(id, { title: "d" }), ifMatch: current },
    ];
    expect((await refused(twice)).status).toBe(412);
  });
});

test("records that are too many bytes together are refused", async () => {
  const body = { title: "large", about: "x".repeat(7 * 1024 ** 2) };
  const { results } = await batch([create(body)]);
  const id = results[0]?.body?.id;
  const answer = await refused(Array.from({ length: 10 }, (_, n) => update(id, { n })));
  expect([answer.status, answer.error.code]).toEqual([413, "payload_too_large"]);
  await batch([remove(id)]);
});

test("a batch counts as many requests as operations", async () => {
  const limited = await openApi({
    collections: collections.slice(0, 1),
    settings: { SERVICE_LIMITS_RATE_RECORDS: "10/s" },
  });
  // Ten seconds' worth at once.
  const body = { operations: Array.from({ length: 150 }, () => create({ title: "a" })) };
  expect((await limited.request("POST", "/api/batch", { body })).status).toBe(200);
  const next = await limited.request("GET", "/api/notes?limit=1");
  expect(next.status).toBe(429);
  expect(Number(next.headers.get("retry-after"))).toBeGreaterThan(3);
  expect(
    (await limited.request("GET", "/api/notes?limit=1", { headers: { "x-test-address": "another" } })).status,
  ).toBe(200);
});
