/** Tests of the draft: definition → form → definition and the body of a change. */
import { expect, test } from "bun:test";
import type { CollectionDefinition, FieldDefinition } from "@socle/protocol";
import { changeOf, isSameDefinition, rebased } from "./change.ts";
import { definitionOf, draftOf, type SchemaDraft } from "./draft.ts";
import { type Edit, edited, moved } from "./edits.ts";
import { blankDraft, copyDraft, presetDraft, presetNames } from "./presets.ts";

const posts: CollectionDefinition = {
  name: "posts",
  fields: [
    { name: "title", type: "string", required: true, max: 200 },
    { name: "slug", type: "string", unique: true, regex: "^[a-z]+$" },
    { name: "author", type: "relation", collection: "users", owner: true },
    { name: "views", type: "integer", min: 0 },
  ],
  permissions: { read: "public", create: "authenticated" },
  indexes: [["slug", "createdAt"], { fields: ["author", "title"], unique: true }],
};

function after(...edits: Edit[]): SchemaDraft {
  return edits.reduce(edited, draftOf(posts, true));
}

function keyOf(draft: SchemaDraft, name: string): string {
  return draft.fields.find((field) => field.name === name)?.key ?? "";
}

const start = draftOf(posts, true);
const rename = (from: string, name: string): Edit => ({
  edit: "changeField",
  key: keyOf(start, from),
  patch: { name },
});

test("a definition returns from its draft", () => {
  expect(definitionOf(start)).toEqual(posts);
  expect(changeOf(start, posts)).toBeNull();
});

test("attributes and rules that the dashboard does not know return unchanged", () => {
  const field: FieldDefinition & { permissions: object } = {
    name: "salary",
    type: "float",
    permissions: { read: "admin" },
  };
  const later: CollectionDefinition = JSON.parse(
    JSON.stringify({ name: "staff", fields: [field], permissions: { read: "boss = @user.id" } }),
  );
  expect(definitionOf(draftOf(later, true))).toEqual(later);
  const draft = edited(draftOf(later, true), { edit: "rule", operation: "create", rule: "admin" });
  expect(JSON.stringify(changeOf(draft, later))).toBe(
    JSON.stringify({ permissions: { read: "boss = @user.id", create: "admin" } }),
  );
});

test("searched fields follow a rename, and a change of the search sends only the search", () => {
  const searched: CollectionDefinition = { ...posts, search: ["title", "slug"] };
  const draft = draftOf(searched, true);
  expect(definitionOf(draft)).toEqual(searched);
  const [title, slug] = [keyOf(draft, "title"), keyOf(draft, "slug")];
  expect(draft.search).toEqual([title, slug]);
  expect(changeOf(edited(draft, { edit: "search", refs: [slug] }), searched)).toEqual({ search: ["slug"] });
  expect(changeOf(edited(draft, { edit: "search", refs: [] }), searched)).toEqual({ search: null });
  const renamed = edited(draft, { edit: "changeField", key: title, patch: { name: "headline" } });
  expect(changeOf(renamed, searched)?.search).toEqual(["headline", "slug"]);
});

test("the search of other users is kept without a change here", () => {
  const searched: CollectionDefinition = { ...posts, search: ["slug"] };
  expect(definitionOf(rebased(start, posts, searched)).search).toEqual(["slug"]);
  const own = after({ edit: "search", refs: [keyOf(start, "title")] });
  expect(definitionOf(rebased(own, posts, searched)).search).toEqual(["title"]);
});

test("a new field that is removed is searched no more", () => {
  const draft = after(
    { edit: "addField", type: "text" },
    { edit: "search", refs: ["#7"] },
    { edit: "removeField", key: "#7" },
  );
  expect(draft.search).toEqual([]);
});

