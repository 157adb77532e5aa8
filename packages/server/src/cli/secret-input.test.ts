import { expect, test } from "bun:test";
import { SecretInput } from "./secret-input.ts";

test.each([
  ["plain\r", "plain", "end"],
  ["no end", "no end", null],
  ["wrong\u007f\u007f\u007f\u007f\u007fright\n", "right", "end"],
  ["h\u00e9😀\b!\r", "h\u00e9!", "end"],
  ["all gone\u0015new\r", "new", "end"],
  ["\u0001\u0007a\tb\r", "ab", "end"],
  ["a\u001b[A\u001b[3~\u001bOPb\r", "ab", "end"],
  ["half\u0004", "half", "end"],
  ["half\u0003", "half", "interrupt"],
  ["\u007f\r", "", "end"],
] as const)("%j", (keys, text, last) => {
  const input = new SecretInput();
  let meaning: string | null = null;
  for (const key of keys) meaning = input.type(key);
  expect([input.text, meaning]).toEqual([text, last]);
});
