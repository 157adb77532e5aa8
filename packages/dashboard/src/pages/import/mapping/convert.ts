/** Converts a cell of a file to the value of a field. No value is guessed silently: an unreadable cell is a problem with a reason. */
import type { FieldDefinition, JsonValue } from "@socle/protocol";
import { text } from "../../../texts/index.ts";
import type { Cell } from "../source/source.ts";
import { readDate } from "./dates.ts";
import type { Conversion, FieldMapping } from "./mapping.ts";

/** A record to find by a unique value. */
export interface LookupKey {
  readonly collection: string;
  readonly field: string;
  readonly value: string | number;
}

export type Converted =
  | { readonly kind: "value"; readonly value: JsonValue }
  /** The row gives no value for the field. */
  | { readonly kind: "absent" }
  | { readonly kind: "lookup"; readonly key: LookupKey }
  /** A multiple relation: the keys, in the order of the items. */
  | { readonly kind: "lookups"; readonly keys: readonly LookupKey[] }
  | { readonly kind: "problem"; readonly message: string };

const value = (found: JsonValue): Converted => ({ kind: "value", value: found });
const problem = (message: string): Converted => ({ kind: "problem", message });

/** Removes the apostrophe that keeps a spreadsheet from running a text as a formula (`protect` of the export adds the apostrophe). */
export function unprotect(cell: string): string {
  return /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell;
}

/** Properties of the file that decide how to read its cells. */
export interface CellKind {
  /** Whether to remove apostrophes before formulas. */
  readonly isProtected: boolean;
  /** Whether the file has types, as JSON has: a text then is a text, and never JSON in a text. */
  readonly hasTypes: boolean;
}

/** The value that a row gives to a field. */
export function convertCell(mapping: FieldMapping, cells: readonly Cell[], kind: CellKind): Converted {
  const { field, source, conversion } = mapping;
  if (source.kind === "skip") return { kind: "absent" };
  if (source.kind === "constant") return convert(source.value === "" ? null : source.value, field, conversion);
  const cell = cells[source.column];
  if (kind.hasTypes && field.type === "json" && cell !== undefined && cell !== null) return value(cell);
  return convert(typeof cell === "string" && kind.isProtected ? unprotect(cell) : cell, field, conversion);
}

/**
 * An empty cell of a required field with a default gives no value: the service would refuse null.
 * @param cell null is an empty cell without quotes, or a null of JSON; "" is an empty text.
 */
export function convert(cell: Cell, field: FieldDefinition, conversion: Conversion): Converted {
  const found = convertValue(cell, field, conversion);
  const isEmpty = found.kind === "value" && found.value === null;
  return isEmpty && takesDefault(field) ? { kind: "absent" } : found;
}

/** Whether an empty cell means the default. */
export function takesDefault(field: FieldDefinition): boolean {
  return field.required === true && field.default !== undefined;
}

/** The items of a multiple field: an array, its JSON, or texts with a separator between the texts, each once. */
function convertItems(cell: JsonValue, field: FieldDefinition, conversion: Conversion): Converted {
  const items = itemsIn(cell, conversion);
  if (items === null) return unread(cell, text.import.notA.items);
  const found = items.map((item) => convertValue(item, { ...field, multiple: false }, conversion));
  const wrong = found.find((each) => each.kind === "problem");
  if (wrong !== undefined) return wrong;
  const keys = found.flatMap((each) => (each.kind === "lookup" ? [each.key] : []));
  if (keys.length > 0) return { kind: "lookups", keys };
  return value(found.flatMap((each) => (each.kind === "value" ? [each.value] : [])));
}

function itemsIn(cell: JsonValue, { separator }: Conversion): readonly JsonValue[] | null {
  if (Array.isArray(cell)) return cell;
  if (typeof cell === "object") return null;
  const written = String(cell).trim();
  if (written.startsWith("[")) {
    const parsed = convertJson(written);
    return parsed.kind === "value" && Array.isArray(parsed.value) ? parsed.value : null;
  }
  const parts = separator === "" ? [written] : written.split(separator).map((part) => part.trim());
  return [...new Set(parts.filter((part) => part !== ""))];
}

