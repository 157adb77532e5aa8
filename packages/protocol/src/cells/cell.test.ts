/** Cells as values: each type, the styles of numbers and dates, and texts that may mean several values. */
import { expect, test } from "bun:test";
import type { FieldDefinition, FieldType } from "../collections.ts";
import { type CellStyle, readCell } from "./cell.ts";
import { encodingOf } from "./encoding.ts";

const read = (cell: string | null, type: FieldType, style: CellStyle = {}, more: Partial<FieldDefinition> = {}) => {
  const found = readCell(cell, { name: "f", type, ...more }, style);
  return "problem" in found ? `! ${found.problem}` : found.value;
};

test("an empty cell is null; a quoted empty cell is the empty text only if the empty text is a value", () => {
  const types: FieldType[] = ["integer", "float", "boolean", "datetime", "json", "relation", "file", "geo"];
  for (const type of types) for (const cell of [null, "", "  "]) expect(read(cell, type)).toBeNull();
  for (const type of ["string", "text"] as const) {
    expect([read(null, type), read("", type), read(" ", type)]).toEqual([null, "", " "]);
    expect(read("", type, {}, { min: 1 })).toBeNull();
    expect(read("", type, {}, { values: ["a"] })).toBeNull();
    expect(read("", type, {}, { min: 0, required: true })).toBe("");
  }
  expect([read("", "string", {}, { multiple: true }), read(null, "string", {}, { multiple: true })]).toEqual([
    null,
    null,
  ]);
});

test("named texts are null", () => {
  const style = { nulls: new Set(["NA", "-"]) };
  expect([read("NA", "string", style), read("-", "integer", style), read("na", "string", style)]).toEqual([
    null,
    null,
    "na",
  ]);
});

test.each<[string, unknown, unknown, unknown]>([
  // The cell, and the number without a style, with a decimal point, with a decimal comma.
  ["7", 7, 7, 7],
  ["-0.5", -0.5, -0.5, "! unread"],
  [" +1e3 ", 1_000, 1_000, 1_000],
  [".5", 0.5, 0.5, "! unread"],
  ["0,125", "! decimal", "! unread", 0.125],
  ["1,250", "! decimal", 1_250, 1.25],
  ["52,520", "! decimal", 52_520, 52.52],
  ["3,5", "! decimal", "! unread", 3.5],
  ["1.250", 1.25, 1.25, 1_250],
  ["1.234,5", "! decimal", "! unread", 1_234.5],
  ["1,234.5", "! decimal", 1_234.5, "! unread"],
  ["1 234", "! decimal", 1_234, 1_234],
  ["1’234’567", "! decimal", 1_234_567, 1_234_567],
  ["1\u202f234,5", "! decimal", "! unread", 1_234.5],
  ["0.125.000", "! unread", "! unread", "! unread"],
  ["0,125,000", "! unread", "! unread", "! unread"],
  ["1,23,456", "! unread", "! unread", "! unread"],
  ["", null, null, null],
  [",", "! unread", "! unread", "! unread"],
  ["12a", "! unread", "! unread", "! unread"],
  ["0x1f", "! unread", "! unread", "! unread"],
])("the number %j", (cell, plain, point, comma) => {
  expect(read(cell, "float")).toEqual(plain as never);
  expect(read(cell, "float", { decimal: "point" })).toEqual(point as never);
  expect(read(cell, "float", { decimal: "comma" })).toEqual(comma as never);
});

test("a whole number with points between groups needs a style", () => {
  expect(read("1.000", "integer")).toBe("! decimal");
  expect([read("1.000", "integer", { decimal: "comma" }), read("1.000", "integer", { decimal: "point" })]).toEqual([
    1_000, 1,
  ]);
  expect([read("1.0", "integer"), read("1.5", "integer")]).toEqual([1, 1.5]);
});

test("words for true and false", () => {
  for (const word of ["true", "TRUE", "t", "yes", "Y", "on", "1", " true "]) expect(read(word, "boolean")).toBe(true);
  for (const word of ["false", "F", "no", "n", "off", "0"]) expect(read(word, "boolean")).toBe(false);
  for (const word of ["maybe", "2", "constructor", "-"]) expect(read(word, "boolean")).toBe("! unread");
});

