import { expect, test } from "bun:test";
import { moveCell, nextCell } from "./navigation.ts";

const bounds = { firstRow: 100, lastRow: 199, columns: 4, pageRows: 20 };
const press = (row: number, column: number, key: string, mod = false) =>
  moveCell({ row, column }, { key, mod }, bounds);

test("arrows stay within the rows and columns", () => {
  expect(press(100, 0, "ArrowLeft")).toEqual({ row: 100, column: 0 });
  expect(press(199, 3, "ArrowRight")).toEqual({ row: 199, column: 3 });
  expect(press(199, 3, "ArrowDown")).toEqual({ row: 199, column: 3 });
  expect(press(150, 1, "ArrowDown")).toEqual({ row: 151, column: 1 });
});

test("above the first row are the headers", () => {
  expect(press(100, 2, "ArrowUp")).toEqual({ row: -1, column: 2 });
  expect(press(-1, 2, "ArrowUp")).toEqual({ row: -1, column: 2 });
  expect(press(-1, 2, "ArrowDown")).toEqual({ row: 100, column: 2 });
});

test("pages, ends, and other keys", () => {
  expect(press(150, 1, "PageDown")).toEqual({ row: 170, column: 1 });
  expect(press(195, 1, "PageDown")).toEqual({ row: 199, column: 1 });
  expect(press(150, 1, "Home")).toEqual({ row: 150, column: 0 });
  expect(press(150, 1, "End", true)).toEqual({ row: 199, column: 3 });
  expect(press(150, 1, "a")).toBeNull();
});

test("Tab goes on row by row and ends", () => {
  expect(nextCell({ row: 150, column: 3 }, 1, bounds)).toEqual({ row: 151, column: 0 });
  expect(nextCell({ row: 150, column: 0 }, -1, bounds)).toEqual({ row: 149, column: 3 });
  expect(nextCell({ row: 199, column: 3 }, 1, bounds)).toBeNull();
  expect(nextCell({ row: 100, column: 0 }, -1, bounds)).toBeNull();
});
