import { expect, test } from "bun:test";
import type { FunctionRun, RequestMinute } from "@socle/protocol";
import { chartRows, figuresOf, latencySummary, latestRuns, requestSummary, ticksTo } from "./figures.ts";

function minute(at: number, requests: number, more: Partial<RequestMinute> = {}): RequestMinute {
  const p = requests === 0 ? null : at;
  return {
    minute: `2026-03-01T09:${String(at).padStart(2, "0")}:00.000Z`,
    requests,
    clientErrors: 0,
    errors: 0,
    p50: p,
    p99: p,
    ...more,
  };
}

test("an hour without requests is noted, and draws nothing", () => {
  const hour = [minute(0, 0), minute(1, 0)];
  expect(figuresOf(hour)).toEqual({ requests: 0, clientErrors: 0, errors: 0, latest: null });
  expect(requestSummary(hour)).toBe("No requests in the last hour");
  expect(latencySummary(hour)).toBe("No requests in the last hour");
  expect(chartRows(hour).every(({ answered, p50, p99 }) => answered === null && p50 === null && p99 === null)).toBe(
    true,
  );
  expect(requestSummary([])).toBe("No requests in the last hour");
});

test("sums, the busiest and the slowest minute", () => {
  const hour = [minute(1, 5, { clientErrors: 2, errors: 1 }), minute(2, 9), minute(3, 0)];
  expect(figuresOf(hour)).toMatchObject({ requests: 14, clientErrors: 2, errors: 1, latest: { requests: 9 } });
  expect(requestSummary(hour)).toMatch(
    /^14 requests in the last hour: 2 refused, 1 failed\. Most at .*: 9 in a minute\.$/,
  );
  expect(latencySummary(hour)).toMatch(/p50 2 ms, p99 2 ms.*Slowest/);
  expect(chartRows(hour)[0]).toMatchObject({ answered: 2, clientErrors: 2, errors: 1, p50: 1 });
  expect(chartRows(hour)[2]).toMatchObject({ answered: null, p99: null });
});

test("an axis has round figures, at most five, and the greatest value is below its end", () => {
  expect(ticksTo(272)).toEqual([0, 100, 200, 300]);
  expect(ticksTo(1_556)).toEqual([0, 500, 1_000, 1_500, 2_000]);
  expect(ticksTo(91)).toEqual([0, 50, 100]);
  for (const nothing of [0, 0.3, 1]) expect(ticksTo(nothing)).toEqual([0, 1]);
  for (let value = 0; value < 5_000; value += 7) {
    const ticks = ticksTo(value);
    expect(ticks.length).toBeLessThanOrEqual(5);
    expect(ticks.at(-1)).toBeGreaterThanOrEqual(value);
    expect(ticks.every(Number.isInteger)).toBe(true);
  }
});

test("runs are listed newest first, each once, also runs of jobs", () => {
  const run = (runId: string, status: FunctionRun["status"], at: string): FunctionRun => ({
    runId,
    status,
    createdAt: at,
    endedAt: null,
    collection: "posts",
    handler: "onCreate",
    eventType: "posts.created",
    filePath: "functions/posts/notify.ts",
    eventId: "evt_1",
    durationMs: null,
    error: null,
    canRetry: false,
  });
  const attempt = (runId: string, n: number, startedAt: string) =>
    ({ runId, startedAt, endedAt: null, status: "failed", attempt: n }) as const;
  const job = {
    name: "cleanup",
    attempts: [
      attempt("j", 2, "2026-03-01T09:03:00Z"),
      attempt("j", 1, "2026-03-01T09:02:59Z"),
      attempt("i", 1, "2026-03-01T09:00:00Z"),
    ],
  };
  const again = { ...run("d", "completed", "2026-03-01T08:00:00Z"), endedAt: "2026-03-01T08:10:00Z" };
  const functions = [
    again,
    { ...again, status: "failed" as const, endedAt: "2026-03-01T08:05:00Z" },
    run("a", "completed", "2026-03-01T09:05:00Z"),
    run("b", "failed", "2026-03-01T09:01:00Z"),
    run("b", "failed", "2026-03-01T09:01:00Z"),
    run("c", "running", "2026-03-01T09:06:00Z"),
  ];
  expect(latestRuns(functions, [job], 10).map(({ runId }) => runId)).toEqual(["c", "a", "j", "b", "i", "d"]);
  expect(latestRuns(functions, [], 10).at(-1)).toMatchObject({ runId: "d", status: "completed" });
  expect(latestRuns(functions, [job], 2).map(({ runId }) => runId)).toEqual(["c", "a"]);
});
