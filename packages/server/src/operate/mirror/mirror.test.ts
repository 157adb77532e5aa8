/** The mirror: types, names, changes and definitions, over a real PostgreSQL. Each test compares the mirror with the records of the service. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { SQL } from "bun";
import { type MirrorWorld, mirrorWorlds } from "../../../test/mirror-world.ts";

const { engine, raw, open: openMirrorWorld } = await mirrorWorlds();
const open = { read: "public", create: "public", update: "public", delete: "public" } as const;

async function collection(world: MirrorWorld, name: string, fields: readonly object[]): Promise<void> {
  await world.send("POST", "/api/admin/collections", { name, fields, permissions: open });
}

/** The types of the columns of a table, by name. */
async function columns({ schema }: MirrorWorld, table: string): Promise<Record<string, string>> {
  const rows = await raw`SELECT column_name AS name, udt_name AS type FROM information_schema.columns
    WHERE table_schema = ${schema} AND table_name = ${table}`;
  return Object.fromEntries(rows.map(({ name, type }: { name: string; type: string }) => [name, type]));
}

test("each field has the column of the type, with the value of the record", async () => {
  const world = await openMirrorWorld();
  await collection(world, "things", [
    { name: "text1", type: "string" },
    { name: "long", type: "text" },
    { name: "n", type: "integer" },
    { name: "f", type: "float" },
    { name: "is", type: "boolean" },
    { name: "at", type: "datetime" },
    { name: "data", type: "json" },
    { name: "many", type: "string", multiple: true },
    { name: "other", type: "relation", collection: "things" },
    { name: "picked", type: "string", values: ["b", "a"] },
  ]);
  const hard = "quote \" apostrophe ' backslash \\ \\u0000 line\nend \u{1f600} \u0001 $1 %I";
  const first = await world.send("POST", "/api/things", {
    text1: hard,
    long: "",
    n: Number.MAX_SAFE_INTEGER,
    f: 0.1 + 0.2,
    is: true,
    at: "2026-03-01T09:30:00.123Z",
    data: { a: [1, null, "x\u0000y\\u0000"], 'b"': 1.5e300, [hard]: hard },
    many: ["b", "a", 'c,"{}'],
    picked: "b",
  });
  const second = await world.send("POST", "/api/things", {
    n: -1,
    f: 5e-324,
    is: false,
    at: "0000-02-29T00:00:00Z",
    data: "text",
    other: first["id"],
  });
  const third = await world.send("POST", "/api/things", { f: 1.7976931348623157e308, at: "9999-12-31T23:59:59.999Z" });
  await world.expectWhole();
  expect(await columns(world, "things")).toEqual({
    id: "text",
    createdAt: "timestamptz",
    updatedAt: "timestamptz",
    _owner: "text",
    text1: "text",
    long: "text",
    n: "int8",
    f: "float8",
    is: "bool",
    at: "timestamptz",
    data: "jsonb",
    many: "_text",
    other: "text",
    picked: "text",
  });
  const rows = await raw.unsafe(
    `SELECT *, n::text AS n, at::text AS at, data::text AS data, to_json(many) AS many FROM "${world.schema}".things ORDER BY "createdAt", id`,
  );
  const byId = new Map(rows.map((row: { id: string }) => [row.id, row]));
  expect(byId.get(String(first["id"]))).toMatchObject({
    text1: hard,
    long: "",
    n: String(Number.MAX_SAFE_INTEGER),
    f: 0.1 + 0.2,
    is: true,
    at: "2026-03-01 09:30:00.123+00",
    many: ["b", "a", 'c,"{}'],
    other: null,
    picked: "b",
  });
  const data: { data: string } = Object(byId.get(String(first["id"])));
  expect(JSON.parse(data.data)).toEqual({ a: [1, null, "x\ufffdy\\u0000"], 'b"': 1.5e300, [hard]: hard });
  expect(byId.get(String(second["id"]))).toMatchObject({
    ...{ text1: null, n: "-1", f: 5e-324, is: false, at: "0001-02-29 00:00:00+00 BC", data: '"text"' },
    ...{ many: [], other: first["id"], picked: null },
  });
  expect(byId.get(String(third["id"]))).toMatchObject({
    ...{ n: null, is: null, data: null, f: 1.7976931348623157e308, at: "9999-12-31 23:59:59.999+00" },
  });
});

