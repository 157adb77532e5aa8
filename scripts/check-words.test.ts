import { expect, test } from "bun:test";
import { countWords, problemsOf } from "./check-words.ts";

test("stand-ins, openings and comments that repeat a type are counted in comments, not in code", () => {
  const source = [
    "/** Whether it is one of those. */",
    'export const it = "it, those and none"; // it',
    "  /** Bytes. */",
    "// Of all readers, `it` is the last.",
  ].join("\n");
  expect(countWords("a.ts", source)).toEqual({
    file: "a.ts",
    words: 14,
    standIns: 3,
    comments: 3,
    openings: 1,
    repeats: [3],
  });
});

test("a page is prose, its examples are not", () => {
  const { words, standIns } = countWords("a.md", "# One page\n\n```ts\nit();\n```\n\nThose readers wait.\n");
  expect([words, standIns]).toEqual([5, 2]);
});

test("each bound that is exceeded is told", () => {
  const bad = { file: "a.ts", words: 100, standIns: 20, comments: 10, openings: 5, repeats: [7] };
  const problems = problemsOf([bad]);
  expect(problems[0]).toBe("a.ts:7: the comment repeats the type");
  expect(problems[1]).toStartWith("200.0 stand-ins in 1,000 words");
  expect(problems[2]).toStartWith("50.0 % of the comments open");
  expect(problemsOf([{ ...bad, standIns: 0, openings: 0, repeats: [] }])).toEqual([]);
});
