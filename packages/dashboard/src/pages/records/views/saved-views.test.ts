/** Tests of saved views: what differs from a view, and which of its fields are gone. */
import { expect, test } from "bun:test";
import type { SavedView } from "@socle/protocol";
import { emptyColumnState } from "../columns/column-state.ts";
import { contentOf, differs, goneFields } from "./saved-views.ts";

const columns = { order: ["title", "state"], hidden: ["id"], widths: { title: 120, state: 90 } };
const search = { filter: 'state = "open"', sort: "-createdAt,author.name" };
const view: SavedView = { name: "Open", ...search, columns, updatedAt: "" };

test("a list is as its view until a part changes; the order of widths and the open record are no change", () => {
  const same = { ...columns, widths: { state: 90, title: 120 } };
  expect(differs(view, { ...search, record: "rec_1" }, same)).toBe(false);
  expect(differs(view, { ...search, filter: undefined }, columns)).toBe(true);
  expect(differs(view, search, { ...columns, hidden: [] })).toBe(true);
  expect(differs(view, { ...search, search: "word" }, columns)).toBe(true);
  expect(differs({ name: "Open", ...search, updatedAt: "" }, search, emptyColumnState)).toBe(false);
  expect(contentOf({ ...search, record: "rec_1" }, columns)).toEqual({ ...search, columns });
});

test("gone fields are named once each, of columns and of the sort", () => {
  expect(goneFields(view, ["id", "title", "state", "createdAt", "author"])).toEqual([]);
  expect(goneFields(view, ["id", "state", "createdAt"])).toEqual(["title", "author"]);
});
