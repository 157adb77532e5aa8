import { expect, test } from "bun:test";
import type { CollectionEntry, FieldDefinition } from "@socle/protocol";
import { WrittenNumber } from "../source/exact-json.ts";
import { convert, unprotect } from "./convert.ts";
import { type Conversion, guessColumn, guessMapping, guessMatch } from "./mapping.ts";
import { brokenRule } from "./rules.ts";

const plain: Conversion = {
  empty: "null",
  decimal: "plain",
  dateOrder: "iso",
  timeZone: "UTC",
  relationBy: "id",
  separator: ",",
};
const field = (type: FieldDefinition["type"], more: Partial<FieldDefinition> = {}): FieldDefinition => ({
  name: "f",
  type,
  ...more,
});
const converted = (
  cell: Parameters<typeof convert>[0],
  type: FieldDefinition["type"],
  how: Partial<Conversion> = {},
) => {
  const found = convert(cell, field(type, { collection: "authors" }), { ...plain, ...how });
  return found.kind === "value" ? found.value : found.kind;
};

test("columns are guessed without regard to case and punctuation", () => {
  expect(guessColumn(["First Name", "published_at"], "firstName")).toBe(0);
  expect(guessColumn(["First Name", "published_at"], "publishedAt")).toBe(1);
  expect(guessColumn(["TITLE", "title"], "title")).toBe(1);
  expect(guessColumn(["subtitle"], "title")).toBe(-1);
});

test("a mapping is guessed with its conversions", () => {
  const fields: FieldDefinition[] = [
    { name: "price", type: "float" },
    { name: "day", type: "datetime" },
    { name: "author", type: "relation", collection: "authors" },
    { name: "missing", type: "string" },
  ];
  const authors = {
    name: "authors",
    fields: [
      { name: "name", type: "string" },
      { name: "email", type: "string", unique: true },
    ],
  } as unknown as CollectionEntry;
  const columns = ["Price", "DAY", "author_email", "other"];
  const sample = [["1.234,5", "31.12.2026", "ada@example.com", null]];
  const guessed = guessMapping({ fields, columns, sample, collections: [authors] });
  expect(guessed.map(({ source }) => source)).toEqual([
    { kind: "column", column: 0 },
    { kind: "column", column: 1 },
    { kind: "column", column: 2 },
    { kind: "skip" },
  ]);
  expect(guessed[0]?.conversion.decimal).toBe("comma");
  expect(guessed[1]?.conversion.dateOrder).toBe("dmy");
  expect(guessed[2]?.conversion.relationBy).toBe("email");
  expect(guessMatch([{ name: "slug", type: "string", unique: true }], ["Slug", "x"])).toEqual({
    field: "slug",
    column: 0,
  });
  expect(guessMatch([{ name: "slug", type: "string" }], ["Slug"])).toBeNull();
});

test("texts, empties and nulls", () => {
  expect(converted(null, "string")).toBeNull();
  expect(converted(null, "string", { empty: "text" })).toBe("");
  expect(converted("", "string")).toBe("");
  expect(converted(null, "integer", { empty: "text" })).toBeNull();
  expect(converted("", "integer")).toBeNull();
  expect(converted(undefined, "string")).toBe("absent");
  expect(converted(" x ", "string")).toBe(" x ");
  expect(converted(7, "string")).toBe("7");
  expect(converted({ a: 1 }, "string")).toBe("problem");
});

test.each<[string[], string]>([
  [["0,125", "1,250", "52,520"], "comma"],
  [["1,250", "52,520"], "plain"],
  [["1,250", "3,5"], "comma"],
  [["1,234.5", "7"], "point"],
  [["1.5", "2"], "plain"],
  [["1.250"], "plain"],
  [["3,5", "none"], "comma"],
  [[], "plain"],
])("numbers %j are written as %s", (samples, decimal) => {
  const fields = [field("float")];
  const [mapping] = guessMapping({ fields, columns: ["f"], sample: samples.map((each) => [each]), collections: [] });
  expect(mapping?.conversion.decimal).toBe(decimal as never);
});

