/** RFC 3339, 5.6: a date, or a date and a time with its offset. `T` may be lower case or a space. */
const pattern = /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2})))?$/;

/**
 * A datetime as stored and answered: UTC, ISO 8601 with milliseconds (finer digits are cut). Null for a text that is
 * not an RFC 3339 date or date-time, that names a day that does not exist, or that lies outside the years 0000 to 9999.
 */
export function parseDatetime(text: string): string | null {
  const match = pattern.exec(text);
  if (match === null) return null;
  const part = (index: number): number => Number(match[index] ?? 0);
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)];
  // A leap second is second 60 of a minute, and becomes the first second of the next.
  if (hour > 23 || minute > 59 || second > 60 || part(9) > 23 || part(10) > 59) return null;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const milliseconds = Number((match[7] ?? "").slice(0, 3).padEnd(3, "0"));
  date.setUTCHours(hour, minute, second, milliseconds);
  const offset = (part(9) * 60 + part(10)) * 60_000 * (match[8] === "-" ? -1 : 1);
  const utc = new Date(date.getTime() - offset);
  const utcYear = utc.getUTCFullYear();
  return utcYear >= 0 && utcYear <= 9999 ? utc.toISOString() : null;
}
