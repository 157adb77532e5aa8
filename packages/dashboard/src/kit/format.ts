/** Numbers, sizes and times for readers, in the browser's language and time zone. */

const numbers = new Intl.NumberFormat();
const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const localDay = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const clockTime = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });

/** Marks that turn the direction of the text behind the mark: a name could read as another name (Unicode TR 36, 3.2). */
const turning = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

/** A text of another person, with these marks made visible: "‹U+202E›". */
export function visible(text: string): string {
  return text.replace(turning, (mark) => `‹U+${mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

export function formatNumber(value: number): string {
  return numbers.format(value);
}

/** 1234567 → 1.2M */
export function formatCompact(value: number): string {
  return value < 10_000 ? numbers.format(value) : compact.format(value);
}

/** Bytes in binary units: 1536 → 1.5 KiB. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

/** Milliseconds: 0 ms, 0.4 ms, 12 ms, 1.5 s, 3 min, 2 h. */
export function formatDuration(ms: number): string {
  if (ms > 0 && ms < 1) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 86_400_000) return `${(ms / 3_600_000).toFixed(ms < 36_000_000 ? 1 : 0)} h`;
  return `${Math.round(ms / 86_400_000)} d`;
}

/** A time of the API in the browser's zone: Mar 1, 2026, 9:30:00 AM. */
export function formatDateTime(timestamp: string): string {
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? timestamp : dateTime.format(date);
}

/** The value of a field: midnight in UTC is a day without a time, and is the same day in every zone. */
export function formatFieldTime(timestamp: string): string {
  if (!/T00:00:00(?:\.0+)?Z$/.test(timestamp)) return formatDateTime(timestamp);
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? timestamp : day.format(date);
}

/** The day of a time, in the browser's zone. */
export function formatDay(timestamp: string): string {
  return localDay.format(new Date(timestamp));
}

/** The time of day alone, with seconds. */
export function formatClock(timestamp: string): string {
  return clockTime.format(new Date(timestamp));
}

/** The day of the week, short, in the browser's zone. */
export function formatWeekday(timestamp: string): string {
  return weekday.format(new Date(timestamp));
}

/** How long ago, or how long until: "3 min. ago", "in 2 hr.". */
export function formatRelative(timestamp: string, now: number): string {
  const seconds = Math.round((Date.parse(timestamp) - now) / 1_000);
  const size = Math.abs(seconds);
  if (size < 60) return relative.format(seconds, "second");
  if (size < 3_600) return relative.format(Math.round(seconds / 60), "minute");
  if (size < 86_400) return relative.format(Math.round(seconds / 3_600), "hour");
  if (size < 2_592_000) return relative.format(Math.round(seconds / 86_400), "day");
  if (size < 31_536_000) return relative.format(Math.round(seconds / 2_592_000), "month");
  return relative.format(Math.round(seconds / 31_536_000), "year");
}
