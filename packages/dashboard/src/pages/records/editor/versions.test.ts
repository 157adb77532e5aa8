/** Versions of a record: the values after an earlier change, and the fields that cannot be restored. */
import { expect, test } from "bun:test";
import type { FieldChange, HistoryEntry, StoredRecord } from "@socle/protocol";
import { restorationOf } from "./versions.ts";

let seq = 100;
function entry(type: HistoryEntry["type"], changes: { [field: string]: FieldChange }, more: object = {}): HistoryEntry {
  seq -= 1;
  return { seq, type, at: "2026-01-01T00:00:00.000Z", by: null, cause: null, changes, ...more };
}

const fields = ["title", "n", "photo", "tags"].map((name) => ({ name, type: "string" as const }));
const record: StoredRecord = {
  id: "rec_1",
  createdAt: "x",
  updatedAt: "y",
  title: "now",
  n: 3,
  photo: null,
  tags: ["b"],
};
const posts = { name: "posts", fields };

function restored(entries: HistoryEntry[], at: number) {
  return restorationOf(posts, record, { entries, at });
}

test("a version has the value before the first later change of a field; fields without a later change stay", () => {
  const entries = [
    entry("updated", { title: { before: "second", after: "now" } }),
    entry("updated", { title: { before: "first", after: "second" }, n: { before: 1, after: 3 } }),
    entry("updated", { tags: { before: ["a"], after: ["b"] } }),
    entry("created", { title: { before: null, after: "first" }, n: { before: null, after: 1 } }),
  ];
  expect(restored(entries, 1).values).toEqual({ title: "second" });
  expect(restored(entries, 2)).toEqual({
    values: { title: "first", n: 1 },
    changes: [
      { field: "title", kind: "changed", before: "now", after: "first" },
      { field: "n", kind: "changed", before: 3, after: 1 },
    ],
    ...{ goneFields: [], goneFiles: [], unknown: [], ofAccount: [], isErasedSince: false },
  });
  expect(restored(entries, 3).values).toEqual({ title: "first", n: 1, tags: ["a"] });
});

test("a value that was changed and changed back is no difference", () => {
  const entries = [
    entry("updated", { title: { before: "other", after: "now" } }),
    entry("updated", { title: { before: "now", after: "other" } }),
    entry("created", { title: { before: null, after: "now" } }),
  ];
  expect(restored(entries, 2)).toMatchObject({ values: {}, changes: [], unknown: [] });
});

test("without a value before, the value after the newest earlier change counts; without both, the field is unknown", () => {
  const entries = [
    entry("updated", { title: { after: "now" }, n: { after: 3 } }, { partial: true }),
    entry("updated", { title: { before: "zero", after: "old" } }),
  ];
  expect(restored(entries, 1)).toMatchObject({ values: { title: "old" }, unknown: ["n"] });
});

test("gone fields, gone files and fields of the account stay, and are named", () => {
  const entries = [
    entry("updated", {
      title: { before: "old", after: "now" },
      teaser: { before: "old", after: "new" },
      photo: { before: "fil_1", after: null, gone: ["fil_1"] },
    }),
    entry("created", { photo: { before: null, after: "fil_1", gone: ["fil_1"] } }),
  ];
  expect(restored(entries, 1)).toMatchObject({
    values: { title: "old" },
    goneFields: ["teaser"],
    goneFiles: ["photo"],
  });
  const users = restorationOf({ ...posts, name: "users" }, record, {
    entries: [entry("updated", { email: { before: "a@example.com", after: "b@example.com" } }), entry("created", {})],
    at: 1,
  });
  expect(users).toMatchObject({ values: {}, ofAccount: ["email"], goneFields: [] });
});

test("erased values of later changes are told", () => {
  const entries = [entry("updated", {}, { erased: true }), entry("updated", { n: { before: 1, after: 3 } })];
  expect(restored(entries, 1)).toMatchObject({ values: {}, isErasedSince: true });
  expect(restored([...entries].reverse(), 1).isErasedSince).toBe(false);
});
