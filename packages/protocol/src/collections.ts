/** Definitions of collections and fields, and records in answers. */
import { ROLES } from "./auth.ts";
import type { VectorMetric } from "./vector.ts";

/** The field types: the nine of the spec ("Field definition"), places and vectors. */
export const FIELD_TYPES = [
  "string",
  "text",
  "integer",
  "float",
  "boolean",
  "datetime",
  "json",
  "relation",
  "file",
  "geo",
  "vector",
] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

/** The callers that may do an operation (spec, "Permissions"). */
export const PERMISSION_RULES = ["public", "authenticated", "owner", "admin"] as const;
export type PermissionRule = (typeof PERMISSION_RULES)[number];

/** The operations that rules are for. `effectiveRules` has the rules of the operations that a definition does not name. */
export const OPERATIONS = ["read", "create", "update", "delete"] as const;
export type Operation = (typeof OPERATIONS)[number];

/** A rule: a word of the four, or an expression of the filter language. */
export type Rule = string;
export type Permissions = { [operation in Operation]?: Rule };

/** The operations that a field may have a separate rule for. `update` covers create. */
export const FIELD_OPERATIONS = ["read", "update"] as const;
export type FieldOperation = (typeof FIELD_OPERATIONS)[number];

/**
 * The rules of a field, beside the rules of the collection. A caller without the right to read the value gets the
 * record without the field. Without `read`, every reader of the record may read the value; without `update`, the rule
 * of `read` applies.
 */
export type FieldPermissions = { [operation in FieldOperation]?: Rule };

/** The times of every record: names of fields that no definition has, and that indexes may contain. */
export const RECORD_TIMES = ["createdAt", "updatedAt"] as const;

/** Whether the service keeps the name of a field for every record, in any case of letters. */
export function isSystemFieldName(name: string): boolean {
  return ["id", ...RECORD_TIMES].some((each) => each.toLowerCase() === name.toLowerCase());
}

/** The effects on a record when the target of the relation is deleted. */
export const ON_DELETE = ["restrict", "cascade", "clear"] as const;
export type OnDelete = (typeof ON_DELETE)[number];

/** The forms of texts that a field of type string or text may have. */
export const TEXT_FORMATS = ["email", "url", "markdown"] as const;
export type TextFormat = (typeof TEXT_FORMATS)[number];

/** Names of collections and fields; collections are unique without regard to case. */
export const NAME_PATTERN = /^[A-Za-z][A-Za-z0-9_]{0,62}$/;

/** The collection of the users, which exists if a definition adds fields to users. */
export const USERS = "users";

const reservedCollectionNames = [
  USERS,
  "auth",
  "admin",
  "storage",
  "realtime",
  "system",
  "function",
  "job",
  "openapi",
  "batch",
  "query",
  // A table of this name would hide the function of SQLite that conditions and lists of ids use.
];

/** Whether the service keeps the name for internal use, in any case of letters. A definition of `users` adds fields to users. */
export function isReservedCollectionName(name: string): boolean {
  return name !== USERS && reservedCollectionNames.includes(name.toLowerCase());
}

export interface FieldDefinition {
  name: string;
  type: FieldType;
  required?: boolean;
  /** Smallest value of a number, smallest length in code points of a string, fewest items of a multiple field; inclusive. */
  min?: number;
  /** Largest value of a number, largest length in code points of a string, most items of a multiple field; inclusive. */
  max?: number;
  /** A pattern that must match a part of the string. The pattern runs in linear time: no backreferences, no lookaround. */
  regex?: string;
  /** No two records have the same value; with "nocase", also not in another case of letters: see `foldCase`. */
  unique?: boolean | "nocase";
  /** For a string or text: the form of the text; of each item of a multiple field. `isFormatted` has the check. */
  format?: TextFormat;
  /** For a vector: the count of its numbers, from 1 to `MAX_DIMENSIONS`. */
  dimensions?: number;
  /** For a vector: the distance that `nearest(field, […])` sorts by; `cosine` by default. */
  metric?: VectorMetric;
  /** For a relation: the target collection. */
  collection?: string;
  /** For a relation: the effect on the record when the target is deleted. By default, the reference stays. */
  onDelete?: OnDelete;
  /** For a relation to a collection: a caller may set the relation to a record that the caller cannot read. */
  anyTarget?: boolean;
  /** For a relation to `users`: the field shows the owner of the record. At most a single field per collection. */
  owner?: boolean;
  /** For a string: the allowed texts, in the order, which is the order of sorting. */
  values?: string[];
  /** For a string, relation or file: the value is an array of distinct items; the order is kept. */
  multiple?: boolean;
  /** For an integer: the service numbers the records, all of the collection or all with the same values in some fields. */
  sequence?: true | string[];
  /**
   * The value of a new record without the field in the body: a value of the type, "@now" for a datetime, "@user.id" for
   * a relation to `users`; in an array for a multiple field.
   */
  default?: JsonValue;
  permissions?: FieldPermissions;
}

