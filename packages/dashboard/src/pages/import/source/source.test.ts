import { expect, test } from "bun:test";
import { detectEncoding } from "./encoding.ts";
import { WrittenNumber } from "./exact-json.ts";
import { detectFormat, type FileFormat, readColumns, readRows } from "./source.ts";

async function cellsOf(file: File, format?: FileFormat): Promise<unknown[]> {
  const used = format ?? (await detectFormat(file));
  const rows = [];
  for await (const { cells, problem, isEmpty } of readRows(file, used, await readColumns(file, used)))
    rows.push(isEmpty ? "empty" : (problem ?? cells));
  return rows;
}

const csv = (text: string): File => new File([text], "x.csv");

function utf16(text: string, isLittle: boolean): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length * 2);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < text.length; i++) view.setUint16(i * 2, text.charCodeAt(i), isLittle);
  return bytes;
}

test("encodings are found by their bytes", async () => {
  const encodingOf = (bytes: Uint8Array<ArrayBuffer>): Promise<string> => detectEncoding(new Blob([bytes]));
  expect(await encodingOf(new TextEncoder().encode("naïve 😀"))).toBe("utf-8");
  expect(await encodingOf(new Uint8Array([0x6e, 0x61, 0xef, 0x76, 0x65]))).toBe("windows-1252");
  expect(await encodingOf(utf16("\ufeffname", true))).toBe("utf-16le");
  expect(await encodingOf(utf16("name;town", false))).toBe("utf-16be");
  expect(await encodingOf(new Uint8Array())).toBe("utf-8");
  for (const bytes of [utf16("\ufeffa;b\né;😀", true), utf16("\ufeffa;b\né;😀", false)])
    expect(await cellsOf(new File([bytes], "x.csv"))).toEqual([["é", "😀"]]);
  expect(await cellsOf(new File([new Uint8Array([0x61, 10, 0xe9, 10])], "x.csv"))).toEqual([["é"]]);
});

test("a Windows-1252 file with a late first umlaut is read right; as UTF-8 the file is refused", async () => {
  const rows = Array.from({ length: 28_000 }, (_, i) => `Person ${i} of a long list of many people`);
  const text = `name\n${rows.join("\n")}\nJosé Müller\n`;
  const file = new File([Uint8Array.from(text, (character) => character.charCodeAt(0))], "x.csv");
  expect(file.size).toBeGreaterThan(1_048_576);
  expect((await cellsOf(file)).at(-1)).toEqual(["José Müller"]);
  const format = await detectFormat(file);
  expect(format.encoding).toBe("windows-1252");
  await expect(cellsOf(file, { ...format, encoding: "utf-8" })).rejects.toThrow("bytes that UTF-8 has not");
});

test("the inputs: empty rows are skipped, and a last cell loses no quote and keeps no carriage return", async () => {
  const read = async (name: string): Promise<unknown[]> =>
    cellsOf(new File([await Bun.file(`${import.meta.dir}/../../../../../server/test/cases/${name}`).bytes()], name));
  expect(await read("blank-rows.csv")).toEqual([["Anna", "5"], "empty", "empty", ["Bob", "7"], "empty"]);
  expect(await read("mixed-endings.csv")).toEqual([
    ["Anna", "5'"],
    ["Bob", "6'"],
    ["Carl", "5'"],
  ]);
  expect(await read("large-numbers.json")).toEqual([
    ["a", new WrittenNumber("901656910939770881", 901656910939770900), new WrittenNumber("0.10", 0.1)],
    ["b", 12, new WrittenNumber("1.50", 1.5)],
  ]);
});

test("an empty cell differs from a quoted empty cell", async () => {
  expect(await cellsOf(csv('a,b,c\n,"",x\n"","""",\n"a,"",b",,""\n'))).toEqual([
    [null, "", "x"],
    ["", '"', null],
    ['a,",b', null, ""],
  ]);
});

test("quotes, newlines, byte order marks, ends of files", async () => {
  expect(await cellsOf(csv('\ufeffa,b\r\n"x\r\ny","say ""hi"""\r\n'))).toEqual([["x\r\ny", 'say "hi"']]);
  expect(await cellsOf(csv("a,b\n1,2"))).toEqual([["1", "2"]]);
  expect(await cellsOf(csv("a,b\n\n1,2\n\n"))).toEqual([["1", "2"]]);
  expect(await cellsOf(csv("a\n1\n\n2\n"))).toEqual([["1"], "empty", ["2"]]);
  expect(await cellsOf(csv("a,b\r\n1,2\n3,4\r\n"))).toEqual([
    ["1", "2"],
    ["3", "4"],
  ]);
  expect(await cellsOf(csv("a,b\n1\n1,2,3\n1,2,,\n"))).toEqual([
    ["1"],
    expect.stringContaining("3 cells"),
    ["1", "2", null, null],
  ]);
  expect(await cellsOf(csv(""))).toEqual([]);
});

test("rows that lie across pieces of a file", async () => {
  const row = (i: number): string => `${i},"${"é😀\r\n".repeat(20)}","",\r\n`;
  const rows = await cellsOf(csv(`n,t,e,z\r\n${Array.from({ length: 9_000 }, (_, i) => row(i)).join("")}`));
  expect(rows).toHaveLength(9_000);
  for (const [i, cells] of rows.entries()) expect(cells).toEqual([String(i), "é😀\r\n".repeat(20), "", null]);
});

test("a quote without an end stops the reading with a reason", async () => {
  const read = cellsOf(csv(`a,b\n1,"${"x\n".repeat(9_000_000)}`));
  expect(read).rejects.toThrow(/does not end/);
  await read.catch(() => undefined);
});

test("JSON: an array, objects of several lines, an object in each line", async () => {
  const json = (text: string): File => new File([text], "x.json");
  const expected = [
    ["x", { deep: ["]", '}\\"'] }],
    [null, undefined],
  ];
  expect(await cellsOf(json('[ {"a":"x","b":{"deep":["]","}\\\\\\""]}},\n {"a":null} ]'))).toEqual(expected);
  expect(await cellsOf(json('{"a":"x","b":{"deep":["]","}\\\\\\""]}}\n{"a":null}\n'))).toEqual(expected);
  expect(await cellsOf(json('{\n"a":"x","b":{"deep":["]","}\\\\\\""]}}\n{"a":null}\n'))).toEqual(expected);
  expect(await cellsOf(json('{"a":1}\n{"a":\n[1]\n{"a":2}'))).toEqual([
    [1],
    expect.stringContaining("JSON"),
    expect.stringContaining("object"),
    [2],
  ]);
  expect(await cellsOf(json('[1, "x", null, {"a": tru}, {"a":1}]'))).toEqual([
    expect.stringContaining("object"),
    expect.stringContaining("object"),
    expect.stringContaining("object"),
    expect.stringContaining("JSON"),
    [1],
  ]);
  expect(await cellsOf(json("[]"))).toEqual([]);
  const many = Array.from({ length: 20_000 }, (_, i) => ({ i, t: '\\"{[😀'.repeat(5) }));
  expect(await cellsOf(json(JSON.stringify(many)))).toEqual(many.map(({ i, t }) => [i, t]));
});
