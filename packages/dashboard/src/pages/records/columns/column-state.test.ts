import { expect, test } from "bun:test";
import {
  clampWidth,
  emptyColumnState,
  moveColumn,
  orderColumns,
  readColumnState,
  visibleColumns,
} from "./column-state.ts";

test("a broken storage counts as empty", () => {
  for (const stored of [undefined, "", "{", "null", "7", "[]", '"a"', '{"order":7,"hidden":{},"widths":[]}'])
    expect(readColumnState(stored)).toEqual(emptyColumnState);
});

test("usable parts of a storage are read, and widths have bounds", () => {
  expect(readColumnState('{"order":["a",1,"b"],"hidden":["c",null],"widths":{"a":1,"b":"wide","c":99999}}')).toEqual({
    order: ["a", "b"],
    hidden: ["c"],
    widths: { a: 64, c: 800 },
  });
  expect(clampWidth(Number.NaN)).toBe(64);
});

test("dropped fields are removed, repeated fields are merged, new fields stand after their neighbour", () => {
  const state = { ...emptyColumnState, order: ["b", "gone", "a", "b"] };
  expect(orderColumns(state, ["a", "new", "b", "last"])).toEqual(["b", "last", "a", "new"]);
  expect(orderColumns(emptyColumnState, ["a", "b"])).toEqual(["a", "b"]);
});

test("at least a single column is shown", () => {
  expect(visibleColumns({ ...emptyColumnState, hidden: ["a", "b"] }, ["a", "b"])).toEqual(["a"]);
  expect(visibleColumns({ ...emptyColumnState, hidden: ["a", "gone"] }, ["a", "b"])).toEqual(["b"]);
});

test("a column moves to the place of another", () => {
  expect(moveColumn(["a", "b", "c"], "a", "c")).toEqual(["b", "c", "a"]);
  expect(moveColumn(["a", "b", "c"], "c", "a")).toEqual(["c", "a", "b"]);
  expect(moveColumn(["a", "b"], "x", "a")).toEqual(["a", "b"]);
  expect(moveColumn(["a", "b"], "a", "x")).toEqual(["a", "b"]);
});
