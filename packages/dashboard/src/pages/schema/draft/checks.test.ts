/** Tests of the checks while typing. */
import { expect, test } from "bun:test";
import type { CollectionDefinition, FieldDefinition } from "@socle/protocol";
import { type Problem, problemsOf } from "./checks.ts";
import { draftOf } from "./draft.ts";
import { edited } from "./edits.ts";
import { blankDraft } from "./presets.ts";

const surroundings = { collections: ["authors", "posts"], isNew: true };

function problems(fields: FieldDefinition[], rest: Partial<CollectionDefinition> = {}): readonly Problem[] {
  return problemsOf(draftOf({ name: "things", fields, ...rest }, false), surroundings);
}

function parts(fields: FieldDefinition[], rest: Partial<CollectionDefinition> = {}): string[] {
  return problems(fields, rest).map(({ key, part }) => `${key ?? "-"} ${part}`);
}

test("a good definition has no problems", () => {
  expect(
    problems(
      [
        { name: "title", type: "string", min: 1, max: 10, regex: "^[^@]+@\\d{2}(?:a|b)\\\\1$" },
        { name: "price", type: "float", min: -1.5, max: -0.5 },
        { name: "self", type: "relation", collection: "things" },
        { name: "author", type: "relation", collection: "users", owner: true },
      ],
      { indexes: [["title", "createdAt"]] },
    ),
  ).toEqual([]);
});

test("multiple fields", () => {
  const tags: FieldDefinition = { name: "tags", type: "string", multiple: true };
  expect(problems([{ ...tags, min: 1, max: 1_000, default: ["a"], values: ["a", "b"] }])).toEqual([]);
  expect(parts([{ ...tags, max: 0 }])).toEqual(["#1 max"]);
  expect(parts([{ ...tags, max: 1_001 }])).toEqual(["#1 max"]);
  expect(parts([{ ...tags, min: 101 }])).toEqual(["#1 max"]);
  expect(parts([{ ...tags, min: 1.5 }])).toEqual(["#1 min"]);
  expect(parts([{ ...tags, default: [] }])).toEqual(["#1 default"]);
  expect(parts([{ ...tags, values: ["a"], default: ["b"] }])).toEqual(["#1 default"]);
  expect(parts([tags], { indexes: [["tags"]] })).toEqual(["#2 fields"]);
  expect(parts([tags], { search: ["tags"] })).toEqual(["- search"]);
});

test("places", () => {
  const place: FieldDefinition = { name: "place", type: "geo" };
  expect(problems([{ ...place, default: { lat: 1, lon: 2 } }], { indexes: [["place"]] })).toEqual([]);
  expect(parts([{ ...place, default: { lat: 91, lon: 2 } }])).toEqual(["#1 default"]);
  expect(parts([place], { indexes: [{ fields: ["place"], unique: true }] })).toEqual(["#2 fields"]);
});

test("searched fields", () => {
  const fields: FieldDefinition[] = [
    { name: "title", type: "string" },
    { name: "n", type: "integer" },
    ...Array.from({ length: 10 }, (_, i) => ({ name: `t${i}`, type: "text" as const })),
  ];
  const names = fields.slice(2).map(({ name }) => name);
  expect(problems(fields, { search: ["title", "t1"] })).toEqual([]);
  for (const search of [["n"], ["title", "title"], ["gone"], ["title", ...names]])
    expect(parts(fields, { search })).toEqual(["- search"]);
  const stored = draftOf({ name: "things", fields, search: ["title"] }, true);
  const dropped = problemsOf(edited(stored, { edit: "removeField", key: "#1" }), { ...surroundings, isNew: false });
  expect(dropped.map(({ part }) => part)).toEqual(["search"]);
});

test("names of collections", () => {
  const name = (value: string): number => problems([], { name: value }).length;
  expect(["", "1a", "a-b", "a".repeat(64), "Users", "posts", "POSTS", "openapi", "a b", "é"].map(name)).toEqual(
    Array.from({ length: 10 }, () => 1),
  );
  expect(["a", "A1_", "a".repeat(63), "postss"].map(name)).toEqual([0, 0, 0, 0]);
});

