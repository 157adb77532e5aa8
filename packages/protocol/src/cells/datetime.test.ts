/** Datetimes: the forms that are read, and the texts that are refused. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseDatetime, readDatetime } from "./datetime.ts";

test("a returned text is accepted, unchanged", () => {
  const years = {
    min: new Date("0000-01-01T00:00:00Z"),
    max: new Date("9999-12-31T23:59:59.999Z"),
    noInvalidDate: true,
  };
  fc.assert(
    fc.property(fc.date(years), (date) => {
      expect(parseDatetime(date.toISOString())).toBe(date.toISOString());
    }),
  );
});

test("an offset is the same moment", () => {
  fc.assert(
    fc.property(fc.integer({ min: -1_439, max: 1_439 }), (minutes) => {
      const sign = minutes < 0 ? "-" : "+";
      const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
      const offset = `${sign}${String(hours).padStart(2, "0")}:${String(rest).padStart(2, "0")}`;
      expect(parseDatetime(`2026-06-15T12:00:00${offset}`)).toBe(
        new Date(Date.UTC(2026, 5, 15, 12) - minutes * 60_000).toISOString(),
      );
    }),
  );
});

test("another text is null and never throws", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const parsed = parseDatetime(text);
      expect(parsed === null || !Number.isNaN(Date.parse(parsed))).toBe(true);
    }),
  );
});

test.each([
  // As PostgreSQL writes times.
  ["2026-03-01 09:30:00+00", "2026-03-01T09:30:00.000Z"],
  ["2026-03-01 09:30:00.5+02", "2026-03-01T07:30:00.500Z"],
  ["2026-03-01 09:30:00.123456+05:30", "2026-03-01T04:00:00.123Z"],
  ["1890-03-01 09:30:00+00:53:28", "1890-03-01T08:36:32.000Z"],
  ["2026-03-01 09:30:00", "2026-03-01T09:30:00.000Z"],
  // Other forms of ISO 8601.
  ["2026-03-01T09:30:00+0100", "2026-03-01T08:30:00.000Z"],
  ["2026-03-01T09:30Z", "2026-03-01T09:30:00.000Z"],
  ["2026-03-01T09:30-0330", "2026-03-01T13:00:00.000Z"],
  ["2026-03-01T09:30", "2026-03-01T09:30:00.000Z"],
  ["2026-03-01T09:30:00,25z", "2026-03-01T09:30:00.250Z"],
  ["2026-03-01t23:59:60Z", "2026-03-02T00:00:00.000Z"],
  ["2026-03-01 09:30:00 +0100", "2026-03-01T08:30:00.000Z"],
  ["2026-03-01 09:30:00 UTC", "2026-03-01T09:30:00.000Z"],
  ["2026-03-01", "2026-03-01T00:00:00.000Z"],
])("%s", (text, utc) => {
  expect(parseDatetime(text)).toBe(utc);
});

test.each([
  ...["2026-02-30", "2026-13-01", "2026-03-01 24:00", "2026-03-01 09:60", "2026-03-01 09:30:61", "2026-03-01 9:30"],
  ...["2026-03-01 09", "2026-03-01 09:30+24", "2026-03-01 09:30+01:60", "2026-03-01 09:30+1", "2026-03-01 09:30+"],
  ...["2026-03-01+01", "2026-03-01Z", "2026-03-01 09:30 CET", "03/04/2026", "20260301", "0044-03-15 BC", "infinity"],
  ...["0000-01-01 00:30+01", "9999-12-31 23:30-01", " 2026-03-01", "2026-03-01 09:30:00  +00", "2026-03-01T09:30:00."],
])("%s is no datetime", (text) => {
  expect(parseDatetime(text)).toBeNull();
});

test("a zone differs from a text without a zone; a day needs no zone", () => {
  const zones = ["2026-03-01", "2026-03-01 09:30", "2026-03-01 09:30Z", "2026-03-01 09:30 utc", "2026-03-01 09:30+00"];
  expect(zones.map((text) => readDatetime(text)?.hasZone)).toEqual([true, false, true, true, true]);
});
