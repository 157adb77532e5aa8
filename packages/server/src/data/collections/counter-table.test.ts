/** Keys of counters: JavaScript and SQL write the same key for the same values. */
import { Database as Driver } from "bun:sqlite";
import { expect, test } from "bun:test";
import { counterKey } from "./index.ts";

const control = Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code));
const texts = [
  "",
  "a",
  'a"b',
  '"',
  "a\\b",
  "\\u0041",
  "</a>",
  "é",
  "😀",
  "\u007f",
  "\u0085",
  "\u2028",
  "\ufeff",
  ...control.slice(1),
];
const values = [null, 0, 1, -7, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, ...texts];

test("quotes, control characters and numbers have the same key in JavaScript and in SQL", () => {
  const driver = new Driver(":memory:");
  const keyOf = driver.query<{ key: string }, (string | number | null)[]>("SELECT json_array(?, ?) AS key");
  for (const value of values) expect(keyOf.get(value, "x")?.key).toBe(counterKey([value, "x"]));
  driver.close();
});