test("the name of a stored collection is not checked: the collection exists", () => {
  const draft = draftOf({ name: "posts", fields: [] }, true);
  expect(problemsOf(draft, { collections: ["posts"], isNew: false })).toEqual([]);
});

test("names of fields", () => {
  expect(parts([{ name: "ID", type: "string" }])).toEqual(["#1 name"]);
  expect(parts([{ name: "createdAt", type: "string" }])).toEqual(["#1 name"]);
  expect(parts([{ name: "a b", type: "string" }])).toEqual(["#1 name"]);
  expect(
    parts([
      { name: "Title", type: "string" },
      { name: "title", type: "string" },
    ]),
  ).toEqual(["#2 name"]);
});

test("bounds", () => {
  expect(parts([{ name: "a", type: "integer", min: 3, max: 2 }])).toEqual(["#1 max"]);
  expect(parts([{ name: "a", type: "string", min: -1 }])).toEqual(["#1 min"]);
  expect(parts([{ name: "a", type: "string", max: 1.5 }])).toEqual(["#1 max"]);
  // Bounds mean nothing for a boolean, and the change omits the bounds.
  expect(parts([{ name: "a", type: "boolean", min: 3, max: 2 }])).toEqual([]);
});

test("patterns", () => {
  const regex = (pattern: string): number => problems([{ name: "a", type: "string", regex: pattern }]).length;
  expect(["(", "(?=a)", "(?<!a)b", "(a)\\1", "(?<n>a)\\k<n>"].map(regex)).toEqual([1, 1, 1, 1, 1]);
  expect(["(?:a)", "(?<n>a)", "a\\\\1", "[=!]"].map(regex)).toEqual([0, 0, 0, 0]);
});

test("relations", () => {
  expect(parts([{ name: "a", type: "relation" }])).toEqual(["#1 collection"]);
  expect(parts([{ name: "a", type: "relation", collection: "nothing" }])).toEqual(["#1 collection"]);
  const owner = { type: "relation", collection: "users", owner: true } as const;
  expect(
    parts([
      { name: "a", ...owner },
      { name: "b", ...owner },
    ]),
  ).toEqual(["#2 owner"]);
});

test("indexes", () => {
  const fields: FieldDefinition[] = [
    { name: "a", type: "string" },
    { name: "j", type: "json" },
  ];
  const of = (...indexes: string[][]): number => problems(fields, { indexes }).length;
  expect([of([]), of(["j"]), of(["a", "a"]), of(["nothing"]), of(["a"], ["a"]), of(["id"])]).toEqual([
    1, 1, 1, 1, 1, 1,
  ]);
  expect(of(["a", "createdAt"], ["createdAt", "a"])).toBe(0);
});

test("a stored field keeps its type, and a dropped field its name until the change is applied", () => {
  const stored = draftOf({ name: "things", fields: [{ name: "a", type: "string" }] }, true);
  const retyped = edited(stored, { edit: "changeField", key: "#1", patch: { type: "integer" } });
  expect(problemsOf(retyped, surroundings).map(({ part }) => part)).toEqual(["type"]);
  const dropped = edited(edited(stored, { edit: "removeField", key: "#1" }), { edit: "addField", type: "integer" });
  const reused = edited(dropped, { edit: "changeField", key: "#2", patch: { name: "a" } });
  expect(problemsOf(reused, surroundings).map(({ key, part }) => [key, part])).toEqual([["#2", "name"]]);
});

test("an index of a dropped field is a problem; an untouched row is no problem", () => {
  const stored = draftOf({ name: "things", fields: [{ name: "a", type: "string" }], indexes: [["a"]] }, true);
  expect(problemsOf(edited(stored, { edit: "removeField", key: "#1" }), surroundings)).toHaveLength(1);
  expect(problemsOf({ ...blankDraft(), name: "things" }, surroundings)).toEqual([]);
});