test("a multiple field keeps its bounds and its default, and loses both when the field becomes single", () => {
  const tickets: CollectionDefinition = {
    name: "tickets",
    fields: [
      { name: "tags", type: "string", multiple: true, min: 1, max: 5, regex: "^[a-z]+$", default: ["new"] },
      { name: "areas", type: "string", multiple: true, values: ["api", "ui"], max: 2 },
      { name: "team", type: "relation", collection: "users", multiple: true, default: ["@user.id"], onDelete: "clear" },
      { name: "files", type: "file", multiple: true },
    ],
  };
  const draft = draftOf(tickets, true);
  expect(definitionOf(draft)).toEqual(tickets);
  const single = edited(draft, { edit: "changeField", key: "#1", patch: { isMultiple: false } });
  expect(definitionOf(single).fields[0]).toEqual({ name: "tags", type: "string", regex: "^[a-z]+$" });
  const retyped = edited(after({ edit: "addField", type: "integer" }), {
    edit: "changeField",
    key: "#7",
    patch: { name: "n", isMultiple: true },
  });
  expect(definitionOf(retyped).fields.at(-1)).toEqual({ name: "n", type: "integer" });
});

test("a renamed field names its old name, a new field is marked as new", () => {
  const draft = after(rename("title", "headline"), { edit: "addField", type: "text" });
  const named = edited(draft, { edit: "changeField", key: "#7", patch: { name: "body" } });
  expect(changeOf(named, posts)?.fields).toEqual([
    { name: "headline", type: "string", required: true, max: 200, renamedFrom: "title" },
    { name: "slug", type: "string", unique: true, regex: "^[a-z]+$" },
    { name: "author", type: "relation", collection: "users", owner: true },
    { name: "views", type: "integer", min: 0 },
    { name: "body", type: "text", renamedFrom: null },
  ]);
});

test("indexes follow a renamed field", () => {
  expect(changeOf(after(rename("title", "headline")), posts)?.indexes).toEqual([
    ["slug", "createdAt"],
    { fields: ["author", "headline"], unique: true },
  ]);
});

test("two fields that swap their names are two renames", () => {
  const change = changeOf(after(rename("title", "slug"), rename("slug", "title")), posts);
  expect(change?.fields?.map(({ name, renamedFrom }) => [name, renamedFrom])).toEqual([
    ["slug", "title"],
    ["title", "slug"],
    ["author", undefined],
    ["views", undefined],
  ]);
});

test("a renamed value names its old name while the old name is absent and the new name is new", () => {
  const status = { name: "status", type: "string", values: ["todo", "wip"] } as const;
  const stored: CollectionDefinition = { name: "tasks", fields: [{ ...status, values: [...status.values] }] };
  const valuesAfter = (values: string, renamedValues: { readonly [value: string]: string }) => {
    const patch = { values, renamedValues };
    const draft = edited(draftOf(stored, true), { edit: "changeField", key: "#1", patch });
    return changeOf(draft, stored)?.fields?.[0]?.values;
  };
  expect(valuesAfter("todo\ndoing", { doing: "wip" })).toEqual(["todo", { name: "doing", renamedFrom: "wip" }]);
  expect(valuesAfter("todo\nwip\ndoing", { doing: "wip" })).toEqual(["todo", "wip", "doing"]);
  expect(valuesAfter("wip\ntodo", { todo: "wip" })).toEqual(["wip", "todo"]);
});

test("a dropped field is left out, and returns whole", () => {
  const dropped = after({ edit: "removeField", key: keyOf(start, "views") });
  expect(changeOf(dropped, posts)?.fields?.map(({ name }) => name)).toEqual(["title", "slug", "author"]);
  expect(changeOf(edited(dropped, { edit: "restoreField", key: keyOf(start, "views") }), posts)).toBeNull();
});

test("a dropped and a new field of a type are never a rename", () => {
  const draft = after(
    { edit: "removeField", key: keyOf(start, "views") },
    { edit: "addField", type: "integer" },
    { edit: "changeField", key: "#7", patch: { name: "likes" } },
  );
  expect(changeOf(draft, posts)?.fields?.at(-1)).toEqual({ name: "likes", type: "integer", renamedFrom: null });
});

