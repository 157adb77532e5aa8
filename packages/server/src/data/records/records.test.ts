import { describe, expect, test } from "bun:test";
import { type Answer, eventsSince, lastSeq, openApi } from "../../../test/kit.ts";

const everything = {
  name: "everything",
  fields: [
    { name: "s", type: "string", min: 2, max: 5, regex: "^[a-zé𝔘]+$" },
    { name: "t", type: "text" },
    { name: "i", type: "integer", min: -10, max: 10 },
    { name: "bigint", type: "integer" },
    { name: "f", type: "float", min: 0.5 },
    { name: "b", type: "boolean" },
    { name: "d", type: "datetime" },
    { name: "j", type: "json" },
    { name: "r", type: "relation", collection: "everything" },
    { name: "u", type: "relation", collection: "users" },
    { name: "file", type: "file" },
    { name: "constructor", type: "string" },
  ],
};
const strict = {
  name: "strict",
  fields: [
    { name: "code", type: "string", required: true, unique: true },
    { name: "n", type: "integer", required: true },
    { name: "ok", type: "boolean", required: true },
  ],
};
const mine = {
  name: "mine",
  fields: [
    { name: "title", type: "string", required: true },
    { name: "by", type: "relation", collection: "users", owner: true },
  ],
  permissions: { read: "owner", create: "authenticated", update: "owner" },
};
const levels = [
  { name: "for_members", fields: [{ name: "x", type: "string" }], permissions: { read: "authenticated" } },
  { name: "for_admins", fields: [{ name: "x", type: "string" }], permissions: { read: "admin" } },
  { name: "read_only", fields: [{ name: "x", type: "string" }], permissions: { create: "admin" } },
  {
    name: "drop_box",
    fields: [{ name: "x", type: "string" }],
    permissions: { read: "admin", create: "public", update: "owner" },
  },
];

const api = await openApi({ collections: [everything, strict, mine, ...levels] });
const { request } = api;
const admin = await api.admin();
const ann = await api.register("ann@example.com");
const bob = await api.register("bob@example.com");

function rules(answer: Answer): string[] {
  const details: unknown = answer.body["error"]?.["details"];
  if (!Array.isArray(details)) return [];
  return details.map((detail) => `${detail.field}:${detail.rule}`).sort();
}

async function create(collection: string, body: object, token?: string): Promise<string> {
  const answer = await request("POST", `/api/${collection}`, { body, ...(token === undefined ? {} : { token }) });
  expect(answer.status).toBe(201);
  return String(answer.body["id"]);
}

describe("values that are stored unchanged", () => {
  const cases: [string, unknown, unknown?][] = [
    ["s", "ab"],
    ["s", "é𝔘é𝔘é"],
    ["t", ""],
    ["t", "'; DROP TABLE everything; --"],
    ["t", "línea\n\t漢字 \u{1F600}"],
    ["i", 10],
    ["i", -10],
    ["i", 1.0],
    ["i", 0],
    ["bigint", 9007199254740991],
    ["bigint", -9007199254740991],
    ["f", 0.5],
    ["f", 1e300],
    ["b", true],
    ["b", false],
    ["d", "2026-03-01", "2026-03-01T00:00:00.000Z"],
    ["d", "2026-03-01T12:00:00+02:00", "2026-03-01T10:00:00.000Z"],
    ["d", "2026-03-01t12:00:00.123456z", "2026-03-01T12:00:00.123Z"],
    ["d", "2024-02-29", "2024-02-29T00:00:00.000Z"],
    ["d", "2026-03-01 09:30:00.5+02", "2026-03-01T07:30:00.500Z"],
    ["d", "2026-03-01T09:30:00+0100", "2026-03-01T08:30:00.000Z"],
    ["d", "2026-03-01T09:30Z", "2026-03-01T09:30:00.000Z"],
    ["d", "2026-03-01T12:00:00", "2026-03-01T12:00:00.000Z"],
    ["d", "2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"],
    ["d", "0000-01-01", "0000-01-01T00:00:00.000Z"],
    ["j", { a: [1, null, "x", { b: true }] }],
    ["j", []],
    ["j", "text"],
    ["j", 0],
    ["j", false],
    ["j", [9007199254740991, -9007199254740991, 0.1, 1e-300, 123456789.25]],
    ["constructor", "Bob the builder"],
    ["s", null],
    ["j", null],
    ["r", null],
  ];
  test.each(cases)("%s = %j", async (field, value, expected = value) => {
    const id = await create("everything", { [field]: value });
    const { body } = await request("GET", `/api/everything/${id}`);
    expect<unknown>(body[field]).toEqual(expected);
    const absent = everything.fields.map(({ name }) => name).filter((name) => name !== field);
    for (const name of absent) expect<unknown>(body[name]).toBeNull();
  });

  test.each(cases)(
    "the response to an update with %s = %j equals the response of GET, byte for byte",
    async (field, value) => {
      const path = `/api/everything/${await create("everything", { t: "before", i: 1, j: { a: 1 } })}`;
      const updated = await request("PUT", path, { body: { [field]: value, b: true } });
      expect(updated.status).toBe(200);
      const found = await request("GET", path);
      expect(Buffer.from(updated.bytes).toString()).toBe(Buffer.from(found.bytes).toString());
      expect(updated.headers.get("etag")).toBe(found.headers.get("etag"));
    },
  );
});