test.each<[string[], string]>([
  [["03/04/2026"], "iso"],
  [["03/04/2026", "31/12/2026"], "dmy"],
  [["03/04/2026", "12/31/2026"], "mdy"],
  [["03.04.2026"], "dmy"],
  [["2026-03-04", "2026-03-01 09:30:00+00"], "iso"],
  [["31/12/2026", "12/31/2026"], "iso"],
])("dates %j are in the order %s", (samples, order) => {
  const fields = [field("datetime")];
  const [mapping] = guessMapping({ fields, columns: ["f"], sample: samples.map((each) => [each]), collections: [] });
  expect(mapping?.conversion.dateOrder).toBe(order as never);
});

test("a cell that may mean several values is a problem that asks", () => {
  const messageOf = (cell: string, type: FieldDefinition["type"]): string => {
    const found = convert(cell, field(type), plain);
    return found.kind === "problem" ? found.message : found.kind;
  };
  expect(messageOf("1,250", "float")).toContain("may be several numbers: choose how");
  expect(messageOf("1.000", "integer")).toContain("may be several numbers: choose how");
  expect(messageOf("03/04/2026", "datetime")).toContain("may be several days: choose the order");
});

test("numbers", () => {
  expect(converted("12", "integer")).toBe(12);
  expect(converted("1,234,567", "integer", { decimal: "point" })).toBe(1_234_567);
  expect(converted("1.0", "integer")).toBe(1);
  expect(converted("1.5", "integer")).toBe("problem");
  expect(converted("9007199254740993", "integer")).toBe("problem");
  expect(converted("-1.5e3", "float")).toBe(-1_500);
  expect(converted("1.234,5", "float", { decimal: "comma" })).toBe(1_234.5);
  expect(converted("0,125", "float", { decimal: "comma" })).toBe(0.125);
  expect(converted("0,125", "float", { decimal: "point" })).toBe("problem");
  expect(converted("1,5", "float")).toBe("problem");
  expect(converted("1e400", "float")).toBe("problem");
  for (const wrong of ["-", ".", "e5", "0x10", "1e", "NaN", "Infinity", "1 2", "12abc", "1,2,3"])
    expect(converted(wrong, "float")).toBe("problem");
  expect(converted(true, "integer")).toBe("problem");
  expect(converted(1.5, "float", { decimal: "comma" })).toBe(1.5);
});

test("numbers of JSON: a text has the digits of the file, and json no number that cannot be stored", () => {
  const large = new WrittenNumber("901656910939770881", 901656910939770900);
  const price = new WrittenNumber("0.10", 0.1);
  expect([converted(large, "string"), converted(price, "string"), converted(12, "text")]).toEqual([
    "901656910939770881",
    "0.10",
    "12",
  ]);
  expect([converted(large, "integer"), converted(price, "float"), converted(price, "json")]).toEqual([
    "problem",
    0.1,
    0.1,
  ]);
  expect([converted(large, "json"), converted({ a: [large] } as never, "json")]).toEqual(["problem", "problem"]);
});

test("booleans", () => {
  expect(["true", "YES", "1", " y "].map((cell) => converted(cell, "boolean"))).toEqual([true, true, true, true]);
  expect(["false", "No", "0"].map((cell) => converted(cell, "boolean"))).toEqual([false, false, false]);
  expect(converted(1, "boolean")).toBe(true);
  expect(converted("2", "boolean")).toBe("problem");
  expect(converted("maybe", "boolean")).toBe("problem");
});

