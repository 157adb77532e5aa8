/** Shaping: rows as they were read become the records that are answered. */
import type { JsonValue } from "@socle/protocol";
import { decode } from "../fields/index.ts";
import type { SelectionPlan } from "./plan.ts";

/** A row, which becomes a record in place. */
export interface Row {
  [field: string]: JsonValue;
}

/** Takes values that the caller may not read out of a row. The first step with every row. */
export function concealValues({ guards }: SelectionPlan, row: Row): void {
  for (const { column, fields } of guards) {
    if (row[column] !== 1) for (const field of fields) delete row[field];
    delete row[column];
  }
}

/** Turns stored values into values of records, in place. */
export function decodeRows({ decoded }: SelectionPlan, rows: readonly Row[]): void {
  for (const field of decoded)
    for (const row of rows) {
      const value = row[field.name];
      if (typeof value === "number" || typeof value === "string") row[field.name] = decode(field, value);
    }
}

/** The records for rows, without expansions. The rows are used up. */
export function plainRecords(selection: SelectionPlan, rows: Row[]): Row[] {
  decodeRows(selection, rows);
  return selection.answered === null ? rows : rows.map((row) => shapeRecord(selection, row, null));
}

/** The record for a decoded row. @param expanded the expansions; null without any. */
export function shapeRecord({ answered }: SelectionPlan, row: Row, expanded: Row | null): Row {
  const record: Row = answered === null ? row : {};
  for (const [name, paths] of answered ?? []) {
    const value = row[name];
    // A concealed value.
    if (value === undefined) continue;
    record[name] = paths === null ? value : pick(value, paths);
  }
  if (expanded !== null) record["expand"] = expanded;
  return record;
}

/** The parts of a JSON value that lie on the given paths; a path that leads to nothing is left out. */
function pick(value: JsonValue, paths: readonly (readonly string[])[]): JsonValue {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const picked: { [name: string]: JsonValue } = {};
  for (const [name, inner] of Object.entries(value)) {
    const further = paths.filter((path) => path[0] === name).map((path) => path.slice(1));
    if (further.length === 0) continue;
    const isWhole = further.some((path) => path.length === 0);
    // A member may be called __proto__.
    Object.defineProperty(picked, name, {
      value: isWhole ? inner : pick(inner, further),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return picked;
}

/** The bytes that a row takes in an answer, at most. The row was not decoded yet. */
export function rowBytes(row: Row): number {
  let bytes = 2;
  for (const name in row) {
    const value = row[name];
    bytes += name.length + 4 + (typeof value === "string" ? textBytes(value) : 8);
  }
  return bytes;
}

/** A short text counts six bytes a character, the most that JSON takes for a character: its characters are not looked at. */
function textBytes(text: string): number {
  return text.length <= 40 ? text.length * 6 : Buffer.byteLength(JSON.stringify(text));
}
