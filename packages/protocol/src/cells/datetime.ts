/** Datetimes as people and programs write datetimes: RFC 3339, other forms of ISO 8601, and the form of PostgreSQL. */

/** A datetime as stored and answered: UTC, ISO 8601 with milliseconds (finer digits are cut). */
export interface Datetime {
  readonly text: string;
  /** Whether the text names a zone or is a day, which is the same day everywhere. Any other text counts as UTC. */
  readonly hasZone: boolean;
}

/**
 * A date, or a date and a time (RFC 3339, 5.6, and ISO 8601): `T` may be lower case or a space, seconds may be absent, and so may
 * parts of the offset. PostgreSQL writes `2026-03-01 09:30:00.5+02`, and offsets with seconds before 1900.
 */
const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?(?: ?(Z|UTC|([+-])(\d{2})(?::?(\d{2})(?::?(\d{2}))?)?))?)?$/i;

/** Null for any other text, for a day or time that does not exist, and outside of the years 0000 to 9999. */
export function readDatetime(text: string): Datetime | null {
  const match = pattern.exec(text);
  if (match === null) return null;
  const part = (index: number): number => Number(match[index] ?? 0);
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)];
  const [offsetHour, offsetMinute, offsetSecond] = [part(10), part(11), part(12)];
  // A leap second is second 60 of a minute, and becomes the first second of the next.
  if (hour > 23 || minute > 59 || second > 60) return null;
  if (offsetHour > 23 || offsetMinute > 59 || offsetSecond > 59) return null;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const milliseconds = Number((match[7] ?? "").slice(0, 3).padEnd(3, "0"));
  date.setUTCHours(hour, minute, second, milliseconds);
  const offset = ((offsetHour * 60 + offsetMinute) * 60 + offsetSecond) * 1_000 * (match[9] === "-" ? -1 : 1);
  const utc = new Date(date.getTime() - offset);
  const utcYear = utc.getUTCFullYear();
  if (utcYear < 0 || utcYear > 9999) return null;
  return { text: utc.toISOString(), hasZone: match[4] === undefined || match[8] !== undefined };
}

/** The stored form of a datetime; null as for `readDatetime`. A time without a zone is UTC. */
export function parseDatetime(text: string): string | null {
  return readDatetime(text)?.text ?? null;
}
