import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { copies } from "./copies.ts";

test("the copies of parts of packages are the parts of the packages, with each icon that is used and no other", () => {
  const all = copies();
  expect(all.size).toBe(2);
  for (const [file, text] of all) expect(readFileSync(file, "utf8")).toBe(text);
});
