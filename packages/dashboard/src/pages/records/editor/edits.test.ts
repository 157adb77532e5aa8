/** Tests of edits: changed fields, the request body, conflicts. */
import { describe, expect, test } from "bun:test";
import type { FieldDefinition, JsonValue, StoredRecord } from "@socle/protocol";
import {
  bodyOf,
  changedFields,
  conflicts,
  type Edits,
  editsForCopy,
  fingerprint,
  isEdits,
  parseJson,
  rebased,
  shownValue,
  withoutEdits,
} from "./edits.ts";

const title: FieldDefinition = { name: "title", type: "string" };
const views: FieldDefinition = { name: "views", type: "integer" };
const meta: FieldDefinition = { name: "meta", type: "json" };
const due: FieldDefinition = { name: "due", type: "datetime" };
const fields = [title, views, meta, due];
const record: StoredRecord = {
  id: "rec_1",
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
  title: "First",
  views: 7,
  meta: { a: 1 },
  due: null,
};

function edit(name: string, value: JsonValue, from: JsonValue = record[name] ?? null): Edits {
  return { [name]: { value, from: fingerprint(from) } };
}

test("the content of a draft is edits: each with the value or the text, and the former value", () => {
  expect(isEdits({ ...edit("title", "a"), meta: { text: "{", from: "null" } })).toBe(true);
  for (const broken of [null, "a", { title: "a" }, { title: { value: 1 } }, { title: { text: 1, from: "" } }])
    expect(isEdits(broken)).toBe(false);
});

describe("changed fields", () => {
  test("a field that has its old value again is not changed", () => {
    expect(changedFields(fields, edit("title", "First"), record)).toEqual([]);
    expect(changedFields(fields, { meta: { text: '{ "a" : 1 }', from: "" } }, record)).toEqual([]);
  });

  test("null, the empty string and no change are three things", () => {
    expect(bodyOf(fields, edit("title", ""), record).values).toEqual({ title: "" });
    expect(bodyOf(fields, edit("title", null), record).values).toEqual({ title: null });
    expect(bodyOf(fields, {}, record).values).toEqual({});
  });

  test("a new record sends the touched fields, also null, and nothing else", () => {
    expect(bodyOf(fields, { ...edit("title", "New"), ...edit("views", null) }, null).values).toEqual({
      title: "New",
      views: null,
    });
  });

  test("a field that is no longer in the definition is not sent", () => {
    expect(bodyOf(fields, edit("gone", 1), record).values).toEqual({});
  });

  test("texts that are no values are reported, and not sent", () => {
    const edits: Edits = { ...edit("views", "12a"), ...edit("due", "tomorrow"), meta: { text: "{", from: "" } };
    expect(bodyOf(fields, edits, record)).toEqual({
      values: {},
      problems: { views: "notANumber", due: "notADateTime", meta: "notJson" },
    });
  });
});

describe("changes of other users", () => {
  const theirs: StoredRecord = { ...record, title: "Theirs", views: 8 };

  test("only a field that both have changed clashes", () => {
    expect(conflicts(fields, edit("title", "Mine"), theirs)).toEqual([title]);
    expect(conflicts(fields, edit("due", "2026-01-01T00:00:00.000Z"), theirs)).toEqual([]);
    expect(conflicts(fields, edit("title", "Mine"), record)).toEqual([]);
  });

  test("the same change twice is no clash", () => {
    expect(conflicts(fields, edit("title", "Theirs", "First"), theirs)).toEqual([]);
  });

  test("untouched fields show their values", () => expect(shownValue(views, undefined, theirs)).toBe(8));

  test("the other changes are taken over, or the own changes kept", () => {
    const mine = edit("title", "Mine");
    expect(withoutEdits(mine, [title])).toEqual({});
    const kept = rebased(mine, [title], theirs);
    expect(conflicts(fields, kept, theirs)).toEqual([]);
    expect(bodyOf(fields, kept, theirs).values).toEqual({ title: "Mine" });
  });
});

test("a copy has the record's values and the edits, without nulls", () => {
  const copy = editsForCopy(fields, edit("title", "Mine"), record);
  expect(bodyOf(fields, copy, null).values).toEqual({ title: "Mine", views: 7, meta: { a: 1 } });
});

test("fingerprints of long values differ with a letter, and stay short", () => {
  const long = "x".repeat(100_000);
  expect(fingerprint(long).length).toBeLessThan(40);
  expect(fingerprint(`${long}y`)).not.toBe(fingerprint(`${long}z`));
  expect(fingerprint("1")).not.toBe(fingerprint(1));
});

test("an empty text is null, and broken JSON is reported", () => {
  expect(parseJson("  ")).toEqual({ value: null });
  expect(parseJson('"a"')).toEqual({ value: "a" });
  expect(parseJson("{a:1}")).toEqual({ problem: "notJson" });
});