test("times without a zone are in the chosen zone", () => {
  const read = (cell: string, timeZone: string, dateOrder: Conversion["dateOrder"] = "iso") =>
    converted(cell, "datetime", { timeZone, dateOrder });
  expect(read("2026-03-01T09:30:00+01:00", "Asia/Tokyo", "dmy")).toBe("2026-03-01T08:30:00.000Z");
  expect(read("2026-03-01 09:30:00+00", "Europe/Berlin")).toBe("2026-03-01T09:30:00.000Z");
  expect(read("2026-03-01 09:30", "Europe/Berlin")).toBe("2026-03-01T08:30:00.000Z");
  expect(read("2026-07-01 00:00", "Europe/Berlin")).toBe("2026-06-30T22:00:00.000Z");
  expect(read("31.12.2026 14:05", "Europe/Berlin", "dmy")).toBe("2026-12-31T13:05:00.000Z");
  // A day alone is the same day in every zone.
  expect(read("2026-07-01", "Europe/Berlin")).toBe("2026-07-01T00:00:00.000Z");
  expect(read("31.12.2026", "Asia/Tokyo", "dmy")).toBe("2026-12-31T00:00:00.000Z");
  expect([read("tomorrow", "UTC"), read("2026-02-30", "UTC"), converted(5, "datetime")]).toEqual([
    "problem",
    "problem",
    "problem",
  ]);
});

test.each([
  ["0050-01-01 12:00", "Europe/Berlin", "0050-01-01T11:06:32.000Z"],
  ["0001-03-01 12:00:00.123", "Asia/Tokyo", "0001-03-01T02:41:01.123Z"],
  ["0099-12-31 23:30", "America/New_York", "0100-01-01T04:26:02.000Z"],
  ["0000-02-29 12:00", "Asia/Kolkata", "0000-02-29T06:06:32.000Z"],
  ["1850-06-01 12:00", "Africa/Monrovia", "1850-06-01T12:43:08.000Z"],
  // Twice, and the first; skipped; a day that Samoa skipped.
  ["2026-10-25 02:30", "Europe/Berlin", "2026-10-25T00:30:00.000Z"],
  ["2026-11-01 01:30", "America/New_York", "2026-11-01T05:30:00.000Z"],
  ["2026-03-29 02:30", "Europe/Berlin", "2026-03-29T01:30:00.000Z"],
  ["2011-12-30 12:00", "Pacific/Apia", "2011-12-30T22:00:00.000Z"],
  ["9999-12-31 23:30", "Asia/Tokyo", "9999-12-31T14:30:00.000Z"],
  ["9999-12-31 23:30", "America/New_York", "problem"],
  ["0000-01-01 00:10", "Europe/Berlin", "problem"],
])("%s in %s is %s", (cell, timeZone, utc) => {
  expect(converted(cell, "datetime", { timeZone })).toBe(utc);
});

test("places: JSON, objects of JSON, or a latitude and a longitude", () => {
  const place = { lat: 52.52, lon: 13.405 };
  for (const cell of ['{"lat":52.52,"lon":13.405}', "52.52, 13.405", place])
    expect(converted(cell as never, "geo")).toEqual(place);
  for (const cell of ["91,0", "52,52; 13,4", "x", "1,2,3", { lat: 1 }, 5, true, [1, 2]])
    expect([cell, converted(cell as never, "geo")]).toEqual([cell, "problem"]);
  expect(converted("", "geo")).toBeNull();
});

test("json, relations and files", () => {
  expect(converted('{"a":[1,null]}', "json")).toEqual({ a: [1, null] });
  expect(converted("{a:1}", "json")).toBe("problem");
  expect(converted(["as", "it", "is"], "json")).toEqual(["as", "it", "is"]);
  const id = "rec_01a201c0-27a0-70f3-b874-027f7e64345a";
  expect(converted(id, "relation")).toBe(id);
  expect(converted("Ada", "relation")).toBe("problem");
  expect(convert("Ada", field("relation", { collection: "authors" }), { ...plain, relationBy: "name" })).toEqual({
    kind: "lookup",
    key: { collection: "authors", field: "name", value: "Ada" },
  });
  expect(converted("photo.png", "file")).toBe("problem");
});

test("apostrophes of the export are removed, others stay", () => {
  expect(["'=1+1", "''=1", "'-5", "'tis", "'", "=1"].map(unprotect)).toEqual(["=1+1", "'=1", "-5", "'tis", "'", "=1"]);
});

