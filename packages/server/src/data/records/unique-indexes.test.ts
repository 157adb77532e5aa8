import { describe, expect, setSystemTime, test } from "bun:test";
import { type Answer, eventsSince, lastSeq, openApi } from "../../../test/kit.ts";

const text = (name: string, more: object = {}) => ({ name, type: "string", ...more });
const unique = (...fields: string[]) => ({ fields, unique: true });

const api = await openApi({
  collections: [
    { name: "pairs", fields: [text("a"), text("b"), text("c", { max: 3 })], indexes: [unique("a", "b"), ["c"]] },
    {
      name: "threes",
      fields: [text("a"), { name: "ok", type: "boolean" }, { name: "n", type: "float" }],
      indexes: [unique("a", "ok", "n")],
    },
    { name: "singles", fields: [text("a"), text("b", { unique: true })], indexes: [unique("a"), unique("b")] },
    { name: "many", fields: [text("a"), text("b"), text("c")], indexes: [unique("a", "b"), unique("a", "c")] },
    {
      name: "own",
      fields: [text("own"), { name: "by", type: "relation", collection: "users", owner: true }],
      indexes: [unique("by", "own")],
    },
    { name: "timed", fields: [text("a"), text("b")], indexes: [unique("a", "createdAt"), unique("b", "updatedAt")] },
    { name: "sqlite_rows", fields: [text("rowid"), text("OID")], indexes: [unique("rowid", "OID")] },
  ],
});
const { request, service } = api;
const admin = await api.admin();
const [ann, bob] = [await api.register("ann@example.com"), await api.register("bob@example.com")];

function detailsOf({ status, body }: Answer): [number, unknown[]] {
  const details: unknown = body["error"]?.["details"];
  return [status, Array.isArray(details) ? details : []];
}

async function add(collection: string, body: object, token?: string): Promise<string> {
  const answer = await post(collection, body, token);
  expect(answer.status).toBe(201);
  return String(answer.body["id"]);
}

const post = (collection: string, body: object, token?: string): Promise<Answer> =>
  request("POST", `/api/${collection}`, { body, ...(token !== undefined && { token }) });
const put = (collection: string, id: string, body: object, token?: string): Promise<Answer> =>
  request("PUT", `/api/${collection}/${id}`, { body, ...(token !== undefined && { token }) });

/** The answer to a violation of an index. */
function taken(message: string, ...fields: string[]): [number, unknown[]] {
  return [400, fields.map((field) => ({ field, rule: "unique", message: `${message} taken by another record` }))];
}
const pair = taken("a and b together are", "a", "b");