test("names that mean something in SQL are columns and tables, and a wide definition fits", async () => {
  const world = await openMirrorWorld();
  const words = ["select", "User", "table", "xmin", "ctid", "rowid", "oid", "order", "r", "excluded", "x".repeat(63)];
  await collection(
    world,
    "Order",
    words.map((name) => ({ name, type: "string" })),
  );
  const wide = Array.from({ length: 500 }, (_, i) => ({ name: `f${i}`, type: i % 2 === 0 ? "integer" : "string" }));
  await collection(world, "y".repeat(63), wide);
  const { id } = await world.send("POST", "/api/Order", Object.fromEntries(words.map((name, i) => [name, `v${i}`])));
  await world.send("POST", `/api/${"y".repeat(63)}`, { f0: 1, f99: "a", f100: 2, f499: "z" });
  await world.expectWhole();
  const [row] = await world.rows("Order");
  const expected = words.map((name, i) => [name === "xmin" || name === "ctid" ? `_field_${name}` : name, `v${i}`]);
  expect(row).toMatchObject({ id, ...Object.fromEntries(expected) });
  expect(await world.rows("y".repeat(63))).toMatchObject([{ f0: "1", f99: "a", f100: "2", f499: "z", f1: null }]);
});

test("users are in the mirror without secrets, with and without a definition", async () => {
  const world = await openMirrorWorld();
  const { user } = await world.api.register("ada@example.com");
  await world.expectWhole();
  expect(Object.keys(await columns(world, "users")).toSorted()).toEqual(
    ["_owner", "createdAt", "email", "id", "role", "updatedAt", "verified"].toSorted(),
  );
  const ada = async (): Promise<unknown> => (await world.rows("users")).find(({ id }) => id === user.id);
  expect(await ada()).toMatchObject({ email: "ada@example.com", role: "authenticated", verified: false });
  await world.send("PATCH", `/api/admin/users/${user.id}`, { role: "admin" });
  await world.expectWhole();
  expect(await ada()).toMatchObject({ role: "admin" });
  await world.send("PUT", "/api/admin/collections/users", { fields: [{ name: "nick", type: "string" }] });
  await world.expectWhole();
  await world.send("PUT", `/api/users/${user.id}`, { nick: "Ada" });
  await world.expectWhole();
  expect(await ada()).toMatchObject({ role: "admin", nick: "Ada" });
  await world.send("DELETE", `/api/admin/users/${user.id}`);
  await world.expectWhole();
  expect(await ada()).toBeUndefined();
  expect(JSON.stringify(await world.rows("users"))).not.toContain("argon");
});

test("changes, deletions, cascades and batches are in the mirror, and a refused write is not", async () => {
  const world = await openMirrorWorld();
  await collection(world, "parents", [{ name: "n", type: "integer", unique: true }]);
  await collection(world, "children", [
    { name: "parent", type: "relation", collection: "parents", onDelete: "cascade" },
    { name: "friend", type: "relation", collection: "parents", onDelete: "clear" },
  ]);
  const one = await world.send("POST", "/api/parents", { n: 1 });
  const two = await world.send("POST", "/api/parents", { n: 2 });
  const child = await world.send("POST", "/api/children", { parent: one["id"], friend: two["id"] });
  const kept = await world.send("POST", "/api/children", { parent: two["id"], friend: one["id"] });
  const operations = Array.from({ length: 100 }, (_, i) => ({
    method: "create",
    collection: "parents",
    body: { n: 100 + i },
  }));
  await world.send("POST", "/api/batch", { operations });
  await world.expectWhole();
  expect(await world.rows("children")).toHaveLength(2);
  await expect(world.send("POST", "/api/parents", { n: 1 })).rejects.toThrow("400");
  await world.send("PUT", `/api/parents/${two["id"]}`, { n: 22 });
  await world.send("DELETE", `/api/parents/${one["id"]}`);
  await world.expectWhole();
  expect(await world.rows("children")).toMatchObject([{ id: kept["id"], parent: two["id"], friend: null }]);
  const parents = await world.rows("parents");
  expect(parents).toHaveLength(101);
  expect(parents.map(({ n }) => Number(n))).toContain(22);
  expect(JSON.stringify(parents)).not.toContain(String(one["id"]));
  expect(JSON.stringify(await world.rows("children"))).not.toContain(String(child["id"]));
});

