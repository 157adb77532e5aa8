/** Tests of the application of JSON to the form. */
import { expect, test } from "bun:test";
import type { CollectionDefinition, JsonValue } from "@socle/protocol";
import { changeOf } from "../draft/change.ts";
import { definitionOf, draftOf } from "../draft/draft.ts";
import { blankDraft } from "../draft/presets.ts";
import { readDefinition, withDefinition } from "./definition.ts";

const posts: CollectionDefinition = {
  name: "posts",
  fields: [
    { name: "title", type: "string", required: true },
    { name: "slug", type: "string" },
    { name: "views", type: "integer" },
  ],
  permissions: { read: "public" },
  indexes: [["slug"]],
};

function paths(value: JsonValue): string[] {
  return readDefinition(value).mistakes.map(({ path }) => path.join("."));
}

function applied(definition: object, draft = draftOf(posts, true)): ReturnType<typeof draftOf> {
  const reading = readDefinition(JSON.parse(JSON.stringify(definition)));
  if (reading.definition === null) throw new Error(JSON.stringify(reading.mistakes));
  return withDefinition(draft, reading.definition);
}

test("mistakes of shape have their place", () => {
  expect(paths([])).toEqual([""]);
  expect(paths({ name: 1, fields: {} })).toEqual(["name", "fields"]);
  expect(paths({ name: "a", fields: [{ name: "x", type: "number" }, 3, { type: "string", min: "1" }] })).toEqual([
    "fields.0.type",
    "fields.1",
    "fields.2",
    "fields.2.min",
  ]);
  expect(paths({ name: "a", fields: [], permissions: { read: 5, run: "admin" } })).toEqual([
    "permissions.read",
    "permissions.run",
  ]);
  expect(paths({ name: "a", fields: [], indexes: [["a"], { unique: true }, [1]] })).toEqual(["indexes.1", "indexes.2"]);
  expect(paths({ name: "a", fields: [], colour: "red" })).toEqual(["colour"]);
  expect(paths({ name: "a", fields: [], search: "title" })).toEqual(["search"]);
  expect(paths({ name: "a", fields: [], search: ["title", 1] })).toEqual(["search"]);
});

test("a rule may be an expression, and no other value than a text", () => {
  expect(paths({ name: "a", fields: [], permissions: { read: "x = @user.id" } })).toEqual([]);
  expect(paths({ name: "a", fields: [], permissions: { read: "" } })).toEqual(["permissions.read"]);
  expect(paths({ name: "a", fields: [], permissions: { read: 5 } })).toEqual(["permissions.read"]);
});

test("the same text changes nothing", () => {
  expect(changeOf(applied(posts), posts)).toBeNull();
});

test("a name that is typed over is a rename, letter by letter", () => {
  const [title, ...rest] = posts.fields;
  let draft = draftOf(posts, true);
  for (const name of ["titl", "tit", "headline"])
    draft = applied({ ...posts, fields: [{ ...title, name }, ...rest] }, draft);
  expect(changeOf(draft, posts)?.fields?.[0]).toEqual({
    name: "headline",
    type: "string",
    required: true,
    renamedFrom: "title",
  });
});

test("renamedFrom in the text is read, and null forbids to guess", () => {
  const renamed = applied({
    ...posts,
    fields: [...posts.fields.slice(1), { name: "t", type: "string", renamedFrom: "title" }],
  });
  expect(changeOf(renamed, posts)?.fields?.at(-1)).toMatchObject({ name: "t", renamedFrom: "title" });
  const fresh = applied({
    ...posts,
    fields: [...posts.fields.slice(1), { name: "t", type: "string", renamedFrom: null }],
  });
  expect(changeOf(fresh, posts)?.fields?.at(-1)).toMatchObject({ name: "t", renamedFrom: null });
  expect(fresh.fields.find(({ name }) => name === "title")?.isDropped).toBe(true);
});

test("a renamed value in the text is read, and the form shows plain values", () => {
  const stored: CollectionDefinition = { name: "tasks", fields: [{ name: "s", type: "string", values: ["wip"] }] };
  const written = {
    ...stored,
    fields: [{ name: "s", type: "string", values: [{ name: "doing", renamedFrom: "wip" }] }],
  };
  const draft = applied(written, draftOf(stored, true));
  expect(changeOf(draft, stored)?.fields).toMatchObject([{ values: [{ name: "doing", renamedFrom: "wip" }] }]);
  expect(definitionOf(draft).fields).toMatchObject([{ values: ["doing"] }]);
});

test("a field that is cut is dropped, and a field that is pasted back is restored", () => {
  const cut = applied({ ...posts, fields: posts.fields.slice(1), indexes: [["slug"]] });
  expect(cut.fields.map(({ name, isDropped }) => [name, isDropped])).toEqual([
    ["title", true],
    ["slug", false],
    ["views", false],
  ]);
  expect(changeOf(applied(posts, cut), posts)).toBeNull();
});

test("indexes keep to their fields", () => {
  const draft = applied({ ...posts, indexes: [["views", "createdAt"], ["nothing"]] });
  expect(draft.indexes.map(({ refs }) => refs)).toEqual([["#3", "createdAt"], ["nothing"]]);
});

test("the text names the searched fields", () => {
  const draft = applied({ ...posts, search: ["slug"] });
  expect(draft.search).toEqual(["#2"]);
  expect(changeOf(draft, posts)).toEqual({ search: ["slug"] });
  expect(applied(posts, draft).search).toEqual([]);
});

test("a new collection takes any definition, and the row to type into is removed", () => {
  const draft = applied(posts, blankDraft());
  expect(definitionOf(draft)).toEqual(posts);
  expect(draft.fields.every(({ stored }) => stored === null)).toBe(true);
});
