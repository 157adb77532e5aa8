/** Fields with a default: records that are created, changed, or older than the field. */
import { describe, expect, test } from "bun:test";
import { type Answer, openApi } from "../../../test/kit.ts";
import { messageOf, openSchemaWorld } from "../../../test/schema-world.ts";

const fields = [
  { name: "s", type: "string", default: "x", required: true },
  { name: "status", type: "string", values: ["todo", "done"], default: "todo" },
  { name: "t", type: "text", default: "" },
  { name: "n", type: "integer", default: 0, required: true },
  { name: "f", type: "float", default: 1.5 },
  { name: "b", type: "boolean", default: false, required: true },
  { name: "d", type: "datetime", default: "@now" },
  { name: "day", type: "datetime", default: "2026-03-01" },
  { name: "j", type: "json", default: { a: [1] } },
  { name: "g", type: "geo", default: { lat: 1.5, lon: -2 } },
  { name: "v", type: "vector", dimensions: 2, default: [0.5, -1] },
  { name: "by", type: "relation", collection: "users", default: "@user.id" },
  { name: "plain", type: "string" },
];
const profile = {
  name: "user",
  type: "relation",
  collection: "users",
  default: "@user.id",
  required: true,
  unique: true,
};
const api = await openApi({
  collections: [
    { name: "things", fields },
    { name: "profiles", fields: [profile] },
    {
      name: "ruled",
      fields: [{ name: "by", type: "relation", collection: "users", default: "@user.id" }],
      permissions: { create: "by = @user.id" },
    },
  ],
});
const { request } = api;
const ann = await api.register("ann@example.com");
const detailsOf = ({ body }: Answer): unknown => body["error"]?.["details"];

describe("create", () => {
  test("an absent field gets its default; the response, the record and the event have the value", async () => {
    const made = await request("POST", "/api/things", { body: {}, token: ann.accessToken });
    const createdAt = String(made.body["createdAt"]);
    const expected = {
      s: "x",
      status: "todo",
      t: "",
      n: 0,
      f: 1.5,
      b: false,
      d: createdAt,
      day: "2026-03-01T00:00:00.000Z",
      j: { a: [1] },
      g: { lat: 1.5, lon: -2 },
      v: [0.5, -1],
      by: ann.user.id,
      plain: null,
    };
    expect([made.status, made.body]).toEqual([201, expect.objectContaining(expected)]);
    expect((await request("GET", `/api/things/${made.body["id"]}`)).body).toEqual(made.body);
  });

  test("null is a value, and stays null; a required field refuses null", async () => {
    const nothing = { status: null, t: null, f: null, d: null, day: null, j: null, by: null };
    const made = await request("POST", "/api/things", { body: nothing, token: ann.accessToken });
    expect([made.status, made.body]).toEqual([201, expect.objectContaining(nothing)]);
    for (const s of [null, ""]) {
      const refused = await request("POST", "/api/things", { body: { s } });
      expect([refused.status, detailsOf(refused)]).toEqual([
        400,
        [{ field: "s", rule: "required", message: "s is required" }],
      ] as never);
    }
  });

  test("a value that is refused does not become the default", async () => {
    const refused = await request("POST", "/api/things", { body: { n: "5", status: "open" } });
    expect([refused.status, detailsOf(refused)]).toMatchObject([
      400,
      [{ field: "status" }, { field: "n", rule: "type" }],
    ]);
  });

  test("an update fills in no default", async () => {
    const made = await request("POST", "/api/things", { body: { status: null, plain: "a" } });
    const changed = await request("PUT", `/api/things/${made.body["id"]}`, { body: { plain: "b" } });
    expect(changed.body).toMatchObject({ status: null, plain: "b" });
  });

  test("the caller default of an anonymous request is null, and refused for a required field; a rule sees the default", async () => {
    expect((await request("POST", "/api/things", { body: {} })).body).toMatchObject({ by: null });
    const refused = await request("POST", "/api/profiles", { body: {} });
    expect(detailsOf(refused)).toEqual([{ field: "user", rule: "required", message: "user is required" }] as never);
    const first = await request("POST", "/api/profiles", { body: {}, token: ann.accessToken });
    expect([first.status, first.body["user"]]).toEqual([201, ann.user.id] as never);
    const second = await request("POST", "/api/profiles", { body: {}, token: ann.accessToken });
    expect(detailsOf(second)).toMatchObject([{ field: "user", rule: "unique" }]);
    expect((await request("POST", "/api/ruled", { body: {}, token: ann.accessToken })).status).toBe(201);
    expect((await request("POST", "/api/ruled", { body: { by: null }, token: ann.accessToken })).status).toBe(403);
    expect((await request("POST", "/api/ruled", { body: {} })).status).toBe(401);
  });
});