test("filters read times as bodies do", async () => {
  const id = await create("everything", { d: "1890-03-01T09:30:00+01:00" });
  for (const time of ["1890-03-01 08:30:00+00", "1890-03-01T09:30+0100", "1890-03-01 08:30", "1890-03-01T08:30Z"]) {
    const parameters = new URLSearchParams({ filter: `d = "${time}"` });
    const { body } = await request<{ items: object[] }>("GET", `/api/everything?${parameters}`);
    expect(body.items).toMatchObject([{ id }]);
  }
});

describe("values that are refused, each with its rule and nothing stored", () => {
  const deep = JSON.parse(`${"[".repeat(101)}${"]".repeat(101)}`);
  const cases: [string, unknown, string][] = [
    ["s", 1, "type"],
    ["s", true, "type"],
    ["s", ["a"], "type"],
    ["s", {}, "type"],
    ["s", "a", "min"],
    ["s", "", "min"],
    ["s", "abcdef", "max"],
    ["s", "ABC", "regex"],
    ["t", "a\u0000b", "type"],
    ["t", "lone \ud800", "type"],
    ["t", "\udc00 lone", "type"],
    ["i", "1", "type"],
    ["i", 1.5, "type"],
    ["i", 11, "max"],
    ["i", -11, "min"],
    ["bigint", 2 ** 53, "type"],
    ["bigint", -(2 ** 53), "type"],
    ["i", true, "type"],
    ["f", "0.5", "type"],
    ["f", 0.4, "min"],
    ["b", 1, "type"],
    ["b", "true", "type"],
    ["d", "yesterday", "type"],
    ["d", "2026-02-30", "type"],
    ["d", "2026-13-01", "type"],
    ["d", "2023-02-29", "type"],
    ["d", "2026-03-01T24:00:00Z", "type"],
    ["d", "2026-03-01T12:00:00 CET", "type"],
    ["d", "2026-03-01T12:00:00+24:00", "type"],
    ["d", "2026-3-1", "type"],
    ["d", "0000-01-01T00:00:00+01:00", "type"],
    ["d", 0, "type"],
    ["j", deep, "type"],
    ["r", "rec_nothing", "relation"],
    ["r", "", "relation"],
    ["r", 7, "type"],
    ["u", "usr_nobody", "relation"],
    ["file", "fil_none", "file"],
    ["file", 3, "type"],
  ];
  test.each(cases)("%s = %j is %s", async (field, value, rule) => {
    const before = (await request("GET", "/api/everything")).body["items"];
    const seq = await lastSeq(api.service);
    const answer = await request("POST", "/api/everything", { body: { [field]: value } });
    expect(answer.status).toBe(400);
    expect<unknown>(answer.body["error"]?.["code"]).toBe("validation_error");
    expect(rules(answer)).toEqual([`${field}:${rule}`]);
    expect((await request("GET", "/api/everything")).body["items"]).toEqual(before as never);
    expect(await eventsSince(api.service, seq)).toEqual([]);
  });

  test.each(["9007199254740993", "901656910939770881", "-9007199254740992", "123456789012345678901", "-1e400"])(
    "%s inside json cannot be stored exactly",
    async (number) => {
      for (const j of [number, `[${number}]`, `{"a":[{"b":${number}}]}`])
        expect(rules(await request("POST", "/api/everything", { body: `{"j":${j}}` }))).toEqual(["j:type"]);
    },
  );

  test("a whole number of more than 21 digits is refused with the number; an exponent keeps a value beyond 1e21", async () => {
    const answer = await request("POST", "/api/everything", { body: '{"j":{"a":[12345678901234567890123]}}' });
    expect([answer.status, answer.body["error"]?.["code"]] as unknown[]).toEqual([400, "bad_request"]);
    expect(String(answer.body["error"]?.["message"])).toContain("12345678901234567890123");
    const kept = await request("POST", "/api/everything", { body: '{"j":[123e45,1E22,-1.5e300]}' });
    expect(kept.body["j"] as unknown).toEqual([123e45, 1e22, -1.5e300]);
  });

  test("1e400 is no finite number, in a float and inside json", async () => {
    expect(rules(await request("POST", "/api/everything", { body: '{"f":1e400}' }))).toEqual(["f:type"]);
    expect(rules(await request("POST", "/api/everything", { body: '{"j":{"a":[1e400]}}' }))).toEqual(["j:type"]);
  });

  test("all problems at once, also unique and relation", async () => {
    await create("strict", { code: "taken", n: 1, ok: true });
    const answer = await request("POST", "/api/strict", { body: { code: "taken", n: "one", id: "rec_1", cod: 1 } });
    expect(rules(answer)).toEqual(["cod:unknown", "code:unique", "id:readonly", "n:type", "ok:required"]);
    expect(answer.body["error"]).toMatchObject({ message: "5 fields are not valid." } as never);
  });
});

