/** Rows of CSV: quotes, newlines, pieces, rows that are too long, and the guess of the shape. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type CsvRow, CsvRows, type CsvShape, csvLine, guessCsvShape } from "./csv-rows.ts";

const comma: CsvShape = { delimiter: ",", quote: '"', newline: "\n" };

/** The rows of a text that comes in pieces of so many characters. */
function rowsOf(text: string, { shape = comma, max = 1_000, piece = 7 } = {}): CsvRow[] {
  const reader = new CsvRows(shape, max);
  const rows: CsvRow[] = [];
  for (let at = 0; at < text.length; at += piece) rows.push(...reader.push(text.slice(at, at + piece), false));
  return [...rows, ...reader.push("", true)];
}
const cellsOf = (text: string, options = {}): unknown[] =>
  rowsOf(text, options).map(({ cells, problem }) => problem ?? cells);

test.each<[string, string, unknown[]]>([
  ["an empty cell is null, and one in quotes is the empty text", 'a,,"",\n', [["a", null, "", null]]],
  [
    "LF and CRLF in one file, behind quotes too",
    '1,2\r\n3,"4"\r\n5,"6"\n7,8\n',
    [
      ["1", "2"],
      ["3", "4"],
      ["5", "6"],
      ["7", "8"],
    ],
  ],
  ["no newline at the end", "1\n2", [["1"], ["2"]]],
  ["no newline at the end, behind a quote", '1\n"2"', [["1"], ["2"]]],
  [
    "no newline at the end, but a carriage return",
    '1,2\r\n3,"4"\r',
    [
      ["1", "2"],
      ["3", "4"],
    ],
  ],
  ["carriage returns in quotes stay", '"a\r","b\r\nc"\r\n"d\r"\n', [["a\r", "b\r\nc"], ["d\r"]]],
  ["doubled quotes", '"say ""hi""","""",""""""\n', [['say "hi"', '"', '""']]],
  ["quotes inside of a cell without quotes", `5' 6",a"b\n`, [[`5' 6"`, 'a"b']]],
  ["spaces behind a closing quote", '"a" ,"b"  \n', [["a", "b"]]],
  ["empty lines", "a,b\n\n,\n\n", [["a", "b"], [null], [null, null], [null]]],
  ["delimiters and newlines in quotes", '"a,b\n,",c\n', [["a,b\n,", "c"]]],
  [
    "text behind a closing quote: that row alone is broken",
    'a,"x" y"\nb,"1"2\nc,"z"\n',
    ["quote", "quote", ["c", "z"]],
  ],
  ["a quote that does not end", 'a,b\nc,"d\ne,f\n', [["a", "b"], "open"]],
])("%s", (_name, text, expected) => {
  for (const piece of [1, 2, 3, 5, 1_000]) expect(cellsOf(text, { piece })).toEqual(expected);
});

test("carriage returns alone end the rows of a file without line feeds", () => {
  expect(cellsOf('a,"b\r"\rc,d\r', { shape: { ...comma, newline: "\r" } })).toEqual([
    ["a", "b\r"],
    ["c", "d"],
  ]);
});

test("without quotes, a quote is a character", () => {
  expect(cellsOf('"a,b"\n', { shape: { ...comma, quote: "" } })).toEqual([['"a', 'b"']]);
});

test("each row has the line at which the row begins", () => {
  expect(rowsOf('a\n"b\n\nc"\r\n\nd\n').map(({ line }) => line)).toEqual([1, 2, 5, 6]);
});

describe("a row that is too long is skipped, and the next rows are read", () => {
  const long = "x".repeat(3_000);
  test.each<[string, string]>([
    ["without quotes", `a,${long}\n`],
    ["in quotes", `a,"${long}"\n`],
    ["in quotes, with newlines and doubled quotes", `a,"${`${long}""\n`.repeat(3)}",b\r\n`],
    ["with quotes that are characters", `a,${long}" ""\n`],
    ["of many cells in quotes", `${'"a\n",'.repeat(1_000)}"b"\n`],
    ["that ends with a delimiter", `${"a,".repeat(1_000)}\n`],
  ])("%s", (_name, row) => {
    const lines = row.split("\n").length - 1;
    for (const piece of [1, 7, 64, 999, 1_000_000])
      expect(rowsOf(`1,2\n${row}3,"4"\n`, { piece })).toEqual([
        { line: 1, cells: ["1", "2"], problem: null },
        { line: 2, cells: expect.anything(), problem: "long" },
        { line: 2 + lines, cells: ["3", "4"], problem: null },
      ]);
  });

  test("at the end of the file; a quote that does not end is reported", () => {
    expect(cellsOf(`1\n${long}`)).toEqual([["1"], "long"]);
    expect(cellsOf(`1\n"${long}`)).toEqual([["1"], "long", "open"]);
    expect(cellsOf(`1\n"${long}"`)).toEqual([["1"], "long"]);
  });
});

test("any cells return, whatever the pieces and the delimiter", () => {
  const text = fc.string({ unit: fc.constantFrom("a", '"', "'", ",", ";", "\t", "|", "\r", "\n", " ", "é", "\ufeff") });
  const rows = fc.array(fc.array(fc.option(text), { minLength: 1, maxLength: 4 }), { maxLength: 6 });
  const shape = fc.record({
    delimiter: fc.constantFrom(",", ";", "\t", "|"),
    quote: fc.constantFrom('"', "'"),
    newline: fc.constant("\n" as const),
  });
  fc.assert(
    fc.property(rows, shape, fc.integer({ min: 1, max: 9 }), (given, shape, piece) => {
      expect(cellsOf(given.map((cells) => csvLine(cells, shape)).join(""), { shape, piece })).toEqual(given);
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  ["a;b;c\n1,5;2;3\n", ";"],
  ["name;kg\nAnna;0,125\n", ";"],
  ["a\tb\r\n1\t2\r\n", "\t"],
  ["a|b\n1|2\n", "|"],
  ["s,t\na,x;y\nb,x;y\n", ","],
  ["a;b,c\n1;2\n3;4\n", ";"],
  ['"a,b";c\n1;2\n', ";"],
  ["name\nAnna, B\n", ","],
  ["a;b", ";"],
  ["", ","],
])("the delimiter of %j is %j", (sample, delimiter) => {
  expect(guessCsvShape(sample)).toEqual({ delimiter, quote: '"', newline: "\n" });
});

test("the newline of a file without line feeds is the carriage return", () => {
  expect(guessCsvShape("a,b\r1,2\r").newline).toBe("\r");
  expect(guessCsvShape('a,b\r\n"x\ry",2\n').newline).toBe("\n");
});
