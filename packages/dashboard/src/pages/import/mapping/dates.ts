/** Converts dates as people write dates to the RFC 3339 of the API. */
import dayjs from "dayjs";
import timezone from "dayjs/plugin/timezone.js";
import utc from "dayjs/plugin/utc.js";
import type { DateOrder } from "./mapping.ts";

dayjs.extend(utc);
dayjs.extend(timezone);

const zoned = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:?\d{2})$/;
const clock = String.raw`(?:[T,\s]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*([AaPp][Mm])?)?`;
const yearFirst = new RegExp(String.raw`^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})${clock}$`);
const yearLast = new RegExp(String.raw`^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})${clock}$`);

interface Moment {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  ms: number;
}

function pad(value: number, length = 2): string {
  return String(value).padStart(length, "0");
}

/** Whether the day and the time exist. */
function isPossible({ year, month, day, hour, minute, second }: Moment): boolean {
  const date = new Date(Date.UTC(year, month - 1, day));
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
}

/** Converts an hour from 1 to 12 with am or pm to an hour from 0 to 23. */
function hourOf(hour: number, half: string | undefined): number {
  if (half === undefined) return hour;
  if (hour < 1 || hour > 12) return 24;
  return (hour % 12) + (half.toLowerCase() === "pm" ? 12 : 0);
}

/** The time of a text, in UTC; null for any other text. An offset in the text gives the time zone; a day has no time zone. */
export function readDate(written: string, order: DateOrder, timeZone: string): string | null {
  const text = written.trim();
  if (zoned.test(text)) {
    const date = new Date(text.replace(" ", "T").replace(/([+-]\d{2})(\d{2})$/, "$1:$2"));
    return Number.isNaN(date.getTime()) || !hasRealDay(text) ? null : date.toISOString();
  }
  const first = yearFirst.exec(text);
  const match = first ?? (order === "iso" ? null : yearLast.exec(text));
  if (match === null) return null;
  const [a = 0, b = 0, c = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map((part) => Number(part ?? 0));
  const [year, month, day] = first !== null ? [a, b, c] : order === "dmy" ? [c, b, a] : [c, a, b];
  const ms = Number((match[7] ?? "0").padEnd(3, "0").slice(0, 3));
  const moment: Moment = { year, month, day, hour: hourOf(hour, match[8]), minute, second, ms };
  if (!isPossible(moment)) return null;
  // A day without a time is the same day everywhere: midnight in UTC, as in the form and the API.
  if (match[4] === undefined) return `${pad(year, 4)}-${pad(month)}-${pad(day)}T00:00:00.000Z`;
  const { hour: h } = moment;
  const local = `${pad(year, 4)}-${pad(month)}-${pad(day)}T${pad(h)}:${pad(minute)}:${pad(second)}.${pad(ms, 3)}`;
  return timeZone === "UTC" ? `${local}Z` : dayjs.tz(local, timeZone).toISOString();
}

/** Whether the day exists: JavaScript takes the 30th of February for the 1st of March. */
function hasRealDay(text: string): boolean {
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split("-").map(Number);
  return isPossible({ year, month, day, hour: 0, minute: 0, second: 0, ms: 0 });
}