describe("a record with the values of another record", () => {
  test("is refused with each field, and leaves nothing", async () => {
    await add("pairs", { a: "1", b: "1" });
    const [before, seq] = [await request("GET", "/api/pairs"), await lastSeq(service)];
    const answer = await post("pairs", { a: "1", b: "1", c: "new" });
    expect(detailsOf(answer)).toEqual(pair);
    expect<unknown>(answer.body["error"]?.["code"]).toBe("validation_error");
    expect((await request("GET", "/api/pairs")).body).toEqual(before.body);
    expect(await eventsSince(service, seq)).toEqual([]);
    for (const body of [
      { a: "1", b: "2" },
      { a: "2", b: "1" },
      { a: "1", b: "1 " },
    ])
      await add("pairs", body);
  });

  test("null in a field of the index is no value", async () => {
    for (const body of [{ a: "n" }, { a: "n", b: null }, { b: "n" }, {}]) {
      await add("pairs", body);
      await add("pairs", body);
    }
  });

  test("is refused by an index of three fields, of any type", async () => {
    await add("threes", { a: "x", ok: true, n: 0 });
    expect(detailsOf(await post("threes", { a: "x", ok: true, n: -0 }))).toEqual(
      taken("a, ok and n together are", "a", "ok", "n"),
    );
    const id = await add("threes", { a: "x", ok: false, n: 0 });
    expect(detailsOf(await put("threes", id, { ok: true }))).toEqual(taken("a, ok and n together are", "a", "ok", "n"));
    await add("threes", { a: "x", ok: true, n: 0.5 });
  });

  test("is refused by an index of a single field as by a unique field, and reported once", async () => {
    await add("singles", { a: "x", b: "y" });
    expect(detailsOf(await post("singles", { a: "x", b: "y" }))).toEqual([
      400,
      [...taken("b is", "b")[1], ...taken("a is", "a")[1]],
    ]);
  });

  test("is refused by two indexes: all fields are reported at once", async () => {
    await add("many", { a: "1", b: "1" });
    await add("many", { a: "1", c: "1" });
    expect(detailsOf(await post("many", { a: "1", b: "1", c: "1" }))).toEqual([
      400,
      [...pair[1], ...taken("a and c together are", "a", "c")[1]],
    ]);
  });

  test("is reported together with other problems, without a refused value", async () => {
    await add("pairs", { a: "p", b: "p" });
    const tooLong = { field: "c", rule: "max", message: "c must be at most 3 characters long" };
    expect(detailsOf(await post("pairs", { a: "p", b: "p", c: "long" }))).toEqual([400, [tooLong, ...pair[1]]]);
    const other = await add("pairs", { a: "p", b: "q" });
    expect(detailsOf(await put("pairs", other, { b: "p", c: "long" }))).toEqual([400, [tooLong, ...pair[1]]]);
    // The record's own value of `b` does not stand in for the refused value.
    const third = await add("pairs", { a: "r", b: "p" });
    const [status, details] = detailsOf(await put("pairs", third, { a: "p", b: 7 }));
    expect([status, details.length]).toEqual([400, 1]);
    expect(details).toMatchObject([{ field: "b", rule: "type" }]);
  });

  test("an index that is not unique is no rule", async () => {
    await add("pairs", { c: "i" });
    await add("pairs", { c: "i" });
    const [status, details] = detailsOf(await post("pairs", { a: 7, c: "i" }));
    expect([status, details.length]).toEqual([400, 1]);
    expect(details).toMatchObject([{ field: "a", rule: "type" }]);
  });

  test("names that SQLite reserves", async () => {
    await add("sqlite_rows", { rowid: "1", OID: "2" });
    expect(detailsOf(await post("sqlite_rows", { rowid: "1", OID: "2" }))).toEqual(
      taken("rowid and OID together are", "rowid", "OID"),
    );
  });

  test("at the same moment: one create succeeds, the other is refused", async () => {
    const body = { a: "race", b: "race" };
    const answers = await Promise.all([1, 2, 3].map(() => post("pairs", body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400, 400]);
    for (const answer of answers.filter(({ status }) => status === 400)) expect(detailsOf(answer)).toEqual(pair);
    const ids = [await add("pairs", { a: "race", b: "x" }), await add("pairs", { a: "race", b: "y" })];
    const updates = await Promise.all(ids.map((id) => put("pairs", id, { b: "z" })));
    expect(updates.map(({ status }) => status).sort()).toEqual([200, 400]);
  });
});

describe("an update", () => {
  test("of a field of the index: the other field comes from the record", async () => {
    await add("pairs", { a: "u", b: "1" });
    const id = await add("pairs", { a: "u", b: "2", c: "old" });
    const seq = await lastSeq(service);
    expect(detailsOf(await put("pairs", id, { b: "1", c: "new" }))).toEqual(pair);
    expect<unknown>((await request("GET", `/api/pairs/${id}`)).body).toMatchObject({ a: "u", b: "2", c: "old" });
    expect(await eventsSince(service, seq)).toEqual([]);
    expect((await put("pairs", id, { b: "3" })).status).toBe(200);
    expect((await put("pairs", id, { a: "u", b: "3" })).status).toBe(200);
    expect((await put("pairs", id, { b: null })).status).toBe(200);
    expect(detailsOf(await put("pairs", id, { b: "1" }))).toEqual(pair);
  });

  test("of a field outside the index is free", async () => {
    const id = await add("pairs", { a: "v", b: "1" });
    expect((await put("pairs", id, { c: "c" })).status).toBe(200);
  });
});

describe("an owner among the fields", () => {
  const message = taken("by and own together are", "by", "own");

  test("is the creator, also without an owner in the body", async () => {
    await add("own", { own: "1" }, ann.accessToken);
    expect(detailsOf(await post("own", { own: "1" }, ann.accessToken))).toEqual(message);
    await add("own", { own: "1" }, bob.accessToken);
    for (let n = 0; n < 2; n++) await add("own", { own: "1" });
  });

  test("stays when another field changes, and counts when the owner changes", async () => {
    await add("own", { own: "2" }, ann.accessToken);
    const id = await add("own", { own: "3" }, ann.accessToken);
    expect(detailsOf(await put("own", id, { own: "2" }, ann.accessToken))).toEqual(message);
    const bobs = await add("own", { own: "2" }, bob.accessToken);
    expect(detailsOf(await put("own", bobs, { by: ann.user.id }, admin))).toEqual(message);
    expect((await put("own", bobs, { by: null }, admin)).status).toBe(200);
  });

  test("that the caller may not name gives no hint of the records of that user", async () => {
    await add("own", { own: "secret" }, ann.accessToken);
    for (const answer of [
      await post("own", { own: "secret", by: ann.user.id }, bob.accessToken),
      await put(
        "own",
        await add("own", { own: "x" }, bob.accessToken),
        { own: "secret", by: ann.user.id },
        bob.accessToken,
      ),
    ]) {
      const [status, details] = detailsOf(answer);
      expect([status, details.length]).toEqual([400, 1]);
      expect(details).toMatchObject([{ field: "by", rule: "readonly" }]);
    }
  });
});

test("times of records among the fields: times that the service sets count, too", async () => {
  setSystemTime(new Date("2100-01-01"));
  try {
    const [first, second] = [await post("timed", { a: "x", b: "y" }), await post("timed", { a: "x", b: "z" })];
    expect(detailsOf(second)).toEqual(taken("a and createdAt together are", "a", "createdAt"));
    const other = await add("timed", { a: "y", b: "z" });
    expect((await put("timed", other, { b: "y" })).status).toBe(200);
    const refused = await put("timed", String(first.body["id"]), { b: "y" });
    expect(detailsOf(refused)).toEqual(taken("b and updatedAt together are", "b", "updatedAt"));
  } finally {
    setSystemTime();
  }
});
