import type { CollectionDefinition, FieldDefinition, Operation, PermissionRule } from "@socle/protocol";
import type { Pattern } from "./pattern.ts";

/** The column of a record's owner; an owner field shows it and has no column of its own. */
export const ownerColumn = "_owner";

/** The times that every record has, in columns of the same names. */
export const recordTimes = ["createdAt", "updatedAt"] as const;

/** A collection in force: its definition, and what is derived from it. Immutable; a migration makes a new one. */
export interface Collection {
  readonly name: string;
  readonly definition: CollectionDefinition;
  /** The name of its table. */
  readonly table: string;
  /** The rule of every operation, with what was left out filled in. */
  readonly rules: { readonly [operation in Operation]: PermissionRule };
  /** The compiled `regex` rules by field name. */
  readonly patterns: ReadonlyMap<string, Pattern>;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly places: Places;
}

/**
 * Places of the event log at which a migration changed what older events may show. They are kept with the definition, so
 * they hold after a restart.
 */
export interface Places {
  /** Events up to here are of a collection of the same name that is gone. */
  readonly created: number;
  /** Events up to here may hold fields that were dropped or renamed. */
  readonly fields: number;
  /** By read rule: events up to here were written before a wider rule took its place. */
  readonly widened: { readonly [rule in PermissionRule]?: number };
}

/** Read rules, from the one that lets nobody but admins read to the one that lets everybody. */
const width: readonly PermissionRule[] = ["admin", "owner", "authenticated", "public"];

/** Whether a read rule lets more callers read than another. */
export function isWider(rule: PermissionRule, than: PermissionRule): boolean {
  return width.indexOf(rule) > width.indexOf(than);
}

/** Every read rule that lets fewer callers read than this one. */
export function narrowerThan(rule: PermissionRule): readonly PermissionRule[] {
  return width.slice(0, width.indexOf(rule));
}

/** SQLite keeps names that start with `sqlite_` for itself. */
export function tableName(collection: string): string {
  return collection.toLowerCase().startsWith("sqlite_") ? `_${collection}` : collection;
}

/** The column that holds a field. */
export function columnName(field: FieldDefinition): string {
  return field.owner === true ? ownerColumn : ownColumn(field.name);
}

/** The columns of what an index names: fields, and times of the record. */
export function columnsOf({ fields }: CollectionDefinition, names: readonly string[]): string[] {
  return names.map((name) => {
    const field = fields.find((each) => each.name === name);
    return field === undefined ? name : columnName(field);
  });
}

/** The column of a field that is not the owner. SQLite keeps two names for the place of a row. */
export function ownColumn(field: string): string {
  return ["rowid", "oid"].includes(field.toLowerCase()) ? `_field_${field}` : field;
}

/** Every operation's rule: one that is left out takes that of the operation before it; `read` is public. */
export function resolveRules(definition: CollectionDefinition): Collection["rules"] {
  const given = definition.permissions ?? {};
  const read = given.read ?? "public";
  const create = given.create ?? read;
  const update = given.update ?? create;
  return { read, create, update, delete: given.delete ?? update };
}