test("a new field that is removed leaves no trace, not in an index either", () => {
  const draft = after(
    { edit: "addField", type: "string" },
    { edit: "changeField", key: "#7", patch: { name: "x" } },
    { edit: "addIndex" },
    { edit: "changeIndex", key: "#8", refs: ["#7"] },
    { edit: "removeField", key: "#7" },
  );
  expect(draft.indexes.at(-1)?.refs).toEqual([]);
  expect(changeOf(draft, posts)).toBeNull();
});

test("another order is a change of fields only", () => {
  const draft = after({ edit: "moveField", key: keyOf(start, "views"), over: keyOf(start, "title") });
  const change = changeOf(draft, posts);
  expect(Object.keys(change ?? {})).toEqual(["fields"]);
  expect(change?.fields?.map(({ name }) => name)).toEqual(["views", "title", "slug", "author"]);
});

test("only the parts that differ are sent, and null clears", () => {
  const rule = after({ edit: "rule", operation: "delete", rule: "admin" });
  expect(changeOf(rule, posts)).toEqual({
    permissions: { read: "public", create: "authenticated", delete: "admin" },
  });
  const bare = after(
    { edit: "rule", operation: "read", rule: null },
    { edit: "rule", operation: "create", rule: null },
    { edit: "removeIndex", key: "#5" },
    { edit: "removeIndex", key: "#6" },
  );
  expect(changeOf(bare, posts)).toEqual({ permissions: null, indexes: null });
});

test("rules that mean nothing for a type are kept in the form and not sent", () => {
  const typed = { name: "code", regex: "x", min: "1", isUnique: true } as const;
  const draft = after({ edit: "addField", type: "string" }, { edit: "changeField", key: "#7", patch: typed });
  const json = edited(draft, { edit: "changeField", key: "#7", patch: { type: "json" } });
  expect(definitionOf(json).fields.at(-1)).toEqual({ name: "code", type: "json" });
  const back = edited(json, { edit: "changeField", key: "#7", patch: { type: "string" } });
  expect(definitionOf(back).fields.at(-1)).toEqual({
    name: "code",
    type: "string",
    unique: true,
    min: 1,
    regex: "x",
  });
});

test("an untouched row is no field; a row with options is", () => {
  expect(definitionOf(blankDraft()).fields).toEqual([]);
  const draft = edited(blankDraft(), { edit: "changeField", key: "#1", patch: { isRequired: true } });
  expect(definitionOf(draft).fields).toHaveLength(1);
});

test("a text that is no number is not sent", () => {
  const draft = after({ edit: "changeField", key: keyOf(start, "views"), patch: { min: "abc" } });
  expect(definitionOf(draft).fields.at(-1)).toEqual({ name: "views", type: "integer" });
});

test("presets are complete, and a typed name stays", () => {
  for (const name of presetNames) expect(presetDraft(name, "mine").name).toBe("mine");
  expect(presetDraft("tasks", "").name).toBe("tasks");
  expect(presetDraft("posts", "").fields.every(({ stored }) => stored === null)).toBe(true);
});

test("a copy has a name that is free, and fields that are new", () => {
  const copy = copyDraft(posts, ["posts", "Posts_Copy"]);
  expect(copy.name).toBe("posts_copy2");
  expect(copy.fields.every(({ stored }) => stored === null)).toBe(true);
  expect(copyDraft({ ...posts, name: "a".repeat(63) }, []).name.length).toBeLessThanOrEqual(63);
});

test("two spellings of an index are a single definition", () => {
  expect(
    isSameDefinition(posts, { ...posts, indexes: [{ fields: ["slug", "createdAt"] }, posts.indexes?.[1] ?? []] }),
  ).toBe(true);
  expect(isSameDefinition(posts, { ...posts, fields: posts.fields.slice(1) })).toBe(false);
});

