/** Tests of runs of jobs. */
import { describe, expect, test } from "bun:test";
import type { JobRun } from "@socle/protocol";
import { barHeight, durationOf, isOpen, runsOf } from "./job-runs.ts";

const time = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString();
const at = (seconds: number): number => Date.parse(time(seconds));

function attempt(runId: string, from: number, more: Partial<JobRun> = {}): JobRun {
  return { runId, startedAt: time(from), endedAt: time(from + 1), status: "failed", attempt: 1, ...more };
}

describe("runs of a job", () => {
  test("attempts of a run are a single run, from the first start to the last end", () => {
    const runs = runsOf([
      attempt("b", 20, { status: "running", endedAt: null }),
      attempt("a", 6, { attempt: 2, status: "completed" }),
      attempt("a", 0),
    ]);
    expect(runs.map(({ runId, durationMs, last }) => [runId, durationMs, last.status])).toEqual([
      ["b", null, "running"],
      ["a", 7_000, "completed"],
    ]);
    expect(runsOf([])).toEqual([]);
  });

  test("a late attempt of an older run does not make the run the newest", () => {
    const runs = runsOf([attempt("old", 30, { attempt: 2 }), attempt("new", 20), attempt("old", 0)]);
    expect(runs.map(({ runId }) => runId)).toEqual(["new", "old"]);
  });

  test("a clock that was put back gives no negative duration", () => {
    expect(durationOf({ startedAt: time(5), endedAt: time(3) })).toBe(0);
    expect(durationOf({ startedAt: time(5), endedAt: null })).toBeNull();
  });

  test("a failed attempt is open as long as a retry may follow", () => {
    expect(isOpen(attempt("a", 0, { status: "running", endedAt: null }), 0, at(1_000))).toBe(true);
    expect(isOpen(attempt("a", 0), 2, at(5))).toBe(true);
    expect(isOpen(attempt("a", 0), 2, at(12))).toBe(false);
    expect(isOpen(attempt("a", 0, { attempt: 2 }), 2, at(12))).toBe(true);
    expect(isOpen(attempt("a", 0, { attempt: 3 }), 2, at(2))).toBe(false);
    expect(isOpen(attempt("a", 0), 0, at(2))).toBe(false);
    expect(isOpen(attempt("a", 0, { status: "completed" }), 2, at(2))).toBe(false);
  });

  test("bars have a visible height, and no bar is higher than the longest", () => {
    expect(barHeight(1_000, 1_000)).toBe(100);
    expect(barHeight(500, 1_000)).toBe(50);
    expect(barHeight(1, 1_000)).toBe(10);
    expect(barHeight(null, 1_000)).toBe(10);
    expect(barHeight(0, 0)).toBe(10);
    expect(barHeight(2_000, 1_000)).toBe(100);
  });
});