describe("required and unique", () => {
  test("0 and false are values; missing, null and empty are not", async () => {
    await create("strict", { code: "zero", n: 0, ok: false });
    expect(rules(await request("POST", "/api/strict", { body: { code: "", n: null } }))).toEqual([
      "code:required",
      "n:required",
      "ok:required",
    ]);
  });

  test("an update cannot take a unique value either, but may keep its own", async () => {
    const id = await create("strict", { code: "one", n: 1, ok: true });
    await create("strict", { code: "two", n: 2, ok: true });
    expect(rules(await request("PUT", `/api/strict/${id}`, { body: { code: "two" } }))).toEqual(["code:unique"]);
    expect((await request("PUT", `/api/strict/${id}`, { body: { code: "one" } })).status).toBe(200);
  });

  test("two creates of the same value at the same moment: one create wins", async () => {
    const body = { code: "race", n: 1, ok: true };
    const answers = await Promise.all([1, 2, 3, 4].map(() => request("POST", "/api/strict", { body })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 400, 400, 400]);
  });
});

describe("update", () => {
  test("changes the sent fields, clears with null, and the time moves on", async () => {
    const id = await create("everything", { t: "one", i: 1 });
    const before = (await request("GET", `/api/everything/${id}`)).body;
    const { status, body } = await request("PUT", `/api/everything/${id}`, { body: { t: null, b: true } });
    expect(status).toBe(200);
    expect<unknown>([body["t"], body["i"], body["b"]]).toEqual([null, 1, true]);
    expect(String(body["updatedAt"]) > String(before["updatedAt"])).toBe(true);
    expect(body["createdAt"]).toEqual(before["createdAt"] as never);
  });

  test("the response of GET can be PUT", async () => {
    const id = await create("everything", { t: "one", j: { a: 1 }, d: "2026-01-01" });
    const got = (await request("GET", `/api/everything/${id}`)).body;
    const { status, body } = await request("PUT", `/api/everything/${id}`, { body: got });
    expect(status).toBe(200);
    expect({ ...body, updatedAt: 0 }).toEqual({ ...got, updatedAt: 0 } as never);
  });

  test("nothing to change is 200 without an event and without a new time", async () => {
    const id = await create("everything", { t: "one" });
    const before = (await request("GET", `/api/everything/${id}`)).body;
    const seq = await lastSeq(api.service);
    for (const body of [{}, { id: "rec_other", createdAt: "x", updatedAt: 5 }]) {
      const answer = await request("PUT", `/api/everything/${id}`, { body });
      expect([answer.status, answer.body]).toEqual([200, before]);
    }
    expect(await eventsSince(api.service, seq)).toEqual([]);
  });

  test("a required field cannot be cleared", async () => {
    const id = await create("strict", { code: "keep", n: 1, ok: true });
    expect(rules(await request("PUT", `/api/strict/${id}`, { body: { n: null } }))).toEqual(["n:required"]);
  });

  test("many updates within a millisecond: strictly rising times", async () => {
    const id = await create("everything", { i: 0 });
    const updates = Array.from({ length: 10 }, (_, i) => request("PUT", `/api/everything/${id}`, { body: { i } }));
    const times = (await Promise.all(updates)).map(({ body }) => String(body["updatedAt"]));
    expect(times).toEqual([...new Set(times)].sort());
  });
});

