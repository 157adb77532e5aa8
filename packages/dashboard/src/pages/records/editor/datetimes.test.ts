/** Tests of reading and writing times. */
import { describe, expect, test } from "bun:test";
import { dayOf, isDateOnly, parseDateTime, writeDateTime, zoneName } from "./datetimes.ts";

describe("a time is read", () => {
  test.each([
    ["2026-03-01T09:30:00Z", "2026-03-01T09:30:00.000Z"],
    ["2026-03-01t09:30:00z", "2026-03-01T09:30:00.000Z"],
    ["2026-03-01T09:30:00+01:00", "2026-03-01T08:30:00.000Z"],
    ["2026-03-01 09:30 -0530", "2026-03-01T15:00:00.000Z"],
    ["2026-03-01T09:30:00.123456Z", "2026-03-01T09:30:00.123Z"],
    ["2026-03-01T09:30:00.5Z", "2026-03-01T09:30:00.500Z"],
    ["2026-03-01", "2026-03-01T00:00:00.000Z"],
    ["2024-02-29", "2024-02-29T00:00:00.000Z"],
    ["0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"],
    ["0099-06-01", "0099-06-01T00:00:00.000Z"],
    [" 2026-03-01 09:30:00 ", "2026-03-01T09:30:00.000Z"],
  ])("%s", (text, expected) => expect(parseDateTime(text, "utc")).toBe(expected));

  test("without an offset the time is in the zone of the page", () => {
    expect(parseDateTime("2026-03-01 09:30:15", "local")).toBe(new Date(2026, 2, 1, 9, 30, 15).toISOString());
  });

  test("a date alone is its beginning in UTC, also if the page shows local times", () => {
    expect(parseDateTime("2026-03-01", "local")).toBe("2026-03-01T00:00:00.000Z");
  });
});

test.each([
  "",
  "now",
  "2026-02-30",
  "2025-02-29",
  "2026-13-01",
  "2026-00-10",
  "2026-03-01T24:00:00Z",
  "2026-03-01T09:60:00Z",
  "2026-03-01T09:30:61Z",
  "2026-03-01T09:30:00+25:00",
  "01.03.2026",
  "2026-3-1",
  "12026-03-01",
  "9999-12-31T23:59:59-01:00",
  "0000-01-01T00:00:00+01:00",
])("%p is no time", (text) => expect(parseDateTime(text, "utc")).toBeNull());

test("a written time is read again", () => {
  for (const time of ["2026-03-01T08:30:00.000Z", "2026-10-25T23:30:00.007Z", "0099-06-01T12:00:00.000Z"]) {
    expect(parseDateTime(writeDateTime(time, "utc"), "utc")).toBe(time);
    expect(parseDateTime(writeDateTime(time, "local"), "local")).toBe(time);
  }
});

test("a text that is no time stays unchanged", () => expect(writeDateTime("tomorrow", "utc")).toBe("tomorrow"));

test("the zone has a name", () => expect(zoneName("utc", null)).toBe("UTC"));

test("midnight UTC is a day, the same in every zone; any other time is no day", () => {
  for (const zone of ["utc", "local"] as const) {
    expect(writeDateTime("1929-10-21T00:00:00.000Z", zone)).toBe("1929-10-21");
    expect(parseDateTime("1929-10-21", zone)).toBe("1929-10-21T00:00:00.000Z");
  }
  expect(isDateOnly("1929-10-21T00:00:00Z")).toBe(true);
  for (const time of [
    "1929-10-21T00:00:00.001Z",
    "1929-10-21T00:01:00.000Z",
    "1929-10-21T00:00:00+01:00",
    "1929-10-21",
  ])
    expect(isDateOnly(time)).toBe(false);
  expect(dayOf("2026-03-01T23:30:00.000Z", "utc")).toBe("2026-03-01");
});