test("moving keeps every item", () => {
  expect(moved(["a", "b", "c"], 0, 2)).toEqual(["b", "c", "a"]);
  expect(moved(["a", "b", "c"], 2, 0)).toEqual(["c", "a", "b"]);
  expect(moved(["a"], 3, 0)).toEqual(["a"]);
  expect(moved(["a", "b"], 0, -1)).toEqual(["a", "b"]);
});

test("my changes stay upon the changes of another user, which are not undone", () => {
  const now: CollectionDefinition = {
    ...posts,
    fields: [
      { name: "title", type: "string", max: 300 },
      { name: "slug", type: "string", unique: true, regex: "^[a-z-]+$" },
      { name: "author", type: "relation", collection: "users", owner: true },
      { name: "subtitle", type: "string" },
    ],
    permissions: { read: "admin" },
    indexes: [],
  };
  const mine = after(rename("title", "headline"), { edit: "rule", operation: "delete", rule: "admin" });
  const draft = rebased(mine, posts, now);
  expect(definitionOf(draft)).toEqual({
    name: "posts",
    fields: [
      { name: "headline", type: "string", required: true, max: 200 },
      { name: "slug", type: "string", unique: true, regex: "^[a-z-]+$" },
      { name: "author", type: "relation", collection: "users", owner: true },
      { name: "subtitle", type: "string" },
    ],
    permissions: { read: "public", create: "authenticated", delete: "admin" },
    indexes: [["slug", "createdAt"], { fields: ["author", "headline"], unique: true }],
  });
  const change = changeOf(draft, now);
  expect(change?.fields?.[0]).toMatchObject({ name: "headline", renamedFrom: "title" });
  expect(change?.fields?.at(-1)).toEqual({ name: "subtitle", type: "string" });
});

test("an untouched draft becomes the stored definition", () => {
  const now = { ...posts, fields: posts.fields.slice(0, 2), indexes: [["slug"]] };
  expect(definitionOf(rebased(start, posts, now))).toEqual(now);
});

test("values and defaults return unchanged, and a default is removed with its type", () => {
  const fields: FieldDefinition[] = [
    { name: "status", type: "string", values: ["todo", "done"], default: "todo" },
    { name: "empty", type: "text", default: "" },
    { name: "n", type: "integer", default: 5 },
    { name: "on", type: "boolean", default: false },
    { name: "at", type: "datetime", default: "@now" },
    { name: "meta", type: "json", default: { a: ["x"] } },
    { name: "text", type: "json", default: "x" },
    { name: "by", type: "relation", collection: "users", default: "@user.id" },
  ];
  const draft = draftOf({ name: "things", fields }, true);
  expect(definitionOf(draft).fields).toEqual(fields.map((field) => expect.objectContaining(field)));
  const other = edited(draft, { edit: "changeField", key: "#3", patch: { type: "boolean" } });
  expect(definitionOf(other).fields[2]).toEqual({ name: "n", type: "boolean" });
});

test("a sequence has no other rules, and follows the name of its scope", () => {
  const fields: FieldDefinition[] = [
    { name: "project", type: "relation", collection: "projects" },
    { name: "n", type: "integer", sequence: ["project"] },
    { name: "all", type: "integer", sequence: true },
  ];
  const draft = draftOf({ name: "issues", fields }, true);
  expect(definitionOf(draft).fields).toEqual(fields);
  const edits: Edit[] = [
    { edit: "changeField", key: "#1", patch: { name: "board" } },
    { edit: "changeField", key: "#2", patch: { isRequired: true, isUnique: true, min: "5" } },
  ];
  expect(definitionOf(edits.reduce(edited, draft)).fields).toEqual([
    { name: "board", type: "relation", collection: "projects" },
    { name: "n", type: "integer", sequence: ["board"] },
    { name: "all", type: "integer", sequence: true },
  ]);
});
