/** The value of a cell of CSV for a field. A cell that may mean several values has no value until the style says which. */

import type { FieldDefinition } from "../collections.ts";
import { isFormatted } from "../texts.ts";
import type { CsvCell } from "./csv-rows.ts";
import { parseDatetime, readDatetime } from "./datetime.ts";
import { parseJsonText } from "./json-text.ts";

/** How a file writes values. */
export interface CellStyle {
  /** `comma`: 1.234,5; `point`: 1,234.5. Absent: numbers have no separators of groups, and a decimal point. */
  readonly decimal?: "point" | "comma" | undefined;
  /** The order of dates with the year at the end. Absent: such dates have no value. */
  readonly dates?: "dmy" | "mdy" | undefined;
  /** Shifts a time that the file writes without a zone, given as if in UTC. Absent: the time is in UTC. */
  readonly toUtc?: (time: string) => string;
  /** The character between the items of a multiple field, beside JSON. Absent: a cell that is no JSON is a single item. */
  readonly separator?: string;
  /** Cells that mean null. */
  readonly nulls?: ReadonlySet<string>;
}

/** `unread`: the text is no value of the type. The others name the missing part of the style. */
export type CellProblem = "unread" | "decimal" | "dates";

export type CellValue = { readonly value: unknown } | { readonly problem: CellProblem };

/**
 * Converts a cell. The rules of the field are not checked, nor the bounds of numbers.
 * @returns null as the value of an empty cell, also in quotes where "" cannot be a value of the field.
 */
export function readCell(cell: CsvCell, field: FieldDefinition, style: CellStyle = {}): CellValue {
  if (cell === null || style.nulls?.has(cell) === true) return { value: null };
  if (field.multiple === true) {
    const items = cell.trim() === "" ? null : readItems(cell, style.separator);
    return items === undefined ? { problem: "unread" } : { value: items };
  }
  if (field.type === "string" || field.type === "text")
    return { value: cell === "" && !mayBeEmpty(field) ? null : cell };
  const text = cell.trim();
  if (text === "") return { value: null };
  switch (field.type) {
    case "integer":
    case "float":
      return readNumber(text, field.type, style.decimal);
    case "boolean":
      return readBoolean(text.toLowerCase());
    case "datetime":
      return readDate(text, style);
    case "json":
    case "vector":
      return readJson(text);
    case "geo":
      return readPlace(text);
    default:
      return { value: text };
  }
}

/** Whether "" can be a value of a field of text. */
function mayBeEmpty({ values, min = 0, format = "markdown" }: FieldDefinition): boolean {
  return values === undefined && min <= 0 && isFormatted("", format);
}

function readJson(text: string): CellValue {
  try {
    return { value: parseJsonText(text) };
  } catch {
    return { problem: "unread" };
  }
}

/** A place: JSON, as in an export, or a latitude and a longitude in degrees, for example 52.52, 13.405. */
function readPlace(text: string): CellValue {
  const numbers = text.split(",").map((part) => part.trim());
  if (numbers.length !== 2 || !numbers.every((part) => plainNumber.test(part))) return readJson(text);
  const [lat, lon] = numbers.map(Number);
  return { value: { lat, lon } };
}

/** The items of a multiple field: a JSON array, as in an export, or texts; undefined for a broken array. */
export function readItems(cell: string, separator = ""): readonly unknown[] | undefined {
  if (cell.trimStart().startsWith("[")) {
    const read = readJson(cell);
    return "value" in read && Array.isArray(read.value) ? read.value : undefined;
  }
  if (separator === "") return [cell];
  const parts = cell.split(separator).map((part) => part.trim());
  return [...new Set(parts.filter((part) => part !== ""))];
}

const yes = new Set(["true", "t", "yes", "y", "on", "1"]);
const no = new Set(["false", "f", "no", "n", "off", "0"]);

function readBoolean(word: string): CellValue {
  return yes.has(word) || no.has(word) ? { value: yes.has(word) } : { problem: "unread" };
}

const plainNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
/** Numbers with a decimal comma, or with separators between groups of three digits. */
const writtenNumber = {
  point: /^[+-]?[1-9]\d{0,2}(?:[,\u00a0\u202f’' ]\d{3})+(?:\.\d*)?$/,
  comma: /^[+-]?(?:(?:\d+|[1-9]\d{0,2}(?:[.\u00a0\u202f’' ]\d{3})+)(?:,\d*)?|,\d+)(?:e[+-]?\d+)?$/i,
};
/** A whole number of thousands, or a number with three decimals. */
const groupsWithPoints = /^[+-]?[1-9]\d{0,2}(?:\.\d{3})+$/;

/** A number in a style. Without a style, only a text that has one meaning is a number. */
export function readNumber(text: string, type: "integer" | "float", decimal: CellStyle["decimal"]): CellValue {
  const isPlain = plainNumber.test(text);
  if (decimal === "comma")
    return writtenNumber.comma.test(text)
      ? { value: Number(text.replace(/[.\u00a0\u202f’' ]/g, "").replace(",", ".")) }
      : { problem: "unread" };
  if (decimal === "point") {
    if (!isPlain && !writtenNumber.point.test(text)) return { problem: "unread" };
    return { value: Number(text.replace(/[,\u00a0\u202f’' ]/g, "")) };
  }
  if (type === "integer" && groupsWithPoints.test(text)) return { problem: "decimal" };
  if (isPlain) return { value: Number(text) };
  const isWritten = writtenNumber.comma.test(text) || writtenNumber.point.test(text);
  return { problem: isWritten ? "decimal" : "unread" };
}

const clock = String.raw`(?:[T,\s]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:\s*([ap])m)?)?`;
const yearFirst = new RegExp(String.raw`^(\d{4})([-/.])(\d{1,2})\2(\d{1,2})${clock}$`, "i");
const yearLast = new RegExp(String.raw`^(\d{1,2})([-/.])(\d{1,2})\2(\d{4})${clock}$`, "i");

/** A datetime, or a date and a time as people write dates and times. */
function readDate(text: string, { dates, toUtc }: CellStyle): CellValue {
  const iso = readDatetime(text) === null ? isoOf(text, dates) : text;
  if (iso === "dates") return { problem: "dates" };
  const found = iso === null ? null : readDatetime(iso);
  if (found === null) return { problem: "unread" };
  const utc = found.hasZone || toUtc === undefined ? found.text : parseDatetime(toUtc(found.text));
  // In UTC, the first and the last hours of the years 0000 to 9999 may be outside.
  return utc === null ? { problem: "unread" } : { value: utc };
}

/** The ISO 8601 of a written date; "dates" if the order of day and month is not known, null for any other text. */
function isoOf(text: string, dates: CellStyle["dates"]): string | "dates" | null {
  const first = yearFirst.exec(text);
  const match = first ?? yearLast.exec(text);
  if (match === null) return null;
  if (first === null && dates === undefined) return "dates";
  const [, a = "", , b = "", c = "", hour, minute = "", second = "00", fraction = "0", half] = match;
  const [year, month, day] = first !== null ? [a, b, c] : dates === "dmy" ? [c, b, a] : [c, a, b];
  const date = `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`;
  // A day without a time is the same day everywhere.
  if (hour === undefined) return date;
  const isOfHalf = half === undefined || (Number(hour) >= 1 && Number(hour) <= 12);
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (half.toLowerCase() === "p" ? 12 : 0);
  return isOfHalf ? `${date} ${String(hours).padStart(2, "0")}:${minute}:${second}.${fraction}` : null;
}
