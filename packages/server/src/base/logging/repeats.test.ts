/** The bounds on log entries that repeat: about failures, and lines that callers cause. */
import { afterEach, expect, jest, test } from "bun:test";
import { monotonicClock } from "../../../test/clock.ts";
import type { LogEntry } from "./entry.ts";
import { Logger } from "./logger.ts";
import { FailureBudget, Repeats } from "./repeats.ts";

// Also after a test that fails: the next test file needs the timers.
afterEach(() => {
  jest.useRealTimers();
});

test("sixty failures a minute are logged; further failures are counted, in the next minute with a failure", () => {
  const more: number[] = [];
  let now = 0;
  const budget = new FailureBudget(
    (failures) => more.push(failures),
    () => now,
  );
  const told = (n: number): number => Array.from({ length: n }, () => budget.take()).filter(Boolean).length;
  expect([told(40), told(40), told(10)]).toEqual([40, 20, 0]);
  now = 59_999;
  expect([told(1), more]).toEqual([0, []]);
  now = 60_000;
  expect([told(1), more]).toEqual([1, [31]]);
  now = 120_000;
  expect([told(70), more]).toEqual([60, [31]]);
});

test("a line that callers cause is a WARN once a minute for each user, with the number of lines that were left out", () => {
  const pass = monotonicClock();
  const entries: LogEntry[] = [];
  const logger = new Logger({ level: "INFO", sinks: [(entry) => entries.push(entry)] });
  const part = logger.for("auth");
  for (let n = 0; n < 7_500; n++) part.often("A notice was left out", { userId: "usr_0", n });
  part.often("A notice was left out", { userId: "usr_1" });
  part.often("Another line");
  logger.often("A notice was left out");
  pass(60_000);
  part.often("A notice was left out", { userId: "usr_0" });
  expect(entries.map(({ level, source, message, fields }) => [level, source, message, fields])).toEqual([
    ["WARN", "auth", "A notice was left out", { userId: "usr_0", n: 0 }],
    ["WARN", "auth", "A notice was left out", { userId: "usr_1" }],
    ["WARN", "auth", "Another line", undefined],
    ["WARN", "socle", "A notice was left out", undefined],
    ["WARN", "auth", "A notice was left out", { userId: "usr_0", leftOut: 7_499 }],
  ]);
});

test("lines of WARN and ERROR with the same text are written so often a minute, and counted at its end; other lines are all written", () => {
  jest.useFakeTimers();
  const pass = monotonicClock();
  const entries: LogEntry[] = [];
  const logger = new Logger({ level: "INFO", sinks: [(entry) => entries.push(entry)], repeats: new Repeats(3) });
  const written = (): unknown[] =>
    entries.splice(0).map(({ level, source, message, fields }) => [level, source, message, fields ?? {}]);
  const part = logger.for("functions");
  for (let n = 0; n < 10; n++) part.warn("Slow", { n });
  expect(written()).toEqual([0, 1, 2].map((n) => ["WARN", "functions", "Slow", { n }]));
  for (let n = 0; n < 10; n++) {
    logger.info("Slow");
    logger.debug("Slow");
    // Another source, level, error or file is another line.
    logger.warn("Slow", { error: `error ${n}` });
    part.warn("Slow", { file: `${n}.ts` });
    if (n < 3) part.error("Slow");
  }
  expect(written()).toHaveLength(33);
  pass(60_000);
  jest.advanceTimersByTime(60_000);
  expect(written()).toEqual([["WARN", "functions", "Slow", { n: 3, leftOut: 7 }]]);
  part.warn("Slow", { n: 10 });
  expect(written()).toEqual([["WARN", "functions", "Slow", { n: 10 }]]);
});
