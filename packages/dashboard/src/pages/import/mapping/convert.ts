/** Converts a cell of a file to the value of a field. No value is guessed silently: an unreadable cell is a problem with a reason. */
import { type FieldDefinition, geoProblem, type JsonValue } from "@socle/protocol";
import { readCell, readItems } from "@socle/protocol/cells";
import { text } from "../../../texts/index.ts";
import { type ExactValue, plainJson, WrittenNumber } from "../source/exact-json.ts";
import type { Cell } from "../source/source.ts";
import { type Conversion, type FieldMapping, styleOf } from "./mapping.ts";

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
  if (kind.hasTypes && field.type === "json" && cell !== undefined && cell !== null) return convertJson(cell);
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
function convertItems(cell: ExactValue, field: FieldDefinition, conversion: Conversion): Converted {
  const isScalar = typeof cell !== "object" || cell instanceof WrittenNumber;
  const items = isScalar ? readItems(textOf(cell), conversion.separator) : Array.isArray(cell) ? cell : undefined;
  if (items === undefined) return unread(cell, text.import.notA.items);
  const found = items.map((item) => convertValue(item as ExactValue, { ...field, multiple: false }, conversion));
  const wrong = found.find((each) => each.kind === "problem");
  if (wrong !== undefined) return wrong;
  const keys = found.flatMap((each) => (each.kind === "lookup" ? [each.key] : []));
  if (keys.length > 0) return { kind: "lookups", keys };
  return value(found.flatMap((each) => (each.kind === "value" ? [each.value] : [])));
}

function convertValue(cell: Cell, field: FieldDefinition, conversion: Conversion): Converted {
  if (cell === undefined) return { kind: "absent" };
  const { type } = field;
  const isText = type === "string" || type === "text";
  if (cell === null) return value(conversion.empty === "text" && isText && field.multiple !== true ? "" : null);
  if (field.multiple === true && cell !== "") return convertItems(cell, field, conversion);
  if (type === "json" && typeof cell !== "string") return convertJson(cell);
  if (type === "geo") return convertPlace(cell, field);
  if (type === "vector" && typeof cell === "object") {
    const numbers = plainJson(cell);
    return numbers === undefined ? unread(cell, text.import.notA.vector) : value(numbers);
  }
  if (typeof cell === "object" && !(cell instanceof WrittenNumber)) return unread(cell, wordsFor(type, conversion));
  const written = textOf(cell);
  if ((type === "relation" || type === "file") && written.trim() !== "")
    return convertId(written.trim(), field, conversion);
  if (typeof cell !== "string" && (type === "datetime" || (typeof cell === "boolean" && isNumber(type))))
    return unread(cell, wordsFor(type, conversion));
  // A number of JSON is no written number: the style of the column is for texts.
  const style = typeof cell === "string" ? styleOf(conversion) : {};
  const read = readCell(written, field, style);
  if ("problem" in read)
    return read.problem === "unread"
      ? unread(cell, wordsFor(type, conversion))
      : problem(text.import.ambiguous[read.problem](shownOf(cell)));
  return type === "json" ? convertJson(read.value as JsonValue) : checked(cell, read.value as JsonValue, field);
}

/** A place: an object of JSON, the text of such an object, or a latitude and a longitude. */
function convertPlace(cell: ExactValue, field: FieldDefinition): Converted {
  const read = typeof cell === "string" ? readCell(cell, field) : { value: plainJson(cell) };
  const found = "value" in read ? read.value : undefined;
  return found === null || geoProblem(found) === null ? value(found as JsonValue) : unread(cell, text.import.notA.geo);
}

/** The value of a cell, but a number that the type does not take. */
function checked(cell: ExactValue, found: JsonValue, { type }: FieldDefinition): Converted {
  if (typeof found !== "number" || !isNumber(type)) return value(found);
  if (!Number.isFinite(found) || (type === "integer" && !Number.isInteger(found)))
    return unread(cell, text.import.notA[type]);
  return type === "float" || Number.isSafeInteger(found) ? value(found) : problem(text.import.tooLarge);
}

function isNumber(type: FieldDefinition["type"]): type is "integer" | "float" {
  return type === "integer" || type === "float";
}

function wordsFor(type: FieldDefinition["type"], { dateOrder }: Conversion): string {
  return type === "datetime" ? text.import.notA.datetime(text.import.datePatterns[dateOrder]) : text.import.notA[type];
}

/** The text of a cell, with the digits that the file has. */
function textOf(cell: ExactValue): string {
  return cell instanceof WrittenNumber ? cell.text : String(cell);
}

/** Most characters of a cell in a message. */
const longestShown = 60;

function shownOf(cell: ExactValue): string {
  const shown = typeof cell === "string" ? cell : JSON.stringify(cell);
  return shown.length > longestShown ? `${shown.slice(0, longestShown)}…` : shown;
}

/** The problem of an unreadable cell: "yesterday" is no whole number. */
function unread(cell: ExactValue, words: string): Converted {
  return problem(text.import.unread(shownOf(cell), words));
}

function convertJson(cell: ExactValue): Converted {
  const plain = plainJson(cell);
  return plain === undefined ? problem(text.import.inexact) : value(plain);
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
