/** Tests of reading numbers. */
import { describe, expect, test } from "bun:test";
import { parseNumber, stepNumber } from "./numbers.ts";

describe("integers", () => {
  test.each([
    ["0", 0],
    ["-0", 0],
    [" 42 ", 42],
    ["+7", 7],
    ["−7", -7],
    ["1.0", 1],
    ["1e3", 1_000],
    ["12.50e1", 125],
    ["9007199254740991", Number.MAX_SAFE_INTEGER],
    ["-9007199254740991", Number.MIN_SAFE_INTEGER],
  ])("%s is a channel", (text, value) => expect(parseNumber(text, "integer")).toEqual({ value, isExact: true }));

  test.each(["9007199254740992", "9007199254740993", "1e300", "1e999999999"])("%s would lose digits", (text) =>
    expect(parseNumber(text, "integer")).toEqual({ problem: "tooLarge" }),
  );

  test.each(["1.5", "0.1", "1e-1", "9007199254740991.4"])("%s is not whole", (text) =>
    expect(parseNumber(text, "integer")).toEqual({ problem: "notWhole" }),
  );

  test.each(["", " ", "abc", "NaN", "Infinity", "0x10", "1_000", "1,000", ".", "-", "e5", "1e", "12a", "1 2"])(
    "%p is no number",
    (text) => expect(parseNumber(text, "integer")).toEqual({ problem: "notANumber" }),
  );
});

describe("floats", () => {
  test.each([
    ["0.1", 0.1],
    ["1.50", 1.5],
    [".5", 0.5],
    ["5.", 5],
    ["1e21", 1e21],
    ["-1.5E-7", -1.5e-7],
    ["00012.5", 12.5],
  ])("%s is stored unchanged", (text, value) => expect(parseNumber(text, "float")).toEqual({ value, isExact: true }));

  test("digits that a float does not store are reported", () => {
    expect(parseNumber("0.12345678901234567890", "float")).toEqual({ value: 0.12345678901234568, isExact: false });
    expect(parseNumber("9007199254740993", "float")).toEqual({ value: 9_007_199_254_740_992, isExact: false });
    expect(parseNumber("1e-400", "float")).toEqual({ value: 0, isExact: false });
  });

  test("a number beyond all floats is refused", () => {
    expect(parseNumber("1e309", "float")).toEqual({ problem: "tooLarge" });
    expect(parseNumber("Infinity", "float")).toEqual({ problem: "notANumber" });
  });
});

test("steps stay within the bounds, and make no digits of their own", () => {
  expect(stepNumber(0.1, 1, {})).toBe(1.1);
  expect(stepNumber(9, 10, { max: 12 })).toBe(12);
  expect(stepNumber(1, -10, { min: 0 })).toBe(0);
  expect(stepNumber(Number.MAX_SAFE_INTEGER, 1, {})).toBeNull();
});

test("a decimal comma differs from a text that is no number", () => {
  expect(parseNumber("9,99", "float")).toEqual({ problem: "decimalComma" });
  expect(parseNumber("1,2,3", "float")).toEqual({ problem: "notANumber" });
  expect(parseNumber("1,000", "integer")).toEqual({ problem: "notANumber" });
});