test("lists are newest first, also within a millisecond", async () => {
  const ids: string[] = [];
  for (let i = 0; i < 200; i++) ids.push(await create("read_only", { x: String(i) }, admin));
  const { items } = (await request("GET", "/api/read_only")).body;
  expect(Array.isArray(items) && items.map((item) => item.id)).toEqual(ids.reverse());
});

test("a long list is complete, also when records are deleted during the reading", async () => {
  const { queries, collections } = api.service;
  const collection = collections.get("read_only");
  if (collection === undefined) throw new Error("read_only is missing");
  const total = (await request("GET", "/api/read_only")).body["items"]?.["length"] as unknown;
  const pages = await queries.whole(collection, null);
  const last = pages.first.at(-1);
  await request("DELETE", `/api/read_only/${last?.id}`, { token: admin });
  let read = pages.first.length;
  while (pages.rest !== null) {
    const page = await pages.rest.next();
    if (page.done === true) break;
    read += page.value.length;
  }
  expect<unknown>(read).toBe(total);
});

test("thousands of keys that are no fields, and very long keys, are refused at once and shortly", async () => {
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`key${n}`, 1]));
  for (const body of [many, { ["k".repeat(500_000)]: 1 }]) {
    const answer = await request("POST", "/api/everything", { body });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body).length).toBeLessThan(20_000);
  }
});

test("a PUT may repeat a reference to a deleted record, and may not add such a reference", async () => {
  const target = await create("everything", {});
  const id = await create("everything", { r: target });
  await request("DELETE", `/api/everything/${target}`);
  const got = (await request("GET", `/api/everything/${id}`)).body;
  expect<unknown>(got["r"]).toBe(target);
  expect((await request("PUT", `/api/everything/${id}`, { body: { ...got, t: "changed" } })).status).toBe(200);
  const other = await create("everything", {});
  expect(rules(await request("PUT", `/api/everything/${other}`, { body: { r: target } }))).toEqual(["r:relation"]);
});

test("each change has its event, with the record of the response", async () => {
  const seq = await lastSeq(api.service);
  const created = (await request("POST", "/api/everything", { body: { i: 1, j: [1] } })).body;
  const path = `/api/everything/${String(created["id"])}`;
  const updated = (await request("PUT", path, { body: { i: 2 } })).body;
  expect((await request("DELETE", path)).status).toBe(204);
  expect((await request("GET", path)).status).toBe(404);
  expect(await eventsSince(api.service, seq)).toEqual([
    { type: "everything.created", payload: created },
    { type: "everything.updated", payload: updated },
    { type: "everything.deleted", payload: { id: created["id"] } },
  ]);
});

