/** Tests of the log in memory. */
import { expect, test } from "bun:test";
import type { LogEntry, LogLevel } from "@socle/protocol";
import { fieldsLine, longTexts, maxLines, shownOf, toggled, toNdjson, withCome, withRead } from "./log-lines.ts";

function entry(second: number, message: string, level: LogLevel = "INFO"): LogEntry {
  return { timestamp: new Date(second * 1_000).toISOString(), level, message, source: "test" };
}

const messages = (lines: ReturnType<typeof withRead>): string[] => lines.map(({ entry: { message } }) => message);

test("read and received lines are joined once each, in the order of time", () => {
  const come = withCome([], [entry(2, "b"), entry(4, "d")]);
  const lines = withRead(come, [entry(1, "a"), entry(2, "b"), entry(3, "c"), entry(4, "d")]);
  expect(messages(lines)).toEqual(["a", "b", "c", "d"]);
  expect(new Set(lines.map(({ key }) => key)).size).toBe(4);
  expect(withRead(lines, [entry(3, "c")])).toBe(lines);
});

test("two equal entries stay two, however often the entries are read", () => {
  const twice = [entry(1, "same"), entry(1, "same")];
  const lines = withRead([], twice);
  expect(messages(withRead(lines, twice))).toEqual(["same", "same"]);
  expect(messages(withRead(withCome([], [entry(1, "same")]), twice))).toEqual(["same", "same"]);
});

test("the memory has a bound, and a later read does not bring back dropped lines", () => {
  const many = Array.from({ length: maxLines + 10 }, (_, n) => entry(n, `entry ${n}`));
  const lines = withCome([], many);
  expect(lines).toHaveLength(maxLines);
  expect(lines[0]?.entry.message).toBe("entry 10");
  expect(withRead(lines, many.slice(0, 5))).toBe(lines);
});

test("levels and text: a line that does not match is not shown, and is counted by its level", () => {
  const lines = withCome([], [entry(1, "Mail sent"), entry(2, "MAIL lost", "ERROR"), entry(3, "other", "ERROR")]);
  const shown = shownOf(lines, { levels: ["ERROR"], search: "mail" });
  expect(messages(shown.lines)).toEqual(["MAIL lost"]);
  expect(shown.counts).toEqual({ DEBUG: 0, INFO: 1, WARN: 0, ERROR: 1 });
  expect(shownOf(lines, { levels: [], search: "" }).lines).toHaveLength(3);
});

test("a search reads the fields and the request's id, too, but not the separators", () => {
  const lines = withCome([], [{ ...entry(1, "x"), requestId: "req_7", fields: { post: "Rec_1" } }]);
  for (const search of ["REQ_7", "rec_1", "test"]) expect(shownOf(lines, { levels: [], search }).lines).toHaveLength(1);
  for (const search of ["xtest", "undefined", "timestamp"])
    expect(shownOf(lines, { levels: [], search }).lines).toEqual([]);
});

test("a level is switched off and on; all levels are written as no level", () => {
  expect(toggled([], "DEBUG")).toEqual(["INFO", "WARN", "ERROR"]);
  expect(toggled(["INFO", "WARN", "ERROR"], "DEBUG")).toEqual([]);
  expect(toggled(["WARN"], "WARN")).toEqual([]);
});

test("stack traces are found among the fields, with their paths", () => {
  expect(longTexts({ error: { message: "m", stack: "E: m\n  at x" }, n: 1 })).toEqual([
    { path: "error.stack", value: "E: m\n  at x" },
  ]);
  expect(longTexts(undefined)).toEqual([]);
});

test("fields in a line", () => {
  expect(fieldsLine({ file: "a.ts", n: 2, list: [1] })).toBe("file=a.ts  n=2  list=[1]");
  expect(fieldsLine({ text: "x".repeat(1_000) })).toHaveLength(300);
  expect(fieldsLine(undefined)).toBe("");
});

test("a download has an entry in each line", () => {
  const text = toNdjson(withCome([], [entry(1, "a\nb"), entry(2, "c")]));
  expect(
    text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([entry(1, "a\nb"), entry(2, "c")]);
});
