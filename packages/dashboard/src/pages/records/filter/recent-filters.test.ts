import { expect, test } from "bun:test";
import { readRecent, withRecent } from "./recent-filters.ts";

test("a filter stands once, the latest first, ten at most", () => {
  expect(withRecent(["a", "b"], "b")).toEqual(["b", "a"]);
  expect(withRecent("abcdefghij".split(""), "k")).toEqual("kabcdefghi".split(""));
});

test("a broken storage is empty", () => {
  for (const stored of [undefined, "", "{", "7", '{"a":1}', "null"]) expect(readRecent(stored)).toEqual([]);
  expect(readRecent('["a",7,"",null,"b"]')).toEqual(["a", "b"]);
});
