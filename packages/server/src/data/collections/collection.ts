/** A collection in force, and the names of its tables and columns. */
import type { CollectionDefinition, FieldDefinition, Operation, PermissionRule } from "@socle/protocol";
import type { QueryTable } from "../../store/database/index.ts";
import type { Pattern } from "../fields/index.ts";
import { type FieldPolicies, ownerColumn, type Policy } from "../permissions/index.ts";

/** The times that every record has, in columns of the same names. */
export const recordTimes = ["createdAt", "updatedAt"] as const;

/** A collection in force: its definition, and derived values. Immutable; a migration makes a new collection. */
export interface Collection {
  readonly name: string;
  readonly definition: CollectionDefinition;
  /** The name of its table. */
  readonly table: string;
  /** The policy of each operation. */
  readonly policies: { readonly [operation in Operation]: Policy };
  /** The policies of the fields with rules; null without such fields. */
  readonly fieldPolicies: FieldPolicies | null;
  /** The compiled `regex` rules by field name. */
  readonly patterns: ReadonlyMap<string, Pattern>;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly logMarks: LogMarks;
}

/**
 * Positions in the event log at which a migration changed the visibility of older events. The definition keeps the marks
 * over restarts.
 */
export interface LogMarks {
  /** Events up to here are of a collection of the same name that is gone. */
  readonly created: number;
  /** Events up to here may hold fields that were dropped or renamed, that were single or multiple, or that other rules of fields hid. */
  readonly fields: number;
  /** For each read rule, the last seq before a wider rule took its place. */
  readonly widened: { readonly [rule in PermissionRule]?: number };
}

/** The table of a collection, for hand-written SQL, if columns have other names than their fields; otherwise null. */
export function queryTableOf({ table, definition }: Collection): QueryTable | null {
  const named = definition.fields.filter((field) => columnName(field) !== field.name);
  if (named.length === 0) return null;
  return { table, aliases: Object.fromEntries(named.map((field) => [field.name, columnName(field)])) };
}

/** SQLite keeps names that start with `sqlite_` for itself; a table `json_each` would hide the function that statements call. */
const taken = /^(sqlite_|json_each$)/i;

export function tableName(collection: string): string {
  return taken.test(collection) ? `_${collection}` : collection;
}

/** The column that holds a field. */
export function columnName(field: FieldDefinition): string {
  return field.owner === true ? ownerColumn : plainColumn(field.name);
}

/**
 * The generated column with the position of a field's text among its `values`; null without `values`, and for a multiple
 * field, which holds several texts.
 */
export function orderColumn({ name, values, multiple }: FieldDefinition): string | null {
  return values === undefined || multiple === true ? null : `_order_${plainColumn(name)}`;
}

/** The column of a field that an index contains, and that sorts. */
export function indexColumn(field: FieldDefinition): string {
  return orderColumn(field) ?? columnName(field);
}

/** The columns of an index: of fields, and of times of the record. */
export function columnsOf({ fields }: CollectionDefinition, names: readonly string[]): string[] {
  return names.map((name) => {
    const field = fields.find((each) => each.name === name);
    return field === undefined ? name : indexColumn(field);
  });
}

/** The column of a field that is not the owner. SQLite keeps two names for the place of a row. */
export function plainColumn(field: string): string {
  return ["rowid", "oid"].includes(field.toLowerCase()) ? `_field_${field}` : field;
}

/** The unquoted name of the table of the items of a multiple field. No table of a collection begins with `_items_`, and no column has a dot. */
export function itemTableName(collection: string, field: string): string {
  return `_items_${tableName(collection)}.${plainColumn(field)}`;
}

/** The unquoted name of the search table. No table of a collection begins with `_search_`. */
export function searchTableName(collection: string): string {
  return `_search_${tableName(collection)}`;
}

/** The column of the search table that holds the words of a field. */
export function searchColumn(position: number): string {
  return `c${position}`;
}

/** FTS5 keeps a search table in tables of its own, whose names end like this. */
const shadows = ["data", "idx", "content", "docsize", "config"];

/**
 * The searched collection that occupies the name of the search table of `collection` with a table of FTS5; null if the name
 * is free.
 */
export function searchNamesake(collection: string, searched: readonly string[]): string | null {
  const nameOf = (each: string): string => searchTableName(each).toLowerCase();
  const takenBy = (other: string): boolean => shadows.some((end) => `${nameOf(other)}_${end}` === nameOf(collection));
  return searched.find(takenBy) ?? null;
}