describe("permissions", () => {
  const [none, member, boss] = [undefined, ann.accessToken, admin];
  const cases: [string, string, (string | undefined)[], number[]][] = [
    ["GET", "for_members", [none, member, boss], [401, 200, 200]],
    ["POST", "for_members", [none, member, boss], [401, 201, 201]],
    ["GET", "for_admins", [none, member, boss], [401, 403, 200]],
    ["POST", "for_admins", [none, member, boss], [401, 403, 201]],
    ["GET", "read_only", [none, member, boss], [200, 200, 200]],
    ["POST", "read_only", [none, member, boss], [401, 403, 201]],
    ["POST", "drop_box", [none, member, boss], [201, 201, 201]],
    ["GET", "drop_box", [none, member, boss], [401, 403, 200]],
    ["POST", "everything", [none, member, boss], [201, 201, 201]],
  ];
  test.each(cases)("%s %s", async (method, name, tokens, expected) => {
    const statuses: number[] = [];
    for (const token of tokens) {
      const options = { ...(token === undefined ? {} : { token }), ...(method === "POST" ? { body: {} } : {}) };
      statuses.push((await request(method, `/api/${name}`, options)).status);
    }
    expect(statuses).toEqual(expected);
  });

  test("owner: a record of somebody else is 403, a missing record is 404, and lists show only own records", async () => {
    const id = await create("mine", { title: "ann's" }, ann.accessToken);
    await create("mine", { title: "bob's" }, bob.accessToken);
    const as = (token: string, method: string, path = `/${id}`, body?: object) =>
      request(method, `/api/mine${path}`, { token, ...(body === undefined ? {} : { body }) });
    expect((await as(bob.accessToken, "GET")).status).toBe(403);
    expect((await as(bob.accessToken, "PUT", undefined, { title: "mine now" })).status).toBe(403);
    expect((await as(bob.accessToken, "DELETE")).status).toBe(403);
    expect((await as(bob.accessToken, "GET", "/rec_none")).status).toBe(404);
    expect((await request("GET", "/api/mine")).status).toBe(401);
    const list = (await as(bob.accessToken, "GET", "")).body["items"];
    expect(list).toMatchObject([{ title: "bob's", by: bob.user.id }] as never);
    expect(list).toHaveLength(1);
    expect((await as(admin, "GET", "")).body["items"]).toHaveLength(2);
    expect((await as(admin, "GET")).body).toMatchObject({ title: "ann's", by: ann.user.id } as never);
  });

  test("the owner field belongs to the service: only an admin may set or change the owner", async () => {
    const token = ann.accessToken;
    const stolen = { title: "x", by: bob.user.id };
    expect(rules(await request("POST", "/api/mine", { token, body: stolen }))).toEqual(["by:readonly"]);
    const id = await create("mine", { title: "x", by: ann.user.id }, token);
    expect(rules(await request("PUT", `/api/mine/${id}`, { token, body: { by: bob.user.id } }))).toEqual([
      "by:readonly",
    ]);
    expect(rules(await request("PUT", `/api/mine/${id}`, { token, body: { by: null } }))).toEqual(["by:readonly"]);
    expect((await request("PUT", `/api/mine/${id}`, { token, body: { by: ann.user.id, title: "y" } })).status).toBe(
      200,
    );
    const given = await request("PUT", `/api/mine/${id}`, { token: admin, body: { by: bob.user.id } });
    expect(given.body).toMatchObject({ by: bob.user.id } as never);
    expect((await request("GET", `/api/mine/${id}`, { token })).status).toBe(403);
    expect((await request("GET", `/api/mine/${id}`, { token: bob.accessToken })).status).toBe(200);
  });

  test("a record without owner is for admins only under the rule owner", async () => {
    const id = await create("drop_box", { x: "from nobody" });
    const put = (token: string) => request("PUT", `/api/drop_box/${id}`, { token, body: { x: "y" } });
    expect([(await put(ann.accessToken)).status, (await put(admin)).status]).toEqual([403, 200]);
  });
});

describe("the order of checks: method, collection, token, role, record, owner, body", () => {
  const broken = { body: "{", headers: { "Content-Type": "text/plain" } };
  test("a broken body is the last problem to be reported", async () => {
    const id = await create("mine", { title: "x" }, ann.accessToken);
    const put = (path: string, token?: string) =>
      request("PUT", path, { ...broken, ...(token === undefined ? {} : { token }) });
    const statuses = [
      (await request("PATCH", "/api/nothing", broken)).status,
      (await put("/api/nothing/rec_1", "bad token")).status,
      (await put(`/api/mine/${id}`, "bad token")).status,
      (await put(`/api/mine/${id}`)).status,
      (await put("/api/for_admins/rec_1", ann.accessToken)).status,
      (await put("/api/mine/rec_1", bob.accessToken)).status,
      (await put(`/api/mine/${id}`, bob.accessToken)).status,
      (await put(`/api/mine/${id}`, ann.accessToken)).status,
    ];
    expect(statuses).toEqual([405, 404, 401, 401, 403, 404, 403, 400]);
  });
});
