import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseDatetime } from "./clock.ts";

test("what it answers it takes, unchanged", () => {
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

test("anything else is null and never throws", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const parsed = parseDatetime(text);
      expect(parsed === null || !Number.isNaN(Date.parse(parsed))).toBe(true);
    }),
  );
});
