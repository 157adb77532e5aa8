/** The nine field types (spec, "Field definition"). */
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
] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

/** The callers that may do an operation (spec, "Permissions"). */
export const PERMISSION_RULES = ["public", "authenticated", "owner", "admin"] as const;
export type PermissionRule = (typeof PERMISSION_RULES)[number];

/**
 * The operations a rule is given for. One that is left out takes the rule of the one before it; the first is public.
 */
export const OPERATIONS = ["read", "create", "update", "delete"] as const;
export type Operation = (typeof OPERATIONS)[number];

/** A rule: one of the four words, or an expression of the filter language. */
export type Rule = string;
export type Permissions = { [operation in Operation]?: Rule };

/** The operations that a field may have a rule of its own for. `update` covers create. */
export const FIELD_OPERATIONS = ["read", "update"] as const;
export type FieldOperation = (typeof FIELD_OPERATIONS)[number];

/**
 * The rules of a field, beside those of its collection. A caller whom `read` keeps from the value gets the record without the
 * field. Without `read` the value is for everybody who may read the record; without `update` the rule of `read` holds.
 */
export type FieldPermissions = { [operation in FieldOperation]?: Rule };

/** The fates of a record when the one that a relation of it points to is deleted. */
export const ON_DELETE = ["restrict", "cascade", "clear"] as const;
export type OnDelete = (typeof ON_DELETE)[number];

/** Names of collections and fields; collections are unique without regard to case. */
export const NAME_PATTERN = /^[A-Za-z][A-Za-z0-9_]{0,62}$/;

const reservedCollectionNames = [
  "users",
  "auth",
  "admin",
  "storage",
  "realtime",
  "system",
  "function",
  "job",
  "openapi",
  "batch",
  // A table of this name would hide the function of SQLite that conditions and lists of ids use.
];

/** Whether the service keeps the name for itself, in any case of its letters. */
export function isReservedCollectionName(name: string): boolean {
  return reservedCollectionNames.includes(name.toLowerCase());
}

export interface FieldDefinition {
  name: string;
  type: FieldType;
  required?: boolean;
  /** Smallest value of a number, smallest length in code points of a string, fewest items of a multiple field; inclusive. */
  min?: number;
  /** Largest value of a number, largest length in code points of a string, most items of a multiple field; inclusive. */
  max?: number;
  /** A pattern that must occur somewhere in the string. It runs in linear time: no backreferences, no lookaround. */
  regex?: string;
  unique?: boolean;
  /** For a relation: the collection it points to. */
  collection?: string;
  /** For a relation: the fate of the record when the one that it points to is deleted. Left out, it stays as it is. */
  onDelete?: OnDelete;
  /** For a relation to `users`: the field shows who owns the record. One per collection. */
  owner?: boolean;
  /** For a string: the texts that it may be, in their order, by which it sorts. */
  values?: string[];
  /** For a string, relation or file: the value is an array of distinct items, whose order is kept. */
  multiple?: boolean;
  /** For an integer: the service numbers the records, all of them, or those with the same values in some fields. */
  sequence?: true | string[];
  /**
   * The value of a new record whose body is silent: one of the type, "@now" for a datetime, "@user.id" for a relation to `users`, in an
   * array where that is multiple.
   */
  default?: JsonValue;
  permissions?: FieldPermissions;
}

/**
 * Fields, or `createdAt` and `updatedAt`, by which records are found together, in this order. With `unique`, no two
 * records have the same values in all of them; one with null in any of them never counts.
 */
export type IndexDefinition = string[] | { fields: string[]; unique?: boolean };

export interface CollectionDefinition {
  name: string;
  fields: FieldDefinition[];
  permissions?: Permissions;
  /** Beside what is indexed without asking: unique fields, relations, the owner. Left out where there are none. */
  indexes?: IndexDefinition[];
  /** The fields of type string or text whose words `?search=` looks for. Left out where there are none. */
  search?: string[];
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
 * A record as it is answered: the system fields and every field of the definition, null where there is no value. A field that
 * the caller may not read is left out.
 */
export type StoredRecord = SystemFields & { [field: string]: JsonValue };

export interface RecordList<T = StoredRecord> {
  items: T[];
}
