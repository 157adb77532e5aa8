/** Tests of the records that point to others: which fields are asked, and with which filter. */
import { expect, test } from "bun:test";
import type { CollectionEntry } from "@socle/protocol";
import { pointerFilter, pointingFields } from "./pointer-fields.ts";

const collection = (name: string, fields: CollectionEntry["fields"]): CollectionEntry => ({
  name,
  fields,
  permissions: null,
  indexes: [],
  definition: { name, fields },
  records: 0,
  createdAt: "",
  updatedAt: "",
});

test("only relations to the collection are queried, also its own", () => {
  const all = [
    collection("books", [
      { name: "author", type: "relation", collection: "authors" },
      { name: "editor", type: "relation", collection: "authors" },
      { name: "owner", type: "relation", collection: "users" },
      { name: "title", type: "string" },
    ]),
    collection("authors", [{ name: "teacher", type: "relation", collection: "authors" }]),
  ];
  expect(pointingFields(all, "authors")).toEqual([
    { collection: "books", field: "author" },
    { collection: "books", field: "editor" },
    { collection: "authors", field: "teacher" },
  ]);
  expect(pointingFields(all, "books")).toEqual([]);
});

test("a single id is compared, several ids are searched at once", () => {
  expect(pointerFilter("author", ["rec_1"])).toBe('author = "rec_1"');
  expect(pointerFilter("author", ["rec_1", "rec_2"])).toBe('author in ("rec_1", "rec_2")');
});
