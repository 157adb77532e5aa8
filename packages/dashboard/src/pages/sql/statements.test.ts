import { expect, test } from "bun:test";
import type { SqlAnswer } from "@socle/protocol";
import { fileOf, planLines } from "./answer.ts";
import { withLast, withSaved } from "./statements.ts";

test("the last statements have the newest first, none twice, and an end", () => {
  let last: string[] = [];
  for (let n = 0; n < 40; n++) last = withLast(last, `SELECT ${n}`);
  last = withLast(last, "SELECT 20");
  expect([last.length, last[0], last.at(-1)]).toEqual([30, "SELECT 20", "SELECT 10"]);
  expect(last.filter((sql) => sql === "SELECT 20")).toHaveLength(1);
});

test("a saved statement replaces the statement of its name", () => {
  const saved = withSaved([{ name: "b", sql: "SELECT 1" }], { name: "a", sql: "SELECT 2" });
  expect(withSaved(saved, { name: "b", sql: "SELECT 3" })).toEqual([
    { name: "a", sql: "SELECT 2" },
    { name: "b", sql: "SELECT 3" },
  ]);
});

const answer: SqlAnswer = {
  columns: ["n", "text"],
  rows: [
    { n: -5, text: "=cmd()" },
    { n: null, text: "" },
  ],
  isCut: false,
  ms: 1,
  plan: [
    { id: 2, parent: 0, detail: "SCAN posts" },
    { id: 5, parent: 0, detail: "COMPOUND" },
    { id: 7, parent: 5, detail: "SEARCH posts USING INDEX posts_views (views=?)" },
  ],
};

test("the rows as CSV keep null and empty apart, and no text becomes a formula; as JSON they are unchanged", () => {
  expect(fileOf(answer, "csv").text).toBe('\ufeffn,text\r\n-5,\'=cmd()\r\n,""\r\n');
  expect(JSON.parse(fileOf(answer, "json").text)).toEqual(answer.rows);
});

test("the lines of a plan have a depth, and name whole reads of a table", () => {
  expect(planLines(answer.plan)).toEqual([
    { id: 2, depth: 0, detail: "SCAN posts", isFull: true },
    { id: 5, depth: 0, detail: "COMPOUND", isFull: false },
    { id: 7, depth: 1, detail: "SEARCH posts USING INDEX posts_views (views=?)", isFull: false },
  ]);
  // An index that has all columns is read as a whole, and a constant has no table.
  const scans = ["SCAN posts USING COVERING INDEX posts_views", "SCAN CONSTANT ROW"];
  expect(planLines(scans.map((detail, id) => ({ id, parent: 0, detail }))).map(({ isFull }) => isFull)).toEqual([
    false,
    false,
  ]);
});
