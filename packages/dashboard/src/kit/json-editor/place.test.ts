/** Tests of the place of an error in JSON. */
import { expect, test } from "bun:test";
import { jsonErrorPlace } from "./place.ts";

test.each(["", "  ", "null", '{"a":[1,2]}', '"text"'])("%p has no error", (text) =>
  expect(jsonErrorPlace(text)).toBeNull(),
);

test("the first error has a line and a column", () => {
  expect(jsonErrorPlace('{\n  "a": [1, 2,, 3]\n}')).toEqual({ offset: 15, line: 2, column: 14 });
});

test.each(["{", "[1", '{"a"', "tru", "{a:1}", "[1,]", "01", '"\u0001"'])("%p has an error within the text", (text) => {
  const place = jsonErrorPlace(text);
  expect(place?.offset).toBeGreaterThanOrEqual(0);
  expect(place?.offset).toBeLessThanOrEqual(text.length);
});
