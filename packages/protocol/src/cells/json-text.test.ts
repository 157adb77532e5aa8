import { expect, test } from "bun:test";
import { InexactNumber, parseJsonText } from "./index.ts";

test.each([
  "123456789012345678901234567890",
  "-237462374673276894279832749832423479823246327846",
  '{"a":[{"b":1000000000000000000000}]}',
])("%s has a whole number that cannot be stored", (text) => {
  expect(() => parseJsonText(text)).toThrow(InexactNumber);
});

test.each([
  "123e45",
  "1E22",
  "-1.5e+300",
  "100000000000000000000",
  "0.12345678901234567890123456789",
  "1234567890123456789012.5",
  '"123456789012345678901234567890"',
  '{"123456789012345678901234567890":1}',
  '[null,true,{"__proto__":1}]',
])("%s is read as JSON.parse reads the text", (text) => {
  expect(parseJsonText(text)).toEqual(JSON.parse(text));
});

test("a text that is not JSON is a SyntaxError, with many digits, too", () => {
  for (const text of ["", "{", "[1234567890123456789012345,]"]) expect(() => parseJsonText(text)).toThrow(SyntaxError);
});
