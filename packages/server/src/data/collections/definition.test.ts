import { expect, test } from "bun:test";
import { parseDefinition } from "./index.ts";

const title = { name: "title", type: "string" };

function withField(field: unknown): object {
  return { name: "posts", fields: [field] };
}

const refused: [unknown, RegExp][] = [
  ["posts", /is a JSON object/],
  [[], /is a JSON object/],
  [{}, /"name".*"fields" must be an array/],
  [{ name: "posts" }, /"fields" must be an array/],
  [{ name: "auth", fields: [] }, /"auth" is a reserved collection name/],
  [{ name: "Batch", fields: [] }, /reserved/],
  [{ name: "_x", fields: [] }, /is not a collection name: a name starts with a letter/],
  [{ name: "a-b", fields: [] }, /is not a collection name/],
  [{ name: "x".repeat(64), fields: [] }, /at most 63/],
  [{ name: 'x"; DROP TABLE _users; --', fields: [] }, /is not a collection name/],
  [{ name: 5, fields: [] }, /a string/],
  [{ name: "posts", fields: {} }, /"fields" must be an array.*not \{\}/],
  [{ name: "posts", fields: [], permission: {} }, /unknown attribute "permission"; did you mean "permissions"/],
  [{ name: "posts", fields: [], permissions: [] }, /"permissions" must be an object/],
  [
    { name: "posts", fields: [], permissions: { list: "public" } },
    /unknown operation "list"; allowed: read, create, update, delete/,
  ],
  [
    { name: "posts", fields: [], permissions: { read: "everybody" } },
    /"read" must be public, authenticated, owner, admin or an expression, not "everybody"/,
  ],
  [withField("title"), /field 1 must be an object/],
  [withField({}), /field 1: a field needs a "name".*"type"/],
  [withField({ name: "title" }), /field "title": "type" is missing/],
  [withField({ name: "title", type: "varchar" }), /"type" must be string, text, integer/],
  [withField({ name: "ID", type: "string" }), /reserved field name/],
  [withField({ name: "createdAt", type: "string" }), /reserved field name/],
  [withField({ name: "_owner", type: "string" }), /is not a field name/],
  [withField({ ...title, requierd: true }), /unknown attribute "requierd"; did you mean "required"/],
  [withField({ ...title, requird: true }), /unknown attribute "requird"; did you mean "required"/],
  [withField({ ...title, onwer: true }), /unknown attribute "onwer"; did you mean "owner"/],
  [withField({ ...title, regexp: "x" }), /unknown attribute "regexp"; did you mean "regex"/],
  [withField({ ...title, Unique: true }), /unknown attribute "Unique"; did you mean "unique"/],
  [{ name: "posts", fields: [], permisions: {} }, /unknown attribute "permisions"; did you mean "permissions"/],
  [withField({ name: "x", type: "boolean", min: 2, max: 1 }), /"min" \(2\) is greater than "max" \(1\)/],
  [{ name: null, fields: [] }, /a string/],
  [{ name: "posts", fields: null }, /"fields" must be an array/],
  [withField({ name: "x", type: null }), /field "x": "type" is missing/],
  [withField({ ...title, required: "yes" }), /"required" must be true or false, not "yes"/],
  [withField(JSON.parse('{"__proto__":{"name":"a","type":"string"}}')), /field 1: a field needs a "name"/],
  [withField({ ...title, min: "1" }), /"min" must be a number/],
  [withField({ ...title, min: -1 }), /whole number from 0/],
  [withField({ ...title, max: 1.5 }), /whole number from 0/],
  [withField({ ...title, min: 5, max: 4 }), /"min" \(5\) is greater than "max" \(4\)/],
  [withField({ ...title, regex: "(" }), /"regex".*cannot be used/],
  [withField({ ...title, regex: "(?=x)" }), /no backreferences, no lookaround/],
  [withField({ ...title, regex: "(a)\\1" }), /cannot be used/],
  [withField({ ...title, regex: "(a{1000}){1000}" }), /cannot be used/],
  [withField({ ...title, collection: "posts" }), /"collection" means nothing on type string/],
  [withField({ ...title, owner: true }), /"owner" means nothing on type string/],
  // "anyTarget": false has an effect only on relations to collections.
  [withField({ ...title, anyTarget: false }), /"anyTarget" means nothing on type string/],
  [withField({ name: "x", type: "json", unique: true }), /"unique" means nothing on type json/],
  [withField({ name: "x", type: "relation" }), /a relation needs "collection"/],
  [withField({ name: "x", type: "relation", collection: "posts", owner: true }), /it is for a relation to "users"/],
  [{ name: "posts", fields: [title, title] }, /field "title" is defined twice/],
  [{ name: "posts", fields: [title, { name: "Title", type: "text" }] }, /differ only in case/],
  [
    {
      name: "posts",
      fields: ["a", "b"].map((name) => ({ name, type: "relation", collection: "users", owner: true })),
    },
    /only one field can carry "owner"/,
  ],
  [
    { name: "posts", fields: Array.from({ length: 501 }, (_, i) => ({ name: `f${i}`, type: "string" })) },
    /at most 500/,
  ],
];

