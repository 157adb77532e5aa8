/** Tests of the differences of two values. */
import { expect, test } from "bun:test";
import { differencesOf, isSame, recordChanges } from "./diff.ts";

test("changed, added and removed members, and no unchanged members", () => {
  expect(differencesOf({ a: 1, b: "x", gone: true }, { a: 1, b: "y", come: null })).toEqual([
    { field: "b", kind: "changed", before: "x", after: "y" },
    { field: "gone", kind: "removed", before: true, after: undefined },
    { field: "come", kind: "added", before: undefined, after: null },
  ]);
});

test("objects and lists of named items are compared part by part", () => {
  const before = { fields: [{ name: "title", max: 80 }, { name: "old" }], permissions: { read: "public" } };
  const after = { fields: [{ name: "title", max: 90 }, { name: "born" }], permissions: { read: "admin" } };
  expect(differencesOf(before, after)).toEqual([
    { field: "fields.title.max", kind: "changed", before: 80, after: 90 },
    { field: "fields.old", kind: "removed", before: { name: "old" }, after: undefined },
    { field: "fields.born", kind: "added", before: undefined, after: { name: "born" } },
    { field: "permissions.read", kind: "changed", before: "public", after: "admin" },
  ]);
});

test("other lists are compared as a whole", () => {
  expect(differencesOf({ tags: ["a"] }, { tags: ["a", "b"] })).toEqual([
    { field: "tags", kind: "changed", before: ["a"], after: ["a", "b"] },
  ]);
  // Two items with the same name cannot be told apart.
  const twice = [{ name: "a" }, { name: "a" }];
  expect(differencesOf({ list: twice }, { list: [] })).toEqual([
    { field: "list", kind: "changed", before: twice, after: [] },
  ]);
});

test("another order of named items is a change of the list; another order of keys is no change", () => {
  const [one, two] = [{ name: "a" }, { name: "b" }];
  expect(differencesOf({ fields: [one, two] }, { fields: [two, one] })).toHaveLength(1);
  expect(differencesOf({ a: 1, b: 2 }, { b: 2, a: 1 })).toEqual([]);
});

test("added parts, and removed parts", () => {
  expect(differencesOf(null, { a: 1 })).toEqual([{ field: "a", kind: "added", before: undefined, after: 1 }]);
  expect(differencesOf({ a: 1 }, null)).toEqual([{ field: "a", kind: "removed", before: 1, after: undefined }]);
  expect(differencesOf(null, null)).toEqual([]);
});

test("null, the empty text and an absent value differ", () => {
  expect(isSame(null, "")).toBe(false);
  expect(isSame(null, undefined)).toBe(false);
  expect(isSame({ a: undefined }, {})).toBe(false);
  expect(isSame([1, { a: [2] }], [1, { a: [2] }])).toBe(true);
});

test("changes of a history: a creation and a deletion leave out fields without a value", () => {
  const changes = { a: { before: null, after: 1 }, b: { before: null, after: null } };
  expect(recordChanges({ type: "created", changes })).toEqual([{ field: "a", kind: "added", before: null, after: 1 }]);
  const removed = { a: { before: 1, after: null }, b: { before: null, after: null }, c: { after: null } };
  expect(recordChanges({ type: "deleted", changes: removed }).map(({ field }) => field)).toEqual(["a", "c"]);
  expect(recordChanges({ type: "updated", changes: { b: { before: 2, after: null } } })).toEqual([
    { field: "b", kind: "changed", before: 2, after: null },
  ]);
});