test("rules that a value breaks", () => {
  expect(brokenRule(field("string", { required: true }), "")).toMatch(/required/);
  expect(brokenRule(field("string", { required: true }), null)).toMatch(/required/);
  expect(brokenRule(field("relation", { required: true, owner: true }), null)).toBeNull();
  expect(brokenRule(field("string", { max: 2 }), "😀😀")).toBeNull();
  expect(brokenRule(field("string", { max: 2 }), "abc")).toMatch(/at most 2 characters/);
  expect(brokenRule(field("integer", { min: 0 }), -1)).toMatch(/at least 0/);
  expect(brokenRule(field("string", { regex: "^[a-z]+$" }), "A")).toMatch(/match/);
  expect(brokenRule(field("string", { regex: "(" }), "A")).toBeNull();
});

test("the service's own values are optional: defaults, numbers, the owner", () => {
  expect(brokenRule(field("string", { required: true }), undefined)).not.toBeNull();
  expect(brokenRule(field("string", { required: true, default: "a" }), undefined)).toBeNull();
  expect(brokenRule(field("integer", { sequence: true }), undefined)).toBeNull();
  expect(brokenRule(field("relation", { required: true, owner: true }), undefined)).toBeNull();
  expect(brokenRule(field("string", { required: true, default: "a" }), null)).not.toBeNull();
});

test("a sequence takes no column, even a column of its name", () => {
  const fields: FieldDefinition[] = [{ name: "number", type: "integer", sequence: true }];
  const [mapping] = guessMapping({ fields, columns: ["number"], sample: [["7"]], collections: [] });
  expect(mapping?.source).toEqual({ kind: "skip" });
});

test("an empty cell of a required field with a default gets the default; of a field that may be null, null", () => {
  const required = field("string", { required: true, default: "a" });
  expect(convert(null, required, plain)).toEqual({ kind: "absent" });
  expect(convert("b", required, plain)).toEqual({ kind: "value", value: "b" });
  expect(convert("", { ...required, type: "integer", default: 1 }, plain)).toEqual({ kind: "absent" });
  expect(convert(null, field("string", { default: "a" }), plain)).toEqual({ kind: "value", value: null });
});

test("several items: JSON, or texts with a separator between items", () => {
  const tags = field("string", { multiple: true });
  const items = (cell: Parameters<typeof convert>[0], of = tags, how: Partial<Conversion> = {}) =>
    convert(cell, of, { ...plain, ...how });
  expect(items("a, b ,a,,c")).toEqual({ kind: "value", value: ["a", "b", "c"] });
  expect(items("a, b;c", tags, { separator: ";" })).toEqual({ kind: "value", value: ["a, b", "c"] });
  expect(items('["a, b","c"]')).toEqual({ kind: "value", value: ["a, b", "c"] });
  expect(items(["a", "b"])).toEqual({ kind: "value", value: ["a", "b"] });
  expect(items(null)).toEqual({ kind: "value", value: null });
  expect(items('["a"').kind).toBe("problem");
  expect(items({ a: 1 }).kind).toBe("problem");
  const authors = field("relation", { multiple: true, collection: "authors" });
  expect(items("ada; x", authors).kind).toBe("problem");
  expect(items("ada,emile", authors, { relationBy: "name" })).toEqual({
    kind: "lookups",
    keys: ["ada", "emile"].map((value) => ({ collection: "authors", field: "name", value })),
  });
});

test("bounds of several items count the items, and each item obeys the rules of its kind", () => {
  const tags = field("string", { multiple: true, min: 1, max: 2, values: ["a", "b", "c"] });
  expect(brokenRule(tags, ["a", "b"])).toBeNull();
  expect(brokenRule(tags, ["a", "b", "c"])).toContain("at most 2 items");
  expect(brokenRule(tags, ["x"])).not.toBeNull();
  expect(brokenRule(field("string", { multiple: true, required: true }), [])).not.toBeNull();
  expect(brokenRule(field("string", { multiple: true, max: 2 }), ["longer than two"])).toBeNull();
});