/**
 * The fields of `users` that follow the account of a user, and are no part of a write. A definition may give the fields a
 * read rule; by default, the user and admins may read the fields.
 */
export const ACCOUNT_FIELDS: readonly FieldDefinition[] = [
  { name: "email", type: "string", required: true },
  { name: "role", type: "string", required: true, values: [...ROLES] },
  { name: "verified", type: "boolean", required: true },
];

/** Whether a field of a collection follows the account of a user. */
export function isAccountField(collection: string, field: string): boolean {
  return collection === USERS && ACCOUNT_FIELDS.some(({ name }) => name === field);
}

/**
 * Fields, or `createdAt` and `updatedAt`, by which records are found together, in this order. With `unique`, no two
 * records have the same values in all of the fields; a record with null in any of the fields never counts.
 */
export type IndexDefinition = string[] | { fields: string[]; unique?: boolean };

export interface CollectionDefinition {
  name: string;
  /** The SELECT of a view, whose rows are the records. Absent for a collection with records of its own. */
  query?: string;
  /** Of a view, the service derives the fields of the query, `createdAt` and `updatedAt` included. */
  fields: FieldDefinition[];
  /** The collections that the query of a view reads, derived by the service. Absent for a collection with records of its own. */
  reads?: string[];
  permissions?: Permissions;
  /** Indexes beside the automatic indexes of unique fields, relations and the owner. Absent without indexes. */
  indexes?: IndexDefinition[];
  /** The fields of type string or text with the words that `?search=` looks for. Absent without searched fields. */
  search?: string[];
  /** The callers who may see the changes of a record, beside admins. Absent for admins alone. */
  history?: HistoryDefinition;
  /** How long a deleted record can be restored, for example "30d". Absent without a trash. */
  trash?: string;
}

/** Whether a definition is of a view: a collection that nobody writes, whose records are the rows of a query. */
export function isView({ query }: Pick<CollectionDefinition, "query">): boolean {
  return query !== undefined;
}

export interface HistoryDefinition {
  /** The callers, beside admins, who may see the changes of a record that they may read. */
  read: Rule;
  /** How long the log keeps the values of changes, for example "90d"; by default, as long as the log keeps the events. */
  keep?: string;
}

/** A value in a migration that had another name before; the records get the new name. */
export interface ValueChange {
  name: string;
  renamedFrom?: string | null;
}

/** A field in a migration: with the former name, or null for a new field, and the former type. */
export interface ChangedField extends Omit<FieldDefinition, "values"> {
  renamedFrom?: string | null;
  /** On a float that was an integer: without the attribute, the change of the type is refused. */
  convertedFrom?: "integer";
  values?: (string | ValueChange)[];
}

export interface ChangedDefinition extends Omit<CollectionDefinition, "fields"> {
  /** The former name of the collection. */
  renamedFrom?: string;
  fields: ChangedField[];
}

/** The fields that the service manages on every record. */
export interface SystemFields {
  /** `rec_` and a UUIDv7. */
  id: string;
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  updatedAt: string;
}

export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

/**
 * A record in an answer: the system fields and every field of the definition, null without a value. A field that
 * the caller may not read is left out.
 */
export type StoredRecord = SystemFields & { [field: string]: JsonValue };

export interface RecordList<T = StoredRecord> {
  items: T[];
}
