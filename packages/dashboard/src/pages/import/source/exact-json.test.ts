/** JSON with numbers as written. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseExact, plainJson, WrittenNumber } from "./exact-json.ts";

test("any JSON is read as JSON.parse reads the JSON, but numbers that are written otherwise", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(JSON.stringify(parseExact(text))).toBe(text);
    }),
  );
  const found = parseExact('{"a":0.10,"b":[1.0,"2.50",{"c":-1E5}],"d":"\\"9.90\\\\","9.90":12345678901234567890}');
  expect(found).toEqual({
    a: new WrittenNumber("0.10", 0.1),
    b: [new WrittenNumber("1.0", 1), "2.50", { c: new WrittenNumber("-1E5", -100_000) }],
    d: '"9.90\\',
    "9.90": new WrittenNumber("12345678901234567890", 12345678901234567000),
  });
  // Rejected rows are written as the rows were, where the browser can.
  expect(["0.10", "0.1"]).toContain(JSON.stringify(new WrittenNumber("0.10", 0.1)));
});

test("broken JSON stays broken", () => {
  for (const text of ["01", "1.", "-", "[1.2.3]", "0x10", "{a:1}", '"', "[1 2]", "1e", "1.50.1", "NaN", "+1"])
    expect(() => parseExact(text)).toThrow(SyntaxError);
});

test("the value for a json field: doubles, and no number that cannot be stored exactly", () => {
  expect(plainJson(parseExact('{"a":[0.10,1.0,null,"x",9007199254740991]}'))).toEqual({
    a: [0.1, 1, null, "x", 9007199254740991],
  });
  for (const text of ["9007199254740993", "901656910939770881", "1e400", '{"a":[{"b":-12345678901234567890}]}'])
    expect(plainJson(parseExact(text))).toBeUndefined();
});
