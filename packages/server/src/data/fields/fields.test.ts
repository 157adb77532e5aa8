/** Field types: for each, values that are accepted with the stored form, and values that are refused. A new type adds a row. */
import { expect, test } from "bun:test";
import { FIELD_TYPES, type FieldType } from "@socle/protocol";
import type { Value } from "../../store/database/index.ts";
import { decode, isEmptySql, needsDecoding, typeNamed, typeOf } from "./index.ts";

interface Row {
  /** JSON value, stored value, answered value if the answered value differs from the first. */
  readonly accepted: readonly (readonly [unknown, Value, unknown?])[];
  readonly refused: readonly unknown[];
}

const notText = [1, true, {}, [], "a\0b", "\ud800"];
const rows: { readonly [type in FieldType]: Row } = {
  string: { accepted: [["é", "é"]], refused: notText },
  text: { accepted: [["two\nlines", "two\nlines"]], refused: notText },
  integer: {
    accepted: [
      [5, 5],
      [1.0, 1],
      [-0, 0, 0],
    ],
    refused: ["5", 1.5, 2 ** 53, Number.NaN, true],
  },
  float: {
    accepted: [
      [1.5, 1.5],
      [-0, 0, 0],
    ],
    refused: ["1.5", Number.POSITIVE_INFINITY, Number.NaN, false],
  },
  boolean: {
    accepted: [
      [true, 1],
      [false, 0],
    ],
    refused: [1, 0, "true", []],
  },
  datetime: {
    accepted: [["2026-03-01", "2026-03-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z"]],
    refused: ["yesterday", 5, "2026-13-01"],
  },
  json: {
    accepted: [
      [{ a: [1, null] }, '{"a":[1,null]}'],
      ["", '""'],
    ],
    refused: [Number.NaN, { a: "\ud800" }, 2 ** 53, [-(2 ** 53)]],
  },
  relation: { accepted: [["rec_1", "rec_1"]], refused: notText },
  file: { accepted: [["fil_1", "fil_1"]], refused: notText },
  geo: {
    accepted: [
      [{ lat: 52.52, lon: 13.405 }, '{"lat":52.52,"lon":13.405}'],
      [{ lon: 180, lat: -90 }, '{"lat":-90,"lon":180}', { lat: -90, lon: 180 }],
      [{ lat: -0, lon: 0 }, '{"lat":0,"lon":0}', { lat: 0, lon: 0 }],
    ],
    refused: [
      { lat: 91, lon: 0 },
      { lat: 0, lon: -180.1 },
      { lat: Number.NaN, lon: 0 },
      { lat: "1", lon: 0 },
      { lat: 1 },
      { lat: 1, lon: 1, alt: 1 },
      { lat: null, lon: 1 },
      [1, 2],
      "1,2",
      5,
    ],
  },
  vector: {
    accepted: [
      [[1, -2.5], "AACAPwAAIMA="],
      [[0.1, 1e-9], "zczMPV9wiTA="],
      [[0.123456789, 0], "6tb8PQAAAAA=", [0.123456791, 0]],
    ],
    refused: [
      [],
      [1],
      [1, 2, 3],
      [0, 0],
      [1, "2"],
      [1, null],
      [1, Number.NaN],
      [Number.POSITIVE_INFINITY, 1],
      [1e16, 0],
      [1e-16, 0],
      "[1,2]",
      5,
      {},
    ],
  },
};

test("every type of the protocol is in the registry, under its own name", () => {
  expect(FIELD_TYPES.map((type) => typeOf({ type }).name)).toEqual([...FIELD_TYPES]);
  expect(typeNamed("toString")).toBeUndefined();
  expect(typeNamed(5)).toBeUndefined();
});

for (const type of FIELD_TYPES) {
  const field = { name: "f", type, ...(type === "vector" && { dimensions: 2 }) };
  for (const [value, stored, answered = value] of rows[type].accepted)
    test(`${type}: ${JSON.stringify(value)} is stored as ${JSON.stringify(stored)} and comes back`, () => {
      expect(typeOf(field).encode(value)).toBe(stored);
      expect(decode(field, stored)).toEqual(answered as never);
      expect(needsDecoding(field)).toBe(typeOf(field).decode !== undefined);
    });
  for (const value of rows[type].refused)
    test(`${type}: ${JSON.stringify(value)} is refused`, () => expect(typeOf(field).encode(value)).toBeUndefined());
  test(`${type}: null stays null, and is empty`, () => {
    expect(decode(field, null)).toBeNull();
    expect(isEmptySql(field, "x")).toContain("x IS NULL");
  });
}

for (const type of ["string", "relation", "file"] as const) {
  const field = { name: "f", type, multiple: true };
  test(`several of ${type}: the JSON of the array is stored, in its order, and comes back`, () => {
    expect(typeOf(field).encode(["b", "a"])).toBe('["b","a"]');
    expect(decode(field, '["b","a"]')).toEqual(["b", "a"]);
    expect(typeOf(field).encode([])).toBe("[]");
    expect(needsDecoding(field)).toBe(true);
    expect(isEmptySql(field, "x")).toBe("(x IS NULL OR x = '[]')");
  });
  for (const value of ["a", 5, {}, null, [5], ["a", null], [["a"]], ["a\0"]])
    test(`several of ${type}: ${JSON.stringify(value)} is refused`, () => {
      expect(typeOf(field).encode(value)).toBeUndefined();
    });
}
