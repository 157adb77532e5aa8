import { afterEach, expect, setSystemTime, test } from "bun:test";
import { latencyBounds, RequestMeter } from "./meters.ts";

afterEach(() => {
  setSystemTime();
});

const minute = 60_000;
const start = Date.parse("2026-03-01T10:00:00Z");

test("each minute of the last hour has its own numbers, and an older minute has no numbers", () => {
  const meter = new RequestMeter();
  setSystemTime(start + 5_000);
  for (const status of [200, 201, 404, 500, 503]) meter.count("GET", status, 3);
  setSystemTime(start + minute);
  meter.count("POST", 201, 30);
  const hour = meter.lastHour();
  expect(hour).toHaveLength(60);
  expect(hour.map((each) => each.minute)).toEqual(
    Array.from({ length: 60 }, (_, i) => new Date(start + (i - 58) * minute).toISOString()),
  );
  expect(hour.at(-2)).toMatchObject({ requests: 5, clientErrors: 1, errors: 2 });
  expect(hour.at(-1)).toMatchObject({ requests: 1, clientErrors: 0, errors: 0 });
  expect(hour.at(-3)).toMatchObject({ requests: 0, p50: null, p99: null });
  // The place of a minute is used again an hour later.
  setSystemTime(start + 60 * minute);
  expect(
    meter
      .lastHour()
      .map(({ requests }) => requests)
      .filter((n) => n > 0),
  ).toEqual([1]);
  meter.count("GET", 200, 1);
  expect(
    meter
      .lastHour()
      .map(({ requests }) => requests)
      .filter((n) => n > 0),
  ).toEqual([1, 1]);
  setSystemTime(start + 600 * minute);
  expect(meter.lastHour().every(({ requests }) => requests === 0)).toBe(true);
});

test("the last week by hours; a request of the dashboard is in the totals alone", () => {
  const meter = new RequestMeter();
  setSystemTime(start + 5_000);
  meter.count("GET", 500, 3);
  setSystemTime(start + 90 * minute);
  meter.count("GET", 200, 3);
  meter.countOwn("GET", 200, 3);
  const week = meter.lastWeek();
  expect(week).toHaveLength(7 * 24);
  expect(week.slice(-2)).toMatchObject([
    { minute: "2026-03-01T10:00:00.000Z", requests: 1, errors: 1 },
    { minute: "2026-03-01T11:00:00.000Z", requests: 1, errors: 0 },
  ]);
  expect(week.slice(0, -2).every(({ requests }) => requests === 0)).toBe(true);
  expect(meter.lastHour().reduce((sum, { requests }) => sum + requests, 0)).toBe(1);
  expect(meter.totals().reduce((sum, { requests }) => sum + requests, 0)).toBe(3);
});

test("latencies are estimated within their bucket", () => {
  const meter = new RequestMeter();
  for (let n = 0; n < 98; n++) meter.count("GET", 200, 7);
  for (let n = 0; n < 2; n++) meter.count("GET", 200, 400);
  const now = meter.lastHour().at(-1);
  expect(now?.p50).toBeGreaterThan(5);
  expect(now?.p50).toBeLessThanOrEqual(10);
  expect(now?.p99).toBeGreaterThan(250);
  expect(now?.p99).toBeLessThanOrEqual(500);
  const endless = new RequestMeter();
  endless.count("GET", 200, 1e9);
  expect(endless.lastHour().at(-1)?.p99).toBe(latencyBounds.at(-1) ?? 0);
});

test("totals by method and class of status; unknown methods are a single method", () => {
  const meter = new RequestMeter();
  for (const [method, status, ms] of [
    ["GET", 200, 0.1],
    ["GET", 204, 0.2],
    ["GET", 404, 2],
    ["PATCH", 500, 20_000],
    ["BREW", 405, 1],
    ["X-1", 405, 1],
    ["GET", 101, 1],
  ] as const)
    meter.count(method, status, ms);
  expect(meter.totals()).toEqual([
    { method: "GET", status: "1xx", requests: 1 },
    { method: "GET", status: "2xx", requests: 2 },
    { method: "GET", status: "4xx", requests: 1 },
    { method: "PATCH", status: "5xx", requests: 1 },
    { method: "other", status: "4xx", requests: 2 },
  ]);
  const { atMost, count, sumMs } = meter.durations.totals();
  expect([count, Math.round(sumMs)]).toEqual([7, 20_005]);
  expect(atMost.map(([, n]) => n)).toEqual([2, 2, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6]);
});
