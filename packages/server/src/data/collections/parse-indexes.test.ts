import { expect, test } from "bun:test";
import { parseDefinition } from "./index.ts";

const fields = [
  { name: "author", type: "relation", collection: "users", owner: true },
  { name: "slug", type: "string", unique: true },
  { name: "data", type: "json" },
  { name: "count", type: "integer" },
];

const withIndexes = (indexes: unknown): object => ({ name: "posts", fields, indexes });

const refused: [unknown, string][] = [
  [{}, '"indexes" must be an array of indexes, not {}'],
  ["slug", '"indexes" must be an array of indexes, not "slug"'],
  [["slug"], 'index 1 must be an array of names of fields, or an object with "fields", not "slug"'],
  [[["slug"], 5], "index 2 must be an array of names of fields"],
  [[null], "index 1 must be an array of names of fields"],
  [[[]], "index 1: 1 to 8 fields are allowed, not 0"],
  [[{ fields: [] }], "index 1: 1 to 8 fields are allowed, not 0"],
  [[Array.from({ length: 9 }, (_, i) => `f${i}`)], "index 1: 1 to 8 fields are allowed, not 9"],
  [[["slug", 5]], "index 1: a field is named by a string, not 5"],
  [[["slug", ["count"]]], 'index 1: a field is named by a string, not ["count"]'],
  [[["auther", "createdAt"]], 'index 1: there is no field "auther"; did you mean "author"?'],
  [[["Slug"]], 'index 1: there is no field "Slug"; did you mean "slug"?'],
  [[["created"]], 'index 1: there is no field "created"; did you mean "createdAt"?'],
  [[["something"]], 'index 1: there is no field "something"; allowed: those of the collection, createdAt, updatedAt'],
  [[["_owner"]], 'index 1: there is no field "_owner"'],
  [[["__proto__"]], 'index 1: there is no field "__proto__"'],
  [[["id"]], 'index 1: "id" is indexed already'],
  [[["count", "slug", "count"]], 'index 1: field "count" is named twice'],
  [[["data"]], 'index 1: field "data" is json, which cannot be indexed'],
  [[["count"], ["slug", "count"], { fields: ["count"], unique: true }], "index 3 has the same fields as index 1"],
  [
    [
      ["author", "slug"],
      ["author", "slug"],
    ],
    "index 2 has the same fields as index 1",
  ],
  [[{}], 'index 1: "fields" is missing; it must be an array of names of fields'],
  [[{ fields: "slug" }], 'index 1: "fields" must be an array of names of fields, not "slug"'],
  [[{ fields: ["slug"], unique: 1 }], 'index 1: "unique" must be true or false, not 1'],
  [[{ fields: ["slug"], uniqe: true }], 'index 1: unknown attribute "uniqe"; did you mean "unique"?'],
  [Array.from({ length: 21 }, () => ["slug"]), "21 indexes are too many; at most 20 are allowed"],
];

test.each(refused)("%j is refused", async (indexes, message) => {
  const failure = await Promise.try(parseDefinition, withIndexes(indexes)).catch((thrown: unknown) => thrown);
  expect(failure).toMatchObject({ code: "bad_request" });
  expect(String(failure)).toContain(message);
});

test("all problems of indexes are reported at once, and nothing twice", async () => {
  const wrong = { name: "posts", fields: [{ name: "a", type: "strin" }], indexes: [["a"], ["b"], { fields: [1] }] };
  const failure = await Promise.try(parseDefinition, wrong).catch(String);
  for (const part of ['field "a": "type"', 'index 2: there is no field "b"', "index 3: a field is named by"])
    expect(failure).toContain(part);
  expect(failure).not.toContain("index 1");
  const noFields = await Promise.try(parseDefinition, { name: "posts", indexes: [["a"], []] }).catch(String);
  expect(noFields).toContain("index 2: 1 to 8 fields");
  expect(noFields).not.toContain("no field");
});

test("indexes are stored as written", async () => {
  const indexes = [
    ["author", "createdAt"],
    ["createdAt", "author"],
    ["slug"],
    { fields: ["author", "slug"], unique: true },
    { fields: ["updatedAt"], unique: false },
    { fields: ["count"] },
  ];
  const { definition } = parseDefinition(withIndexes(indexes));
  expect<unknown>(definition).toEqual({ name: "posts", fields, indexes });
});

test.each([[[]], [null], [undefined]])("%j is no index", async (indexes) => {
  const { definition } = parseDefinition(withIndexes(indexes));
  expect(Object.keys(definition)).toEqual(["name", "fields"]);
});