test.each(refused)("%j is refused", async (input, message) => {
  const failure = await Promise.try(parseDefinition, input).catch((thrown: unknown) => thrown);
  expect(failure).toMatchObject({ code: "bad_request" });
  expect(String(failure)).toMatch(message);
});

test("all problems of a definition are reported at once", async () => {
  const failure = await Promise.try(parseDefinition, { name: "auth", fields: [{ name: "id", type: "x" }, 7] }).catch(
    String,
  );
  for (const part of ["auth", '"id" is a reserved', '"type" must be', "field 2"]) expect(failure).toContain(part);
});

test("null is an absent attribute or rule", async () => {
  const nulls = { required: null, min: null, max: null, regex: null, unique: null, default: null, collection: null };
  const input = {
    name: "posts",
    fields: [{ ...title, ...nulls, values: null, permissions: { read: "owner", update: null } }],
    permissions: { read: null, create: "owner", update: null, delete: null },
    indexes: [{ fields: ["title"], unique: null }],
    search: null,
    renamedFrom: null,
  };
  expect(parseDefinition(input)).toEqual({
    converted: new Set(),
    definition: {
      name: "posts",
      fields: [{ ...title, permissions: { read: "owner" } }],
      permissions: { create: "owner" },
      indexes: [{ fields: ["title"] }],
    },
    renamedFrom: new Map(),
    renamedValues: new Map(),
  } as never);
  const users = { name: "users", fields: [], permissions: { read: "public", update: null, create: null } };
  expect(parseDefinition(users).definition.permissions).toEqual({ read: "public", update: "owner" });
});

const ignored: readonly [object, RegExp][] = [
  [
    { name: "posts", fields: [title], description: "Posts" },
    /collection: unknown attribute "description" is ignored; known are name, /,
  ],
  [
    withField({ ...title, description: "The title", label: 1 }),
    /field "title": unknown attribute "label" is ignored; known are /,
  ],
  [withField({ ...title, id: "f1", note: "x", order: 1, kind: "y" }), /"id".*"note".*"order".*"kind"/],
  [withField({ ...title, min: 1, description: null }), /"description" is ignored/],
  [
    { name: "posts", fields: [title], indexes: [{ fields: ["title"], where: "x" }] },
    /index 1: unknown attribute "where"/,
  ],
  [JSON.parse('{"name":"posts","fields":[],"__proto__":{"search":["x"]}}'), /unknown attribute "__proto__" is ignored/],
  [
    withField(JSON.parse('{"name":"a","type":"string","__proto__":{"unique":true}}')),
    /field "a": unknown attribute "__proto__" is ignored/,
  ],
  [
    withField({ name: "x", type: "boolean", min: 1 }),
    /"min" means nothing on type boolean; it is for .*, and is ignored/,
  ],
  [withField({ name: "x", type: "datetime", max: 1 }), /"max" means nothing on type datetime/],
  [withField({ name: "x", type: "integer", regex: "(?=never compiled)" }), /"regex" means nothing on type integer/],
  [withField({ name: "x", type: "json", regex: "1", min: 1 }), /"min" means nothing.*"regex" means nothing/],
  [{ name: "users", fields: [{ name: "email", description: "x" }] }, /field "email": unknown attribute "description"/],
];

test.each(ignored)("%j: a part without effect is reported, and not stored", async (input, message) => {
  const { definition, warnings = [] } = parseDefinition(input);
  expect(warnings.join("; ")).toMatch(message);
  const stored = JSON.stringify(definition);
  for (const name of ["description", "label", '"min":1', '"max"', "regex", "where", "unique", "search", "note"])
    if (name !== '"min":1' || !JSON.stringify(input).includes('"description":null')) expect(stored).not.toContain(name);
  // A stored definition has no such part.
  expect(parseDefinition(definition).warnings).toBeUndefined();
});

test("a definition is stored as written", async () => {
  const input = {
    name: "constructor",
    fields: [
      { name: "toString", type: "string", required: true, min: 0, max: 5, regex: "^\\p{L}+$", unique: false },
      { name: "rowid", type: "float", min: -1.5 },
      { name: "select", type: "relation", collection: "constructor" },
    ],
    permissions: { read: "owner" },
  } as const;
  const { definition, renamedFrom } = parseDefinition(input);
  expect<unknown>(definition).toEqual(input);
  expect(renamedFrom.size).toBe(0);
});

test("renamedFrom is reported, but not stored", async () => {
  const { definition, renamedFrom } = parseDefinition({
    name: "p",
    fields: [
      { ...title, renamedFrom: "name" },
      { name: "b", type: "text", renamedFrom: null },
    ],
  });
  expect(definition.fields).toEqual([
    { name: "title", type: "string" },
    { name: "b", type: "text" },
  ]);
  expect([...renamedFrom]).toEqual([
    ["title", "name"],
    ["b", null],
  ]);
});

test("a view without a read rule is reported: its rows are public, whatever the rules of the collections", () => {
  const view = { name: "board", query: "SELECT id FROM posts" };
  expect(parseDefinition(view).warnings?.join()).toContain('a view without "read" shows its rows to everybody');
  for (const permissions of [{ read: "public" }, { read: "admin" }])
    expect(parseDefinition({ ...view, permissions }).warnings).toBeUndefined();
  expect(parseDefinition({ name: "posts", fields: [] }).warnings).toBeUndefined();
});
