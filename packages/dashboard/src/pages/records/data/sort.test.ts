import { expect, test } from "bun:test";
import { parseSort, toggleSort, writeSort } from "./sort.ts";

test("the address is read and written", () => {
  expect(parseSort("-createdAt, title")).toEqual([
    { path: "createdAt", isDescending: true },
    { path: "title", isDescending: false },
  ]);
  expect(writeSort(parseSort("-createdAt,title"))).toBe("-createdAt,title");
  expect(parseSort(undefined)).toEqual([]);
  expect(parseSort(",-,")).toEqual([]);
  expect(writeSort([])).toBeUndefined();
});

test("a header goes from ascending to descending to none", () => {
  const once = toggleSort([], "title", false);
  expect(writeSort(once)).toBe("title");
  const twice = toggleSort(once, "title", false);
  expect(writeSort(twice)).toBe("-title");
  expect(toggleSort(twice, "title", false)).toEqual([]);
});

test("another header replaces the sort, or is added at its end", () => {
  const steps = parseSort("title");
  expect(writeSort(toggleSort(steps, "views", false))).toBe("views");
  expect(writeSort(toggleSort(steps, "views", true))).toBe("title,views");
  expect(writeSort(toggleSort(parseSort("title,views"), "title", true))).toBe("-title,views");
  expect(writeSort(toggleSort(parseSort("-title,views"), "title", true))).toBe("views");
});

test("a sixth step is not added", () => {
  expect(writeSort(toggleSort(parseSort("a,b,c,d,e"), "f", true))).toBe("a,b,c,d,e");
});
