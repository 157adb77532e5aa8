/** Tests of the pages of a list. */
import { describe, expect, test } from "bun:test";
import { lastPage, offsetOf, rowsOf } from "./paging.ts";

describe("pages of a list", () => {
  test("the first page begins at 0, with or without its number", () => {
    expect(offsetOf(undefined)).toBe(0);
    expect(offsetOf(1)).toBe(0);
    expect(offsetOf(3)).toBe(100);
    expect(offsetOf(3, 20)).toBe(40);
  });

  test("a full last page is no further page", () => {
    expect(lastPage(0)).toBe(1);
    expect(lastPage(50)).toBe(1);
    expect(lastPage(51)).toBe(2);
  });

  test("the rows of a page end with the list", () => {
    expect(rowsOf(1, 1_234)).toEqual({ first: 1, last: 50 });
    expect(rowsOf(25, 1_234)).toEqual({ first: 1_201, last: 1_234 });
    expect(rowsOf(1, 0)).toEqual({ first: 0, last: 0 });
  });

  test("a page after the end names no missing row", () => {
    expect(rowsOf(9, 60)).toEqual({ first: 60, last: 60 });
  });
});