test("changes of definitions change the tables, and records of a dropped collection are removed", async () => {
  const world = await openMirrorWorld();
  const put = (name: string, definition: object) => world.send("PUT", `/api/admin/collections/${name}`, definition);
  await collection(world, "a", [
    { name: "x", type: "integer" },
    { name: "kind", type: "string", values: ["old", "other"] },
  ]);
  await world.send("POST", "/api/a", { x: 1, kind: "old" });
  await world.expectWhole();
  const kind = { name: "kind", type: "string", values: [{ name: "new", renamedFrom: "old" }, "other"] };
  const x = { name: "x", type: "float", convertedFrom: "integer" };
  await put("a", { fields: [x, kind, { name: "y", type: "string", default: "d" }] });
  await world.expectWhole();
  expect(await columns(world, "a")).toMatchObject({ x: "float8", y: "text" });
  expect(await world.rows("a")).toMatchObject([{ x: 1, kind: "new", y: null }]);
  await put("a", {
    name: "b",
    renamedFrom: "a",
    fields: [
      { name: "z", type: "float", renamedFrom: "x" },
      { name: "kind", type: "string", values: ["new", "other"] },
    ],
  });
  await world.expectWhole();
  expect(Object.keys(await columns(world, "b"))).not.toContain("x");
  expect(Object.keys(await columns(world, "b"))).not.toContain("y");
  expect(await world.rows("b")).toMatchObject([{ z: 1, kind: "new" }]);
  const table = await world.tableId("b");
  await put("b", { permissions: { read: "admin" } });
  await world.expectWhole();
  // The rules are no part of the mirror.
  expect(await world.tableId("b")).toBe(table);
  const values = [{ name: "newest", renamedFrom: "new" }, "other"];
  await put("b", {
    fields: [
      { name: "z", type: "float" },
      { name: "kind", type: "string", values },
    ],
  });
  await world.expectWhole();
  expect(await world.rows("b")).toMatchObject([{ z: 1, kind: "newest" }]);
  await world.send("DELETE", "/api/admin/collections/b?dropData=true");
  await collection(world, "b", [{ name: "z", type: "float" }]);
  await world.expectWhole();
  expect(await world.rows("b")).toEqual([]);
});

test("the role of docs/cluster.md reads all tables, also later ones, and writes nothing", async () => {
  const world = await openMirrorWorld();
  await collection(world, "a", [{ name: "x", type: "integer" }]);
  await world.send("POST", "/api/a", { x: 1 });
  await world.expectWhole();
  const page = await Bun.file(join(import.meta.dir, "../../../../../docs/cluster.md")).text();
  const [, statements = ""] = /```sql\n([^`]*CREATE ROLE[^`]*)```/.exec(page) ?? [];
  await raw.unsafe(statements.replaceAll("socle_shop", world.schema));
  const url = `postgres://reports:${encodeURIComponent("change me")}@127.0.0.1:${engine.port}/postgres`;
  await using reports = new SQL(url, { max: 1 });
  const name = `"${world.schema}"`;
  expect([...(await reports.unsafe(`SELECT x FROM ${name}.a`))]).toMatchObject([{ x: "1" }]);
  await world.send("PUT", "/api/admin/collections/a", {
    fields: [
      { name: "x", type: "integer" },
      { name: "y", type: "integer" },
    ],
  });
  await collection(world, "b", []);
  await world.expectWhole();
  expect([...(await reports.unsafe(`SELECT x, y FROM ${name}.a`))]).toMatchObject([{ x: "1", y: null }]);
  expect([...(await reports.unsafe(`SELECT id FROM ${name}.b`))]).toEqual([]);
  expect([...(await reports.unsafe(`SELECT state FROM ${name}._mirror`))]).toMatchObject([{ state: "whole" }]);
  for (const statement of [
    `INSERT INTO ${name}.a (id) VALUES ('r')`,
    `UPDATE ${name}._mirror SET state = 'stopped'`,
    `DROP TABLE ${name}.a`,
    `CREATE TABLE ${name}.c (id text)`,
    "SELECT * FROM socle_journal",
  ])
    await expect(reports.unsafe(statement)).rejects.toThrow(/permission denied|must be owner/);
});
