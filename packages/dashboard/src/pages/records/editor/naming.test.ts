/** Tests of names, searches and hints. */
import { expect, test } from "bun:test";
import type { FieldDefinition } from "@socle/protocol";
import { clip, fieldHint, isId, nameField, previewedFields, recordName, searchFilter, shortValue } from "./naming.ts";

const fields: FieldDefinition[] = [
  { name: "code", type: "string" },
  { name: "body", type: "text" },
  { name: "title", type: "string" },
  { name: "meta", type: "json" },
];
const system = { id: "rec_1", createdAt: "", updatedAt: "" };

test("the name of a record is its usual name, or a required or the first string, or its id", () => {
  expect(nameField(fields)?.name).toBe("title");
  expect(
    nameField([
      { name: "x", type: "string" },
      { name: "y", type: "string", required: true },
    ])?.name,
  ).toBe("y");
  expect(nameField([{ name: "body", type: "text" }])).toBeNull();
  expect(recordName({ ...system, title: " " }, fields)).toBe("rec_1");
  expect(recordName({ ...system, title: "a\nb" }, fields)).toBe("a b");
});

test("a search quotes the typed text", () => {
  expect(searchFilter(fields, ' a" || true ')).toBe('title ~ "a\\" || true" || code ~ "a\\" || true"');
  expect(searchFilter(fields, "  ")).toBeUndefined();
  expect(searchFilter([{ name: "n", type: "integer" }], "a")).toBeUndefined();
});

test("a preview leaves out texts and JSON", () => {
  expect(previewedFields(fields).map(({ name }) => name)).toEqual(["title", "code"]);
});

test("values in a line", () => {
  expect(clip("x".repeat(10), 5)).toBe("xxxxx…");
  expect(shortValue("")).toBe('""');
  expect(shortValue(null)).toBe("null");
});

test("an id is whole or absent", () => {
  expect(isId("rec_01a201d3-271e-729e-9360-d776f61d7a0d", "rec")).toBe(true);
  expect(isId("rec_01a201d3", "rec")).toBe(false);
  expect(isId("usr_01a201d3-271e-729e-9360-d776f61d7a0d", "rec")).toBe(false);
});

test("hints are short", () => {
  expect(fieldHint({ name: "a", type: "string", min: 3, max: 80, unique: true })).toBe("string · 3–80 · unique");
  expect(fieldHint({ name: "a", type: "relation", collection: "users", owner: true })).toBe("→ users · owner");
});