describe("migrations", async () => {
  const { api: admin, send, create } = await openSchemaWorld();
  const old = { name: "old", type: "string" };
  async function filled(...values: string[]): Promise<string> {
    const name = await create({ fields: [old] });
    for (const value of values) await admin.request("POST", `/api/${name}`, { body: { old: value } });
    return name;
  }
  const items = async (name: string): Promise<unknown[]> =>
    (await admin.request<{ items: Record<string, unknown>[] }>("GET", `/api/${name}`)).body.items.map(
      ({ id: _, createdAt: __, updatedAt: ___, ...values }) => values,
    );

  test("a new required field with a default: existing records get the default, and dryRun says how many", async () => {
    const name = await filled("a", "b");
    const fields = [
      old,
      { name: "n", type: "integer", default: 7, required: true },
      { name: "s", type: "string", values: ["a", "it's"], default: "it's", required: true },
      { name: "j", type: "json", default: { a: 1 }, required: true },
      { name: "at", type: "datetime", default: "@now", required: true },
      { name: "later", type: "integer", default: 7 },
    ];
    const plan = await send("PUT", `/collections/${name}?dryRun=true`, { fields });
    expect(plan.body).toMatchObject({
      steps: [
        { step: "add", field: "n", default: 7, records: 2 },
        { step: "add", field: "s", default: "it's", records: 2 },
        { step: "add", field: "j", default: { a: 1 }, records: 2 },
        { step: "add", field: "at", default: "@now", records: 2 },
        { step: "add", field: "later", records: 2 },
      ],
    });
    expect(await items(name)).toEqual([{ old: "b" }, { old: "a" }]);
    expect((await send("PUT", `/collections/${name}`, { fields })).status).toBe(200);
    const at = expect.stringMatching(/^20.*Z$/);
    expect(await items(name)).toEqual(
      ["b", "a"].map((value) => ({ old: value, n: 7, s: "it's", j: { a: 1 }, at, later: null })),
    );
    // A changed or removed default counts for new records only.
    const next = fields.map((field) => ("default" in field && field.name === "n" ? { ...field, default: 8 } : field));
    const other = await send("PUT", `/collections/${name}?dryRun=true`, { fields: next });
    expect(other.body).toMatchObject({ steps: [{ step: "default", field: "n" }] });
    expect((await send("PUT", `/collections/${name}`, { fields: next })).status).toBe(200);
    await admin.request("POST", `/api/${name}`, { body: {} });
    expect(await items(name)).toMatchObject([
      { n: 8, later: 7 },
      { n: 7, later: null },
      { n: 7, later: null },
    ]);
  });

  test("a default that needs a caller is refused while records exist, and so is a default that would not be unique", async () => {
    const name = await filled("a", "b");
    const by = { name: "by", type: "relation", collection: "users", default: "@user.id", required: true };
    expect(messageOf(await send("PUT", `/collections/${name}`, { fields: [old, by] }))).toMatch(
      /"by" cannot be required: it is new and 2 records have no value in it/,
    );
    const n = { name: "n", type: "integer", default: 7, required: true };
    const indexes = [{ fields: ["n"], unique: true }];
    expect(messageOf(await send("PUT", `/collections/${name}`, { fields: [old, n], indexes }))).toMatch(
      /"n" cannot be unique: 2 records have a value that another has too/,
    );
    expect(await items(name)).toEqual([{ old: "b" }, { old: "a" }]);
  });

  test("a stored field becomes required: its nulls are not filled", async () => {
    const name = await filled("a");
    await admin.request("POST", `/api/${name}`, { body: {} });
    const refused = await send("PUT", `/collections/${name}`, { fields: [{ ...old, required: true, default: "x" }] });
    expect(messageOf(refused)).toMatch(/"old" cannot be required: 1 record has no value/);
  });
});
