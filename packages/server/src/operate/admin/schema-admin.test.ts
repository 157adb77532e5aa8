import { describe, expect, test } from "bun:test";
import { OPERATIONS, type RecordList } from "@socle/protocol";
import { type Answer, eventsSince, lastSeq, openApi } from "../../../test/kit.ts";
import { messageOf, openSchemaWorld, text } from "../../../test/schema-world.ts";

const { api, token, send, create } = await openSchemaWorld();
const { request, service } = api;

describe("a collection", () => {
  test("is returned as stored, with the number of its records", async () => {
    const definition = { name: "shown", fields: [text("a", { max: 3 })], permissions: { read: "admin" } };
    const answer = await send("POST", "/collections", { $schema: "./x.json", ...definition });
    const entry = {
      ...definition,
      indexes: [],
      definition,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      records: 0,
    };
    expect<unknown>([answer.status, answer.body]).toEqual([201, entry]);
    for (let n = 0; n < 3; n++) await request("POST", "/api/shown", { token, body: { a: "x" } });
    expect<unknown>((await send("GET", "/collections/shown")).body).toEqual({ ...entry, records: 3 });
    const { items } = (await request("GET", "/api/shown", { token })).body;
    await request("DELETE", `/api/shown/${items?.["0"]?.["id"]}`, { token });
    expect((await send("GET", "/collections/shown")).body["records"] as unknown).toBe(2);
    const listed = (await send("GET", "/collections?limit=1")).body;
    expect(listed).toMatchObject({ limit: 1, offset: 0, total: 1 });
    expect<unknown>(listed["items"]?.["0"]).toMatchObject({ name: "shown", records: 2 });
  });

  test("is counted right whatever is written during the count", async () => {
    for (let turns = 0; turns < 60; turns++) {
      const name = await create({ fields: [] });
      const written = Promise.all([1, 2, 3].map(() => request("POST", `/api/${name}`, { body: {} })));
      for (let n = 0; n < turns % 20; n++) await new Promise((resolve) => setImmediate(resolve));
      await service.records.count(service.records.collection(name));
      const [, , third] = await written;
      const count = async (): Promise<unknown> => (await send("GET", `/collections/${name}`)).body["records"];
      expect([turns, await count()]).toEqual([turns, 3]);
      await request("DELETE", `/api/${name}/${third?.body["id"]}`);
      expect([turns, await count()]).toEqual([turns, 2]);
    }
  });

  test("PUT keeps absent parts, null clears, the name may be repeated and not changed", async () => {
    const name = await create({ fields: [text("a")], permissions: { read: "admin" } });
    const put = async (body: object) => {
      const { status, body: entry } = await send("PUT", `/collections/${name}`, body);
      return [status, Object.keys(entry["definition"] ?? {}), entry["permissions"]] as unknown;
    };
    expect(await put({ fields: [text("a"), text("b")] })).toEqual([
      200,
      ["name", "fields", "permissions"],
      { read: "admin" },
    ]);
    expect(await put({ name, permissions: null })).toEqual([200, ["name", "fields"], null]);
    expect(await put({})).toEqual([200, ["name", "fields"], null]);
    expect(await put({ name: null, fields: null, renamedFrom: null })).toEqual([200, ["name", "fields"], null]);
    expect(await put({ description: "Posts" })).toEqual([200, ["name", "fields"], null]);
    for (const body of [{ name: "other" }, { fields: {} }, { permissions: [] }, { field: [] }, { name: 1 }])
      expect([body, (await send("PUT", `/collections/${name}`, body)).status]).toEqual([body, 400]);
    expect(messageOf(await send("PUT", `/collections/${name}`, { permission: {} }))).toContain(
      'did you mean "permissions"',
    );
    expect((await send("PUT", "/collections/nothing", "{")).status).toBe(404);
    expect((await send("PUT", `/collections/${name}?dryRun=maybe`, {})).status).toBe(400);
  });

  test("users are made by no POST, and get their fields by PUT", async () => {
    const definition = { name: "users", fields: [{ name: "nick", type: "string" }] };
    for (const query of ["", "?dryRun=true"]) {
      const refused = await send("POST", `/collections${query}`, definition);
      expect([refused.status, messageOf(refused)]).toEqual([400, expect.stringContaining('"users" is reserved')]);
    }
    expect((await send("GET", "/collections/users")).status).toBe(404);
    expect((await send("PUT", "/collections/users?dryRun=true", definition)).status).toBe(200);
    expect((await send("GET", "/collections/users")).status).toBe(404);
    expect((await send("PUT", "/collections/users", definition)).status).toBe(200);
    expect((await send("POST", "/collections", definition)).status).toBe(400);
    expect((await send("DELETE", "/collections/users")).status).toBe(204);
  });

  test("two changes at once: neither is lost", async () => {
    for (let round = 0; round < 10; round++) {
      const name = await create({ fields: [text("a")] });
      const answers = await Promise.all([
        send("PUT", `/collections/${name}`, { fields: [text("a"), text("b")] }),
        send("PUT", `/collections/${name}`, { permissions: { read: "admin" } }),
        send("PUT", `/collections/${name}`, { permissions: { read: "authenticated" } }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      const { definition } = (await send("GET", `/collections/${name}`)).body;
      expect(definition as unknown).toEqual({
        name,
        fields: [text("a"), text("b")],
        permissions: { read: "authenticated" },
      });
    }
  });

  test("names that SQLite reserves are fields like others", async () => {
    const name = await create({ fields: [text("a"), text("rowid"), text("OID")] });
    await request("POST", `/api/${name}`, { body: { a: "A", rowid: "R", OID: "O" } });
    const values = async (): Promise<unknown> => (await request("GET", `/api/${name}`)).body["items"]?.["0"];
    const put = (fields: object[]) => send("PUT", `/collections/${name}`, { fields });
    expect(
      (
        await put([
          text("oid", { renamedFrom: "rowid" }),
          text("rowid", { renamedFrom: "a" }),
          text("b", { renamedFrom: "OID" }),
        ])
      ).status,
    ).toBe(200);
    expect(await values()).toMatchObject({ oid: "R", rowid: "A", b: "O" });
    expect((await put([text("oid", { unique: true }), text("b")])).status).toBe(200);
    expect((await put([text("oid", { unique: true }), text("b"), text("RowId", { renamedFrom: null })])).status).toBe(
      200,
    );
    expect(await values()).toMatchObject({ oid: "R", b: "O", RowId: null });
    expect((await request("POST", `/api/${name}`, { body: { oid: "R" } })).status).toBe(400);
  });

  test("fields that swap, or change their order alone: an event, a new time, the values with their names", async () => {
    const name = await create({ fields: [text("a"), text("b")] });
    await request("POST", `/api/${name}`, { body: { a: "A", b: "B" } });
    const before = (await send("GET", `/collections/${name}`)).body["updatedAt"];
    const seq = await lastSeq(service);
    await Bun.sleep(2);
    await send("PUT", `/collections/${name}`, {
      fields: [text("b", { renamedFrom: "a" }), text("a", { renamedFrom: "b" })],
    });
    const [record] = (await request<RecordList>("GET", `/api/${name}`)).body.items;
    expect(record).toMatchObject({ a: "B", b: "A" });
    expect((await send("GET", `/collections/${name}`)).body["updatedAt"]).not.toEqual(before);
    await send("PUT", `/collections/${name}`, { fields: [text("a"), text("b")] });
    await send("PUT", `/collections/${name}`, { fields: [text("a"), text("b")] });
    expect((await eventsSince(service, seq)).map(({ type }) => type)).toEqual([
      "system.collection.updated",
      "admin.collection.updated",
      "system.collection.updated",
      "admin.collection.updated",
    ]);
  });
});

describe("renamedFrom in a field", () => {
  const fields = [text("title"), text("secret"), text("note")];
  const bodies: readonly [string, object[], object][] = [
    [
      "a rename beside one dropped and one new of its type",
      [text("headline", { renamedFrom: "title" }), text("summary"), text("note")],
      { headline: "T", summary: null, note: "N" },
    ],
    [
      "two dropped and two new, of which one is null",
      [text("title"), text("x", { renamedFrom: null }), text("y")],
      { title: "T", x: null, y: null },
    ],
    [
      "null in a field that was there before",
      [text("title", { renamedFrom: null }), text("note"), text("summary")],
      { title: "T", note: "N", summary: null },
    ],
  ];
  test.each(bodies)("%s: an unnamed field is dropped and added", async (_, next, expected) => {
    const name = await create({ fields });
    await request("POST", `/api/${name}`, { body: { title: "T", secret: "S", note: "N" } });
    const plan = await send("PUT", `/collections/${name}?dryRun=true`, { fields: next });
    expect(JSON.stringify(plan.body)).toContain('{"step":"drop","field":"secret"');
    // `schema.json` names all collections; the others stay unchanged.
    const { collections } = (await send("GET", "/schema.json")).body as unknown as { collections: { name: string }[] };
    const whole = collections.map((each) => (each.name === name ? { ...each, fields: next } : each));
    const planned = await send("PUT", "/schema.json?dryRun=true", { collections: whole });
    expect(JSON.stringify(planned.body)).toContain('{"step":"drop","field":"secret"');
    expect((await send("PUT", `/collections/${name}`, { fields: next })).status).toBe(200);
    const [record] = (await request<RecordList>("GET", `/api/${name}`)).body.items;
    const { id: _id, createdAt: _c, updatedAt: _u, ...values } = record ?? {};
    expect<unknown>(values).toEqual(expected);
  });

  test("without renamedFrom, a removed and an added field of equal type are a rename, and more fields are refused with the remedy", async () => {
    const name = await create({ fields });
    await request("POST", `/api/${name}`, { body: { title: "T", secret: "S", note: "N" } });
    const unclear = await send("PUT", `/collections/${name}`, { fields: [text("a"), text("b"), text("note")] });
    expect([unclear.status, messageOf(unclear)]).toEqual([400, expect.stringContaining('"renamedFrom": its old name')]);
    const put = (next: object[]) => send("PUT", `/collections/${name}`, { fields: next });
    const guessed = await put([text("headline"), text("secret"), text("note")]);
    expect<unknown>(guessed.body["renamed"]).toEqual({ from: "title", to: "headline" });
    const records = async () => (await request<RecordList>("GET", `/api/${name}`)).body.items;
    expect(await records()).toMatchObject([{ headline: "T", secret: "S", note: "N" }]);
    const told = await put([text("heading", { renamedFrom: "headline" }), text("secret"), text("note")]);
    expect(told.body).not.toHaveProperty("renamed");
    // No field takes values that other callers read.
    const closed = { permissions: { read: "admin" } };
    await put([text("heading"), text("secret", closed), text("note")]);
    const dropped = await put([text("heading"), text("nickname"), text("note")]);
    expect([dropped.status, dropped.body["renamed"]]).toEqual([200, undefined]);
    expect(await records()).toMatchObject([{ heading: "T", nickname: null, note: "N" }]);
    await put([text("heading"), text("nickname", { permissions: { update: "admin" } }), text("note")]);
    const kept = await put([text("heading"), text("alias", { permissions: { update: "admin" } }), text("note")]);
    expect<unknown>(kept.body["renamed"]).toEqual({ from: "nickname", to: "alias" });
  });
});

test("a message about many problems stays readable", async () => {
  const fields = Array.from({ length: 400 }, () => 0);
  expect(messageOf(await send("POST", "/collections", { name: "bad", fields })).length).toBeLessThan(5_000);
  const many = Array.from({ length: 100_000 }, () => 0);
  expect(messageOf(await send("POST", "/collections", { name: "bad", fields: many }))).toBe(
    "100000 fields are too many; at most 500 are allowed",
  );
});

describe("a plan", () => {
  test("has each step and the number of its records", async () => {
    const name = await create({ fields: [text("a"), text("b"), { name: "n", type: "integer" }] });
    for (const b of ["x", "y", null]) await request("POST", `/api/${name}`, { body: { a: "a", b, n: 1 } });
    const answer = await send("PUT", `/collections/${name}?dryRun=true`, {
      fields: [
        text("title", { renamedFrom: "a", max: 5 }),
        { name: "n", type: "integer", required: true },
        { name: "f", type: "float" },
      ],
      permissions: { read: "admin" },
    });
    expect<unknown>(answer.body).toEqual({
      collection: name,
      action: "update",
      records: 3,
      steps: [
        { step: "rename", field: "title", from: "a", records: 3 },
        { step: "drop", field: "b", records: 2 },
        { step: "add", field: "f", records: 3 },
        { step: "rules", field: "title", records: 3 },
        { step: "require", field: "n", records: 3 },
        {
          step: "permissions",
          records: 0,
          rules: OPERATIONS.map((operation) => ({ operation, from: "public", to: "admin" })),
        },
      ],
    });
  });

  const number = { name: "n", type: "integer" };
  test.each([
    ["min", { ...number, min: 3 }, 'field "n" cannot have "min" 3: 4 records have a value below it'],
    ["max", { ...number, max: 7 }, 'field "n" cannot have "max" 7: 2 records have a value above it'],
    ["min of a length", text("a", { min: 2 }), 'field "a" cannot have "min" 2: 10 records have a text that is shorter'],
    [
      "regex",
      text("a", { regex: "[0-4]" }),
      'field "a" cannot have "regex" "[0-4]": 11 records have a text that does not match',
    ],
    ["unique", { ...number, unique: true }, 'field "n" cannot be unique: 2 records have a value that another has too'],
    ["required", text("gap", { required: true }), 'field "gap" cannot be required: 12 records have no value in it'],
  ])("records that contradict the step are counted, and five records are named: %s", async (_name, changed, reason) => {
    const fields = [number, text("a"), text("gap")];
    const name = await create({ fields });
    const ids: unknown[] = [];
    // 0, 1, 2, … 9, and once more 0; the emoji is one character.
    for (let n = 0; n < 11; n++)
      ids.push((await request("POST", `/api/${name}`, { body: { n: n % 10, a: n === 10 ? "55" : "😀" } })).body["id"]);
    ids.push((await request("POST", `/api/${name}`, { body: { gap: "" } })).body["id"]);
    const next = fields.map((field) => (field.name === changed.name ? changed : field));
    const seq = await lastSeq(service);
    const [planned, answer] = [
      await send("PUT", `/collections/${name}?dryRun=true`, { fields: next }),
      await send("PUT", `/collections/${name}`, { fields: next }),
    ];
    expect(planned.body).toEqual(answer.body);
    expect([answer.status, messageOf(answer).split(" (")[0]]).toEqual([400, reason]);
    const named = messageOf(answer).match(/rec_[0-9a-f-]+/g) ?? [];
    const count = Number(/: (\d+) record/.exec(messageOf(answer))?.[1]);
    expect(named).toHaveLength(Math.min(5, count));
    expect(named.every((id) => ids.includes(id))).toBe(true);
    expect(await lastSeq(service)).toBe(seq);
  });
});

test("all contradictions of records are reported at once", async () => {
  const name = await create({ fields: [text("a"), text("b"), { name: "n", type: "integer" }] });
  for (let n = 0; n < 2; n++) await request("POST", `/api/${name}`, { body: { a: "same" } });
  const fields = [
    text("a", { unique: true, max: 3, regex: "^x" }),
    text("b", { required: true }),
    { name: "n", type: "integer" },
  ];
  const { status, body } = await send("PUT", `/collections/${name}`, { fields });
  expect<unknown>([status, body["error"]?.["details"]]).toEqual([
    400,
    [
      {
        field: "a",
        rule: "unique",
        message: expect.stringMatching(/^cannot be unique: 2 records have .* \(rec_.*, rec_.*\)$/),
      },
      {
        field: "a",
        rule: "max",
        message: expect.stringContaining('cannot have "max" 3: 2 records have a text that is longer'),
      },
      { field: "a", rule: "regex", message: expect.stringContaining("a text that does not match") },
      { field: "b", rule: "required", message: expect.stringContaining("2 records have no value in it") },
    ],
  ]);
  expect(messageOf({ body } as Answer).split("; ")).toHaveLength(4);
});

test("dryRun reports made and deleted parts without a change; the response of GET can be PUT", async () => {
  const planned = await send("POST", "/collections?dryRun=true", { name: "planned", fields: [] });
  expect<unknown>([planned.status, planned.body]).toEqual([
    200,
    { collection: "planned", action: "create", steps: [{ step: "create", records: 0 }], records: 0 },
  ]);
  expect((await send("GET", "/collections/planned")).status).toBe(404);
  expect((await send("POST", "/collections?dryRun=true", { name: "auth", fields: [] })).status).toBe(400);
  const name = await create({ fields: [text("a")], permissions: { read: "admin" } });
  await request("POST", `/api/${name}`, { token, body: { a: "x" } });
  const gone = await send("DELETE", `/collections/${name}?dryRun=true`);
  expect<unknown>([gone.status, gone.body["steps"]]).toEqual([200, [{ step: "delete", records: 1 }]]);
  const entry = await send("GET", `/collections/${name}`);
  const seq = await lastSeq(service);
  expect((await send("PUT", `/collections/${name}`, entry.body)).body).toEqual(entry.body);
  expect(await lastSeq(service)).toBe(seq);
  expect((await send("DELETE", "/collections/nothing?dryRun=true")).status).toBe(404);
});

describe("a whole schema", () => {
  async function whole() {
    const one = await openApi({});
    const own = await one.admin();
    return {
      ...one,
      schema: (method: string, body?: object, headers: Record<string, string> = {}, query = "") =>
        one.request(method, `/api/admin/schema.json${query}`, { token: own, headers, ...(body && { body }) }),
    };
  }
  const relation = (name: string, to: string) => ({ name, type: "relation", collection: to });

  test("is planned and applied as a whole: rings, drops with the relations that pointed there, cases", async () => {
    const { schema, request: ask } = await whole();
    const ring = [
      { name: "a", fields: [relation("next", "b")] },
      { name: "b", fields: [relation("next", "a")] },
    ];
    expect((await schema("PUT", { collections: ring })).status).toBe(200);
    expect<unknown>((await schema("GET")).body).toEqual({ collections: ring });
    await ask("POST", "/api/a", { body: {} });
    const planned = await schema("PUT", { collections: [{ name: "B", fields: [] }] }, {}, "?dryRun=true");
    expect(planned.body["changes"] as unknown).toEqual([
      { collection: "a", action: "delete", steps: [{ step: "delete", records: 1 }], records: 1 },
      { collection: "b", action: "delete", steps: [{ step: "delete", records: 0 }], records: 0 },
      { collection: "B", action: "create", steps: [{ step: "create", records: 0 }], records: 0 },
    ]);
    expect<unknown>((await schema("GET")).body).toEqual({ collections: ring });
    const done = await schema("PUT", { collections: [{ name: "B", fields: [] }] });
    expect([done.status, done.body]).toEqual([200, planned.body]);
    expect((await ask("GET", "/api/a")).status).toBe(404);
    expect((await ask("GET", "/api/B")).status).toBe(200);
  });

  test("is refused as a whole, and the collection is named", async () => {
    const { schema } = await whole();
    const good = { name: "good", fields: [text("a")] };
    await schema("PUT", { collections: [good, { name: "target", fields: [] }] });
    for (const [body, message] of [
      [{}, '"collections" must be an array'],
      [{ collections: {} }, "must be an array"],
      [{ collections: [], other: 1 }, "Unknown attribute"],
      [{ collections: [good, { name: "x", fields: [{ name: "y" }] }] }, 'collection "x": field "y"'],
      [{ collections: [good, { ...good, name: "GOOD" }] }, "there twice"],
      [{ collections: [{ name: "x", fields: [relation("r", "nowhere")] }] }, 'there is no collection "nowhere"'],
      [
        { collections: [{ name: "x", fields: [relation("r", "target")] }] },
        '"target" cannot be deleted: x.r points to it',
      ],
      [
        { collections: [{ name: "good", fields: [{ name: "a", type: "text" }] }] },
        'collection "good": field "a": its type',
      ],
    ] as const) {
      const answer = await schema("PUT", body);
      expect([answer.status, messageOf(answer)]).toEqual([400, expect.stringContaining(message)]);
      expect((await schema("GET")).body["collections"] as unknown).toHaveLength(2);
    }
  });

  test("that has changed since its plan is a conflict, also for two at once", async () => {
    const { schema } = await whole();
    const of = (...names: string[]) => ({ collections: names.map((name) => ({ name, fields: [] })) });
    const seen = String((await schema("GET")).headers.get("etag"));
    const done = await schema("PUT", of("a"), { "If-Match": seen });
    expect(done.status).toBe(200);
    const tag = String(done.headers.get("etag"));
    for (const [header, status] of [
      [seen, 409],
      ['"x"', 409],
      [`"x", W/${tag}`, 200],
      ["*", 200],
    ] as const)
      expect([header, (await schema("PUT", of("a"), { "If-Match": header })).status]).toEqual([header, status]);
    const both = await Promise.all(["b", "c"].map((name) => schema("PUT", of("a", name), { "If-Match": tag })));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    // Each caller is told the schema after the caller's own change, not a later schema.
    const [one, two] = await Promise.all([schema("PUT", of("x")), schema("PUT", of("x", "y"))]);
    expect(one.headers.get("etag")).not.toBe(two.headers.get("etag"));
    expect((await schema("PUT", of("x"), { "If-Match": String(one.headers.get("etag")) })).status).toBe(409);
  });
});

test.each([
  ["POST", "/collections"],
  ["PUT", "/collections/planned"],
  ["PUT", "/schema.json"],
])("%s %s with a wrong dryRun is refused before the body is read", async (method, path) => {
  await send("POST", "/collections", { name: "planned", fields: [] });
  const { status, body } = await send(method, `${path}?dryRun=maybe`, []);
  expect([status, body["error"]]).toEqual([
    400,
    expect.objectContaining({ message: expect.stringMatching(/"dryRun"/) }),
  ]);
});
