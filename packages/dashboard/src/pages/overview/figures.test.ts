import { expect, test } from "bun:test";
import type { LogEntry, RequestMinute } from "@socle/protocol";
import { chartRows, figuresOf, latencySummary, problemsOf, requestSummary, slowQueriesOf, ticksTo } from "./figures.ts";

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
  expect(requestSummary(hour, "hour")).toBe("No requests in the last hour");
  expect(latencySummary(hour, "hour")).toBe("No requests in the last hour");
  expect(
    chartRows(hour, "hour").every(({ answered, p50, p99 }) => answered === null && p50 === null && p99 === null),
  ).toBe(true);
  expect(requestSummary([], "week")).toBe("No requests in the last seven days");
});

test("sums, the busiest and the slowest minute", () => {
  const hour = [minute(1, 5, { clientErrors: 2, errors: 1 }), minute(2, 9), minute(3, 0)];
  expect(figuresOf(hour)).toMatchObject({ requests: 14, clientErrors: 2, errors: 1, latest: { requests: 9 } });
  expect(requestSummary(hour, "hour")).toMatch(/^14 requests: 2 refused, 1 failed\. Most at .*: 9\.$/);
  expect(latencySummary(hour, "hour")).toMatch(/p50 2 ms, p99 2 ms.*Slowest/);
  expect(chartRows(hour, "hour")[0]).toMatchObject({ answered: 2, clientErrors: 2, errors: 1, p50: 1 });
  expect(chartRows(hour, "week")[0]?.time).toStartWith("Sun ");
  expect(chartRows(hour, "hour")[2]).toMatchObject({ answered: null, p99: null });
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

function slow(ms: number, fields: object): LogEntry {
  const at = "2026-03-01T09:00:00.000Z";
  return { timestamp: at, level: "WARN", source: "queries", message: "A query was slow", fields: { ms, ...fields } };
}

test("slow queries of one form are a group: the values differ, the fields do not; the longest sum is first", () => {
  const index = '["status"] of posts';
  const groups = slowQueriesOf([
    slow(90, { collection: "posts", filter: 'status = "open" && views > 12', sort: "-views", index }),
    slow(300, { collection: "tags", filter: 'name = "a \\" b"' }),
    slow(250, { collection: "posts", filter: 'status = "done" && views > 7.5', sort: "-views", index }),
    slow(10, { collection: "posts", filter: 'owner = "open"' }),
    { timestamp: "2026-03-01T09:00:00.000Z", level: "WARN", source: "http", message: "Another" },
  ]);
  expect(groups.map(({ collection, shape, count, slowestMs }) => [collection, shape, count, slowestMs])).toEqual([
    ["posts", "status = … && views > … · sorted by -views", 2, 250],
    ["tags", "name = …", 1, 300],
    ["posts", "owner = …", 1, 10],
  ]);
  expect(groups.map((group) => group.index)).toEqual([index, null, null]);
  expect(groups.map(({ medianMs }) => medianMs)).toEqual([90, 300, 10]);
  expect(groups[0]?.newest.fields?.["filter"]).toBe('status = "open" && views > 12');
});

test("problems are the newest entry of each message, without slow queries", () => {
  const entry = (message: string, source = "http"): LogEntry => ({ ...slow(1, {}), message, source });
  const shown = problemsOf([
    entry("5 failed"),
    slow(1, {}),
    entry("4 failed"),
    entry("5 failed", "jobs"),
    entry("other"),
  ]);
  expect(shown.map(({ source, message }) => [source, message])).toEqual([
    ["http", "5 failed"],
    ["jobs", "5 failed"],
    ["http", "other"],
  ]);
});