function convertValue(cell: Cell, field: FieldDefinition, conversion: Conversion): Converted {
  if (cell === undefined) return { kind: "absent" };
  const isText = field.type === "string" || field.type === "text";
  if (field.multiple === true && cell !== null) return convertItems(cell, field, conversion);
  if (cell === null) return value(conversion.empty === "text" && isText && field.multiple !== true ? "" : null);
  if (isText) return convertText(cell);
  if (field.type === "json") return typeof cell === "string" ? convertJson(cell) : value(cell);
  if (typeof cell === "string" && cell.trim() === "") return value(null);
  if (typeof cell === "object") return unread(cell, wordsFor(field.type, conversion));
  if (field.type === "boolean") return convertBoolean(cell);
  if (field.type === "integer" || field.type === "float") return convertNumber(cell, field.type, conversion);
  if (field.type === "datetime") return convertDate(cell, conversion);
  return convertId(String(cell).trim(), field, conversion);
}

function wordsFor(type: FieldDefinition["type"], { dateOrder }: Conversion): string {
  return type === "datetime" ? text.import.notA.datetime(text.import.datePatterns[dateOrder]) : text.import.notA[type];
}

function convertText(cell: JsonValue): Converted {
  if (typeof cell === "object") return problem(text.import.notA.string);
  return value(String(cell));
}

/** Most characters of a cell in a message. */
const longestShown = 60;

/** The problem of an unreadable cell: "yesterday" is no whole number. */
function unread(cell: JsonValue, words: string): Converted {
  const shown = typeof cell === "string" ? cell : JSON.stringify(cell);
  return problem(text.import.unread(shown.length > longestShown ? `${shown.slice(0, longestShown)}…` : shown, words));
}

function convertJson(cell: string): Converted {
  if (cell.trim() === "") return value(null);
  try {
    return value(JSON.parse(cell) as JsonValue);
  } catch {
    return unread(cell, text.import.notA.json);
  }
}

const yes = new Set(["true", "yes", "y", "1", "on", "t"]);
const no = new Set(["false", "no", "n", "0", "off", "f"]);

function convertBoolean(cell: string | number | boolean): Converted {
  const word = String(cell).trim().toLowerCase();
  if (yes.has(word)) return value(true);
  return no.has(word) ? value(false) : unread(cell, text.import.notA.boolean);
}

/** The written forms of a number: with an exponent, or with separators between groups of three digits. */
const written = {
  point: /^[-+]?(?:\d{1,3}(?:[,\u00a0\u202f' ]\d{3})+|\d*)(?:\.\d*)?(?:[eE][-+]?\d+)?$/,
  comma: /^[-+]?(?:\d{1,3}(?:[.\u00a0\u202f' ]\d{3})+|\d*)(?:,\d*)?(?:[eE][-+]?\d+)?$/,
};

function convertNumber(
  cell: string | number | boolean,
  type: "integer" | "float",
  { decimalComma }: Conversion,
): Converted {
  if (typeof cell === "boolean") return problem(text.import.notA[type]);
  const number = typeof cell === "number" ? cell : readNumber(cell.trim(), decimalComma);
  if (number === null || !Number.isFinite(number)) return unread(cell, text.import.notA[type]);
  if (type === "float") return value(number);
  if (!Number.isInteger(number)) return unread(cell, text.import.notA.integer);
  return Number.isSafeInteger(number) ? value(number) : problem(text.import.tooLarge);
}

/** Null for a text that is no number. */
export function readNumber(cell: string, decimalComma: boolean): number | null {
  if (!/\d/.test(cell) || !(decimalComma ? written.comma : written.point).test(cell)) return null;
  const groups = decimalComma ? /[.\u00a0\u202f' ]/g : /[,\u00a0\u202f' ]/g;
  const number = Number(cell.replace(groups, "").replace(",", "."));
  return Number.isNaN(number) ? null : number;
}

function convertDate(cell: string | number | boolean, { dateOrder, timeZone }: Conversion): Converted {
  const date = typeof cell === "string" ? readDate(cell, dateOrder, timeZone) : null;
  return date === null ? unread(cell, text.import.notA.datetime(text.import.datePatterns[dateOrder])) : value(date);
}

/** An id of a record, a user or a file. */
const idPattern = /^(?:rec|usr|fil)_[0-9a-f-]{36}$/;

function convertId(cell: string, field: FieldDefinition, { relationBy }: Conversion): Converted {
  if (field.type === "relation" && relationBy !== "id")
    return { kind: "lookup", key: { collection: field.collection ?? "", field: relationBy, value: cell } };
  return idPattern.test(cell)
    ? value(cell)
    : unread(cell, text.import.notA[field.type === "file" ? "file" : "relation"]);
}
