/** Shaping: rows as they were read become the records that are answered. */
import type { JsonValue } from "@socle/protocol";
import { decode } from "../fields/index.ts";
import type { SelectionPlan } from "./plan.ts";

/** A row as it was read, and as it becomes a record. */
export interface Row {
  [field: string]: JsonValue;
}

/** Takes the values out of a row that its reader may not read, before anything else is done with it. */
export function concealValues({ guards }: SelectionPlan, row: Row): void {
  for (const { column, fields } of guards) {
    if (row[column] !== 1) for (const field of fields) delete row[field];
    delete row[column];
  }
}

/** Turns stored values into those of records, in place. */
export function decodeRows({ decoded }: SelectionPlan, rows: readonly Row[]): void {
  for (const field of decoded)
    for (const row of rows) {
      const value = row[field.name];
      if (typeof value === "number" || typeof value === "string") row[field.name] = decode(field, value);
    }
}

/** The record for a row that was decoded. @param expanded the records beside it; null for none. */
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
