/** Tests of the readers of a run's log entries. */
import { describe, expect, test } from "bun:test";
import type { LogEntry, LogLevel } from "@socle/protocol";
import { fieldsOf, lastStack } from "./run-log.tsx";

function entry(level: LogLevel, fields?: LogEntry["fields"]): LogEntry {
  const base = { timestamp: "2026-11-22T06:45:27.050Z", level, message: "m", source: "functions" };
  return fields === undefined ? base : { ...base, fields };
}

describe("the log of a run", () => {
  test("fields leave out the parts of the page", () => {
    expect(fieldsOf(entry("INFO", { id: "rec_1", file: "jobs/a.ts", runId: "run_1" }))).toBe('{"id":"rec_1"}');
    expect(fieldsOf(entry("INFO", { file: "jobs/a.ts", runId: "run_1" }))).toBe("");
    expect(fieldsOf(entry("INFO"))).toBe("");
  });

  test("the newest stack counts, or the stack of an attempt", () => {
    const entries = [
      entry("ERROR", { stack: "first", attempt: 1 }),
      entry("ERROR", { stack: "second", attempt: 2 }),
      entry("INFO", { stack: "no error" }),
      entry("ERROR", { stack: 12 }),
    ];
    expect(lastStack(entries)).toBe("second");
    expect(lastStack(entries, 1)).toBe("first");
    expect(lastStack(entries, 3)).toBeNull();
    expect(lastStack([])).toBeNull();
  });
});
