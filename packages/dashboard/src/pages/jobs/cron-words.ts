/**
 * Translates a cron schedule into words: "30 6 * * MON-FRI" → "Monday to Friday at 06:30". A schedule without simple words stays
 * unchanged.
 */
import { text } from "../../texts/index.ts";

const words = text.jobs.cron;

const short: { readonly [name: string]: string } = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

interface FieldKind {
  readonly min: number;
  readonly max: number;
  /** Names of the values, from `min` on; cron accepts the first three letters. */
  readonly names?: readonly string[];
}

const minute: FieldKind = { min: 0, max: 59 };
const hour: FieldKind = { min: 0, max: 23 };
const day: FieldKind = { min: 1, max: 31 };
const month: FieldKind = { min: 1, max: 12, names: words.months };
/** The weekday 7 is Sunday, too. */
const weekday: FieldKind = { min: 0, max: 7, names: words.days };

/** Values and ranges of a field, in their written order. */
type Part = readonly [from: number, to: number];

/** The words, or the expression without simple words. */
export function cronWords(expression: string): string {
  const fields = (short[expression.toLowerCase()] ?? expression).trim().split(/\s+/);
  const [minutes, hours, days, months, weekdays] = fields;
  if (fields.length !== 5 || minutes === undefined || hours === undefined) return expression;
  if (days === undefined || months === undefined || weekdays === undefined) return expression;
  const isEveryDay = days === "*" && months === "*" && weekdays === "*";
  return (
    (isEveryDay ? withinDay(minutes, hours) : null) ??
    onDays(timesOf(minutes, hours), { days, months, weekdays }) ??
    expression
  );
}

/** "Every 5 minutes", "Every 2 hours"; null for any other schedule. */
function withinDay(minutes: string, hours: string): string | null {
  if (hours === "*") {
    if (minutes === "*") return words.everyMinute;
    const step = stepOf(minutes, 60);
    if (step !== null) return step === 1 ? words.everyMinute : words.everyMinutes(step);
  }
  const at = oneOf(minutes, minute);
  if (at === null) return null;
  const step = hours === "*" ? 1 : stepOf(hours, 24);
  if (step === null) return null;
  if (step === 1) return at === 0 ? words.everyHour : words.everyHourAt(at);
  return at === 0 ? words.everyHours(step) : words.everyHoursAt(step, at);
}

function onDays(times: string | null, on: { days: string; months: string; weekdays: string }): string | null {
  const { days, months, weekdays } = on;
  if (times === null) return null;
  const isAnyDay = days === "*";
  const isAnyMonth = months === "*";
  if (weekdays !== "*") {
    // With a day of the month and a weekday, cron needs only a single match: no short sentence says so.
    const named = isAnyDay && isAnyMonth ? listOf(weekdays, weekday) : null;
    return named === null ? null : words.weekly(named, times);
  }
  if (isAnyDay) return isAnyMonth ? words.daily(times) : null;
  const numbers = listOf(days, day);
  if (numbers === null) return null;
  if (isAnyMonth) return words.monthly(numbers, times);
  const names = listOf(months, month);
  return names === null ? null : words.yearly(numbers, names, times);
}

/**
 * The step after a star, if the step divides the whole without a rest. Otherwise the distances differ, and "every n"
 * would be wrong.
 */
function stepOf(field: string, whole: number): number | null {
  const step = Number(/^\*\/(\d+)$/.exec(field)?.[1] ?? Number.NaN);
  return step >= 1 && step < whole && whole % step === 0 ? step : null;
}

/** Times of the day: "06:30 and 18:30". Null for a list that is too long. */
function timesOf(minutes: string, hours: string): string | null {
  const at = oneOf(minutes, minute);
  const parts = partsOf(hours, hour);
  if (at === null || parts === null || parts.length > 4 || parts.some(([from, to]) => from !== to)) return null;
  return joined(parts.map(([from]) => `${String(from).padStart(2, "0")}:${String(at).padStart(2, "0")}`));
}

function oneOf(field: string, kind: FieldKind): number | null {
  const parts = partsOf(field, kind);
  const [first] = parts ?? [];
  return parts?.length === 1 && first !== undefined && first[0] === first[1] ? first[0] : null;
}

/** Values in words: "Monday to Friday", "1, 11 and 21". */
function listOf(field: string, kind: FieldKind): string | null {
  const parts = partsOf(field, kind);
  if (parts === null) return null;
  const name = (value: number): string =>
    kind.names === undefined ? String(value) : (kind.names[(value - kind.min) % kind.names.length] ?? String(value));
  return joined(parts.map(([from, to]) => (from === to ? name(from) : words.range(name(from), name(to)))));
}

function joined(items: readonly string[]): string {
  const last = items.at(-1) ?? "";
  return items.length < 2 ? last : words.and(items.slice(0, -1).join(", "), last);
}

/** Numbers, names and ranges with commas between the parts; null for steps, "*" and invalid values. */
function partsOf(field: string, kind: FieldKind): Part[] | null {
  const parts: Part[] = [];
  for (const item of field.split(",")) {
    const [from, to, ...more] = item.split("-").map((word) => numberOf(word, kind));
    if (from === undefined || from === null || to === null || more.length > 0) return null;
    const end = to ?? from;
    if (end < from) return null;
    parts.push([from, end]);
  }
  return parts;
}

function numberOf(word: string, { min, max, names = [] }: FieldKind): number | null {
  const named = names.findIndex((name) => name.slice(0, 3).toLowerCase() === word.toLowerCase());
  if (named !== -1) return min + named;
  const value = Number(word);
  return /^\d+$/.test(word) && value >= min && value <= max ? value : null;
}
