/** The cause of a failure: messages that differ by values alone have one cause, and other places, kinds and words have others. */
import { expect, test } from "bun:test";
import { causeOf, type Failure, withoutValues } from "./cause.ts";

test.each([
  ['no user "ann"', "no user …"],
  ["no user 'ann smith' here", "no user … here"],
  ["can't read ann's book", "can't read ann's book"],
  ["no user `ann`, “bob” or «eve»", "no user … or …"],
  ["user ann@example.com is unknown", "user … is unknown"],
  ["550 5.1.1 <ann@example.com>: unknown", "… <…>: unknown"],
  ["https://example.com/a?b=c answered 503", "… answered …"],
  ["connect to 127.0.0.1:5432 and [::1]:80", "connect to … and […]:…"],
  ["rec_0199f0c2aa8b7d3e8a1b2c3d4e5f6071 is gone", "… is gone"],
  ["0199f0c2-aa8b-7d3e-8a1b-2c3d4e5f6071 is gone", "… is gone"],
  ["took 1,234.5 ms, more than 1000", "took … ms, more than …"],
  ["missing: 1, 2, 3; 4", "missing: …"],
  ["two\n  lines", "two lines"],
])("%j → %j", (message, expected) => {
  expect(withoutValues(message)).toBe(expected);
});

const failure = (error: string, other: Partial<Failure> = {}): Failure => {
  return { kind: "function", path: "functions/posts/a.ts", error, at: 1, run: "run_1", record: null, ...other };
};
const idOf = (error: string, other?: Partial<Failure>): string => causeOf(failure(error, other)).id;

test("the place of the error, or else the file of the handler, is part of the cause", () => {
  const cause = causeOf(failure("Error: no 5 (functions/_shared.ts:12:9)"));
  expect(cause).toMatchObject({ kind: "function", file: "functions/_shared.ts", line: 12, message: "Error: no …" });
  const inBrackets = causeOf(failure("no (place)"));
  expect(inBrackets).toMatchObject({ file: "functions/posts/a.ts", line: null, message: "no (place)" });
  expect(causeOf(failure("no (endpoints/[id].ts)"))).toMatchObject({ file: "endpoints/[id].ts", line: null });
  expect(causeOf(failure("no", { kind: "mail", path: null }))).toMatchObject({ file: null, line: null });
});

test("equal causes have equal ids in all processes, and other kinds, lines, files and words have other ids", () => {
  const id = idOf("no 5 (functions/a.ts:1:2)");
  expect(id).toMatch(/^flr_[0-9a-f]{24}$/);
  expect(idOf("no 6 (functions/a.ts:1:9)", { at: 2, run: "run_2", record: "rec_2", path: "functions/b.ts" })).toBe(id);
  const others = [
    idOf("no 5 (functions/a.ts:2:2)"),
    idOf("no 5 (functions/b.ts:1:2)"),
    idOf("none 5 (functions/a.ts:1:2)"),
    idOf("no 5 (functions/a.ts:1:2)", { kind: "hook" }),
  ];
  expect(new Set([id, ...others]).size).toBe(5);
});

test("no message takes more than its length: a million characters of any kind are cut", () => {
  for (const part of ["a", "'", '"a', "@", "1.", "…, ", " (", "a@b:", "\n"]) {
    const { message, file } = causeOf(failure(part.repeat(1_000_000 / part.length)));
    expect(message.length).toBeLessThanOrEqual(300);
    expect(file).toBe("functions/posts/a.ts");
  }
});