test.each<[string, unknown, unknown, unknown]>([
  // The cell, and the time without a style, with the day first, with the month first.
  ["2026-03-01 09:30:00+00", "2026-03-01T09:30:00.000Z", "2026-03-01T09:30:00.000Z", "2026-03-01T09:30:00.000Z"],
  ["2026-03-04", "2026-03-04T00:00:00.000Z", "2026-03-04T00:00:00.000Z", "2026-03-04T00:00:00.000Z"],
  ["2026/3/4 9:05", "2026-03-04T09:05:00.000Z", "2026-03-04T09:05:00.000Z", "2026-03-04T09:05:00.000Z"],
  ["03/04/2026", "! dates", "2026-04-03T00:00:00.000Z", "2026-03-04T00:00:00.000Z"],
  ["31.12.2026", "! dates", "2026-12-31T00:00:00.000Z", "! unread"],
  ["12-31-2026", "! dates", "! unread", "2026-12-31T00:00:00.000Z"],
  ["3/4/2026, 1:02:03.5 PM", "! dates", "2026-04-03T13:02:03.500Z", "2026-03-04T13:02:03.500Z"],
  ["3/4/2026 12:15 am", "! dates", "2026-04-03T00:15:00.000Z", "2026-03-04T00:15:00.000Z"],
  ["3/4/2026 13:15 pm", "! dates", "! unread", "! unread"],
  ["3/4.2026", "! unread", "! unread", "! unread"],
  ["3/4/26", "! unread", "! unread", "! unread"],
  ["yesterday", "! unread", "! unread", "! unread"],
])("the date %j", (cell, plain, dmy, mdy) => {
  expect(read(cell, "datetime")).toEqual(plain as never);
  expect(read(cell, "datetime", { dates: "dmy" })).toEqual(dmy as never);
  expect(read(cell, "datetime", { dates: "mdy" })).toEqual(mdy as never);
});

test("a time without a zone is shifted, a day and a time with a zone are not", () => {
  const style = { toUtc: (time: string) => time.replace("T09:30", "T08:30") };
  expect(read("2026-03-01 09:30", "datetime", style)).toBe("2026-03-01T08:30:00.000Z");
  expect(read("2026-03-01", "datetime", style)).toBe("2026-03-01T00:00:00.000Z");
  expect(read("2026-03-01 09:30+01", "datetime", style)).toBe("2026-03-01T08:30:00.000Z");
});

test("json, ids and items", () => {
  expect([read('{"a":[1,null]}', "json"), read('""', "json"), read("{", "json")]).toEqual([
    { a: [1, null] },
    "",
    "! unread",
  ]);
  expect(read(" rec_1 ", "relation", {}, { collection: "x" })).toBe("rec_1");
  const items = (cell: string, separator?: string): unknown =>
    read(cell, "string", separator === undefined ? {} : { separator }, { multiple: true });
  expect([items('["a","b"]'), items("a, b"), items("a, b,,a", ","), items("[a"), items("[1]")]).toEqual([
    ["a", "b"],
    ["a, b"],
    ["a", "b"],
    "! unread",
    [1],
  ]);
});

test("encodings by the first bytes", () => {
  const utf16 = (text: string, isLittle: boolean): Uint8Array => {
    const view = new DataView(new ArrayBuffer(text.length * 2));
    for (let i = 0; i < text.length; i++) view.setUint16(i * 2, text.charCodeAt(i), isLittle);
    return new Uint8Array(view.buffer);
  };
  expect([encodingOf(utf16("\ufeffa", true)), encodingOf(utf16("\ufeffa", false))]).toEqual(["utf-16le", "utf-16be"]);
  expect([encodingOf(utf16("name;town", true)), encodingOf(utf16("name;town", false))]).toEqual([
    "utf-16le",
    "utf-16be",
  ]);
  for (const bytes of [new TextEncoder().encode("naïve"), new Uint8Array([0xe9]), new Uint8Array()])
    expect(encodingOf(bytes)).toBe("utf-8");
});
