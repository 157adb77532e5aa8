/** Tests of the items of a multiple field. */
import { expect, test } from "bun:test";
import { hasRoom, itemsOf, raised, withItem } from "./items.ts";

test("null and foreign values are no items", () => {
  expect(itemsOf(null)).toEqual([]);
  expect(itemsOf("a")).toEqual([]);
  expect(itemsOf(["a", 1, null, "b"])).toEqual(["a", "b"]);
});

test("an item is added once, at the end, and moves up a place at a time", () => {
  expect(withItem(["a"], "b")).toEqual(["a", "b"]);
  expect(withItem(["a", "b"], "a")).toEqual(["a", "b"]);
  expect(raised(["a", "b", "c"], "c")).toEqual(["a", "c", "b"]);
  expect(raised(["a", "b"], "a")).toEqual(["a", "b"]);
  expect(raised(["a"], "x")).toEqual(["a"]);
});

test("items can be added up to the greatest number", () => {
  expect(hasRoom({ name: "f", type: "string", multiple: true }, ["a"])).toBe(true);
  expect(hasRoom({ name: "f", type: "string", multiple: true, max: 1 }, ["a"])).toBe(false);
});
