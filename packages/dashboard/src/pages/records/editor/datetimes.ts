/** Times as people type times: RFC 3339, or a date and a time of day in the time zone of the page. */

export type Zone = "local" | "utc";

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?: ?([Zz]|[+-]\d{2}:?\d{2}))?)?$/;

interface Parts {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly ms: number;
}

function dateIn(zone: Zone, { year, month, day, hour, minute, second, ms }: Parts): Date | null {
  // `new Date(99, …)` means 1999, so `setUTCFullYear` or `setFullYear` sets the year.
  const date = new Date(0);
  if (zone === "utc") {
    date.setUTCFullYear(year, month - 1, day);
    date.setUTCHours(hour, minute, second, ms);
  } else {
    date.setFullYear(year, month - 1, day);
    date.setHours(hour, minute, second, ms);
  }
  // Months have 28 to 31 days, and `Date` accepts later days without an error.
  const [m, d] = zone === "utc" ? [date.getUTCMonth(), date.getUTCDate()] : [date.getMonth(), date.getDate()];
  const isReal = m === month - 1 && d === day && hour < 24 && minute < 60 && second < 60;
  return isReal ? date : null;
}

/**
 * Reads a time and answers the form of the API: UTC with milliseconds. Null for any other text. A date alone is the
 * beginning of the day in UTC, as for the API; a time without an offset is in `zone`.
 */
export function parseDateTime(text: string, zone: Zone): string | null {
  const match = pattern.exec(text.trim());
  if (match === null) return null;
  const [, year, month, day, hour, minute, second = "0", fraction = "", offset] = match;
  const parts: Parts = {
    year: Number(year),
    month: Number(month),
    day: Number(day),
    hour: Number(hour ?? 0),
    minute: Number(minute ?? 0),
    second: Number(second),
    ms: Number(fraction.slice(0, 3).padEnd(3, "0")),
  };
  const date = dateIn(hour === undefined || offset !== undefined ? "utc" : zone, parts);
  if (date === null) return null;
  const shift = offset === undefined ? 0 : offsetMinutes(offset);
  if (shift === null) return null;
  const answer = new Date(date.getTime() - shift * 60_000).toISOString();
  // `toISOString` writes years outside 0000 to 9999 with a sign.
  return /^\d{4}-/.test(answer) ? answer : null;
}

function offsetMinutes(offset: string): number | null {
  if (offset === "Z" || offset === "z") return 0;
  const sign = offset.startsWith("-") ? -1 : 1;
  const hours = Number(offset.slice(1, 3));
  const minutes = Number(offset.slice(-2));
  return hours < 24 && minutes < 60 ? sign * (hours * 60 + minutes) : null;
}

function two(value: number, width = 2): string {
  return String(value).padStart(width, "0");
}

/**
 * Whether a time means a day: exactly midnight in UTC. The API has no type for dates and stores a day in this form; the day
 * is the same in every zone.
 */
export function isDateOnly(timestamp: string): boolean {
  return /T00:00:00(?:\.0+)?Z$/.test(timestamp);
}

/** The day of a time in a zone: `2026-03-01`. */
export function dayOf(timestamp: string, zone: Zone): string {
  return writeTime(timestamp, zone).slice(0, 10);
}

/**
 * Writes a time of the API in a zone, for a later `parseDateTime`: `2026-03-01 09:30:00`, or only the day when the time is
 * the beginning of the day. Any other text stays unchanged.
 */
export function writeDateTime(timestamp: string, zone: Zone): string {
  return isDateOnly(timestamp) ? dayOf(timestamp, "utc") : writeTime(timestamp, zone);
}

/** A time with its time of day, also at midnight. */
export function writeTime(timestamp: string, zone: Zone): string {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) return timestamp;
  const isUtc = zone === "utc";
  const day = isUtc
    ? [two(date.getUTCFullYear(), 4), two(date.getUTCMonth() + 1), two(date.getUTCDate())]
    : [two(date.getFullYear(), 4), two(date.getMonth() + 1), two(date.getDate())];
  const time = isUtc
    ? [two(date.getUTCHours()), two(date.getUTCMinutes()), two(date.getUTCSeconds())]
    : [two(date.getHours()), two(date.getMinutes()), two(date.getSeconds())];
  const ms = date.getUTCMilliseconds();
  return `${day.join("-")} ${time.join(":")}${ms === 0 ? "" : `.${two(ms, 3)}`}`;
}

/** The zone's name with its offset at a time: "Europe/Berlin, UTC+01:00". */
export function zoneName(zone: Zone, timestamp: string | null): string {
  if (zone === "utc") return "UTC";
  const date = timestamp === null ? new Date() : new Date(timestamp);
  const minutes = -(Number.isNaN(date.getTime()) ? new Date() : date).getTimezoneOffset();
  const size = Math.abs(minutes);
  const offset = `UTC${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(Math.round(size % 60))}`;
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return name === "UTC" ? "UTC" : `${name}, ${offset}`;
}
