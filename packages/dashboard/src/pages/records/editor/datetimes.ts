/** Times as people type times: RFC 3339, or a date and a time of day in the time zone of the page. */
import { readDatetime } from "@socle/protocol/cells";

export type Zone = "local" | "utc";

/**
 * Reads a time and answers the form of the API: UTC with milliseconds. Null for any other text. A date alone is the
 * beginning of the day in UTC, as for the API; a time without an offset is in `zone`.
 */
export function parseDateTime(text: string, zone: Zone): string | null {
  const found = readDatetime(text.trim());
  if (found === null || found.hasZone || zone === "utc") return found?.text ?? null;
  // Without the Z, the browser reads the time in the zone of the page.
  const answer = new Date(found.text.slice(0, -1)).toISOString();
  // `toISOString` writes years outside 0000 to 9999 with a sign.
  return /^\d{4}-/.test(answer) ? answer : null;
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
