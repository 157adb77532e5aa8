import { describe, expect, test } from "bun:test";
import { indexesIn, indexTexts } from "../../../test/indexes.ts";
import { lastSeq, openApi } from "../../../test/kit.ts";
import { messageOf, openSchemaWorld, text } from "../../../test/schema-world.ts";

const { api, send, create, lastName } = await openSchemaWorld();
const { request, service } = api;
const unique = (...fields: string[]) => ({ fields, unique: true });

/** The status that PUT answers, and the indexes that are stored then. */
async function put(name: string, body: object): Promise<unknown> {
  const answer = await send("PUT", `/collections/${name}`, body);
  if (answer.status !== 200) return [answer.status, messageOf(answer)];
  const { renamed: _renamed, restorable: _restorable, ...entry } = answer.body;
  expect<unknown>((await send("GET", `/collections/${name}`)).body).toEqual(entry);
  return [200, answer.body["indexes"]];
}

const schemaVersion = (): Promise<unknown> =>
  Promise.resolve(service.database.reader.get<{ schema_version: number }>("PRAGMA schema_version"));

describe("PUT", () => {
  test("keeps absent indexes, clears indexes with null and [], replaces indexes with an array", async () => {
    const indexes = [["a", "createdAt"], unique("b", "a")];
    const name = await create({ fields: [text("a"), text("b")], indexes });
    const version = await schemaVersion();
    expect(await put(name, { permissions: { read: "admin" } })).toEqual([200, indexes]);
    expect(await put(name, { fields: [text("b"), text("a", { max: 5 })] })).toEqual([200, indexes]);
    expect(await schemaVersion()).toEqual(version);
    expect(await put(name, { indexes: [["b"]] })).toEqual([200, [["b"]]]);
    expect(await indexTexts(service, name)).toEqual(["b"]);
    for (const cleared of [null, []]) {
      await put(name, { indexes: [["b"]] });
      expect(await put(name, { indexes: cleared })).toEqual([200, []]);
      expect(await indexTexts(service, name)).toEqual([]);
      expect(Object.keys(service.collections.get(name)?.definition ?? {})).not.toContain("indexes");
    }
  });

  test("the response of GET can be sent back: nothing happens", async () => {
    const name = await create({ fields: [text("a")], indexes: [["a"], { fields: ["a", "createdAt"], unique: false }] });
    const entry = await send("GET", `/collections/${name}`);
    const [version, seq] = [await schemaVersion(), await lastSeq(service)];
    const answer = await send("PUT", `/collections/${name}`, entry.body);
    expect<unknown>([answer.status, answer.body]).toEqual([200, entry.body]);
    expect([await schemaVersion(), await lastSeq(service)]).toEqual([version, seq]);
  });

  const renames: [string, object[], unknown, string[]][] = [
    [
      "asked for",
      [text("title", { renamedFrom: "a" }), text("b"), text("new")],
      [["title", "b"], unique("title", "updatedAt")],
      ["title, b", "unique title, updatedAt"],
    ],
    [
      "that can only be meant so",
      [text("title"), text("b")],
      [["title", "b"], unique("title", "updatedAt")],
      ["title, b", "unique title, updatedAt"],
    ],
    [
      "that swap",
      [text("a", { renamedFrom: "b" }), text("b", { renamedFrom: "a" })],
      [["b", "a"], unique("b", "updatedAt")],
      ["b, a", "unique b, updatedAt"],
    ],
    [
      "whose old name is taken by a new one",
      [text("title", { renamedFrom: "a" }), text("b"), { name: "a", type: "json", renamedFrom: null }],
      [["title", "b"], unique("title", "updatedAt")],
      ["title, b", "unique title, updatedAt"],
    ],
  ];
  test.each(renames)("indexes that are left out follow renames %s", async (_name, fields, indexes, texts) => {
    const name = await create({ fields: [text("a"), text("b")], indexes: [["a", "b"], unique("a", "updatedAt")] });
    await request("POST", `/api/${name}`, { body: { a: "A", b: "B" } });
    const before = await indexesIn(service, name);
    const planned = await send("PUT", `/collections/${name}?dryRun=true`, { fields });
    expect(JSON.stringify(planned.body["steps"])).not.toContain('"index"');
    expect(await put(name, { fields })).toEqual([200, indexes]);
    const after = await indexesIn(service, name);
    expect(after.map(({ text: each }) => each)).toEqual(texts);
    expect(after.map((index) => index.name)).toEqual(before.map((index) => index.name));
  });

  test("a field cannot be dropped while a stored index needs the field", async () => {
    const fields = [text("a"), text("b"), text("c")];
    const indexes = [["a", "b"], ["c"], unique("b")];
    const name = await create({ fields, indexes });
    const [entry, seq] = [await send("GET", `/collections/${name}`), await lastSeq(service)];
    const reason =
      'field "b" is gone, and the index ["a","b"] needs it; field "b" is gone, and the index ["b"] needs it: send "indexes", too, with the indexes that stay';
    const without = { fields: [text("a"), text("c")] };
    expect(messageOf(await send("PUT", `/collections/${name}?dryRun=true`, without))).toBe(reason);
    expect(await put(name, without)).toEqual([400, reason]);
    expect(await put(name, { ...without, indexes })).toEqual([400, expect.stringContaining('there is no field "b"')]);
    expect<unknown>((await send("GET", `/collections/${name}`)).body).toEqual(entry.body);
    expect([await indexTexts(service, name), await lastSeq(service)]).toEqual([["a, b", "c", "unique b"], seq]);
    expect(await put(name, { ...without, indexes: [["c"]] })).toEqual([200, [["c"]]]);
    expect(await indexTexts(service, name)).toEqual(["c"]);
  });

  test("a field whose name another field takes over is dropped, too", async () => {
    const name = await create({ fields: [text("a"), text("b")], indexes: [["b"]] });
    const fields = [text("b", { renamedFrom: "a" })];
    expect(await put(name, { fields })).toEqual([
      400,
      expect.stringContaining('field "b" is gone, and the index ["b"]'),
    ]);
    const planned = await send("PUT", `/collections/${name}?dryRun=true`, { fields, indexes: [["b"]] });
    expect<unknown>(planned.body["steps"]).toEqual([
      { step: "rename", field: "b", from: "a", records: 0 },
      { step: "drop", field: "b", records: 0 },
      { step: "index", fields: ["b"], unique: false, on: false, records: 0 },
      { step: "index", fields: ["b"], unique: false, on: true, records: 0 },
    ]);
    expect(await put(name, { fields, indexes: [["b"]] })).toEqual([200, [["b"]]]);
    expect(await indexTexts(service, name)).toEqual(["b"]);
  });

  test("two changes at once: neither is lost", async () => {
    const name = await create({ fields: [text("a")] });
    const answers = await Promise.all([
      send("PUT", `/collections/${name}`, { indexes: [["a"]] }),
      send("PUT", `/collections/${name}`, { fields: [text("a"), text("b")] }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const { definition } = (await send("GET", `/collections/${name}`)).body;
    expect<unknown>(definition).toEqual({ name, fields: [text("a"), text("b")], indexes: [["a"]] });
    expect(await indexTexts(service, name)).toEqual(["a"]);
  });
});

describe("a plan", () => {
  test("names added and removed indexes, and changes nothing", async () => {
    const name = await create({ fields: [text("a"), text("b")], indexes: [["a"], ["b"]] });
    for (const a of ["1", "2"]) await request("POST", `/api/${name}`, { body: { a } });
    const body = { indexes: [["b"], unique("a", "createdAt")], permissions: { read: "admin" } };
    const version = await schemaVersion();
    const planned = await send("PUT", `/collections/${name}?dryRun=true`, body);
    expect<unknown>(planned.body["steps"]).toEqual([
      { step: "index", fields: ["a"], unique: false, on: false, records: 2 },
      { step: "index", fields: ["a", "createdAt"], unique: true, on: true, records: 2 },
      {
        step: "permissions",
        records: 0,
        rules: ["read", "create", "update", "delete"].map((operation) => ({ operation, from: "public", to: "admin" })),
      },
    ]);
    expect(await schemaVersion()).toEqual(version);
    expect(await put(name, body)).toEqual([200, body.indexes]);
    expect(await indexTexts(service, name)).toEqual(["b", "unique a, createdAt"]);
  });

  test("with a unique index that records contradict is an error, with the number and some of the records", async () => {
    const name = await create({ fields: [text("a"), text("b")] });
    const ids: unknown[] = [];
    for (let n = 0; n < 6; n++)
      ids.push((await request("POST", `/api/${name}`, { body: { a: "1", b: "2" } })).body["id"]);
    for (const body of [{ a: "1" }, { a: "1" }, { a: "1", b: "3" }]) await request("POST", `/api/${name}`, { body });
    const seq = await lastSeq(service);
    const change = { fields: [text("a", { max: 0 }), text("b")], indexes: [unique("a", "b")] };
    const [planned, answer] = [
      await send("PUT", `/collections/${name}?dryRun=true`, change),
      await send("PUT", `/collections/${name}`, change),
    ];
    expect(planned.body).toEqual(answer.body);
    const named = `${ids.slice(0, 5).join(", ")}, …`;
    const message = `cannot be unique together: 6 records have values that another has too (${named})`;
    expect<unknown>([answer.status, answer.body["error"]?.["details"]]).toEqual([
      400,
      [
        { field: "a", rule: "max", message: expect.stringContaining("9 records have a text that is longer") },
        { field: "a, b", rule: "unique", message },
      ],
    ]);
    expect(messageOf(answer)).toEndWith(`; fields "a, b" ${message}`);
    expect([await indexTexts(service, name), await lastSeq(service)]).toEqual([[], seq]);
    expect<unknown>((await send("GET", `/collections/${name}`)).body["indexes"]).toEqual([]);
  });
});

test("a schema brings its indexes, and drops the others", async () => {
  const other = await openApi({});
  const own = await other.admin();
  const schema = (method: string, body?: unknown) =>
    other.request(method, "/api/admin/schema.json", { token: own, ...(body !== undefined && { body }) });
  await create({ fields: [text("a"), text("b")], indexes: [["b", "a"], unique("a", "createdAt")] });
  const { body } = await send("GET", "/schema.json");
  expect((await schema("PUT", body)).status).toBe(200);
  expect<unknown>((await schema("GET")).body).toEqual(body);
  for (const { name } of service.collections.all())
    expect([name, await indexTexts(other.service, name)]).toEqual([name, await indexTexts(service, name)]);
  const again = await schema("PUT", body);
  expect<unknown>(again.body["changes"]).toEqual(
    service.collections.all().map(() => expect.objectContaining({ steps: [] })),
  );
  const name = lastName();
  await schema("PUT", { collections: [{ name, fields: [text("a"), text("b")] }] });
  expect(await indexTexts(other.service, name)).toEqual([]);
});
