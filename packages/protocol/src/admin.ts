/** Bodies of the admin API: collections, migrations, users, sessions, logs, configuration, backups and the overview. */
import type {
  CollectionDefinition,
  FieldDefinition,
  IndexDefinition,
  JsonValue,
  Operation,
  Permissions,
  Rule,
} from "./collections.ts";
import type { ErrorBody } from "./errors.ts";
import type { ChangeCause, Event } from "./events.ts";
import type { FieldChange } from "./history.ts";
import type { User } from "./wire/accounts.ts";
import type { DroppedEntry, RulePart } from "./wire/definitions.ts";

/** A list of the admin API. */
export interface Page<T> {
  items: T[];
  /** The number of all items. */
  total: number;
  limit: number;
  offset: number;
}

/** A collection in the admin API. */
export interface CollectionEntry {
  name: string;
  fields: FieldDefinition[];
  permissions: Permissions | null;
  indexes: IndexDefinition[];
  /** The stored definition. */
  definition: CollectionDefinition;
  createdAt: string;
  updatedAt: string;
  /** The number of records. */
  records: number;
  /** In the answer of a change without `renamedFrom`: the removed and the added field that were taken as a rename. */
  renamed?: { from: string; to: string };
  /** In the answer of a change: the dropped values of the fields or the collection that the change adds. */
  restorable?: DroppedEntry[];
}

/** A step of a migration (spec, "Schema migration"). */
export interface MigrationStep {
  step:
    | "create"
    | "delete"
    | "add"
    | "drop"
    | "restore"
    | "rename"
    | "renameCollection"
    | "follow"
    | "owner"
    | "require"
    | "unique"
    | "retarget"
    | "rules"
    | "multiple"
    | "type"
    | "values"
    | "default"
    | "onDelete"
    | "sequence"
    | "index"
    | "search"
    | "permissions"
    | "trash"
    | "query"
    | "order";
  field?: string;
  /** Of an index; of a search, all that are searched from now on. */
  fields?: string[];
  /** Of an index: whether no two records may have the same values in the fields. */
  unique?: boolean;
  /** For a rename: the old name. For a relation: the former target collection. For a collection: the former name. For a type: the former type. */
  from?: string;
  /** For a relation: the new target collection. For a collection: the new name. For a type: the new type. For a trash: the time that deleted records are kept. */
  to?: string;
  /** For values: the values that take the place of other values, with the records that have the value. */
  renamed?: readonly { from: string; to: string; records: number }[];
  /** For permissions: the rules that become others. */
  rules?: { operation: Operation | "history"; from: Rule; to: Rule }[];
  /** For a new required field: the default that existing records get. */
  default?: JsonValue;
  /** Whether the field becomes unique, multiple, or the owner, or the index is made; false for the opposite. */
  on?: boolean;
  /** Affected records: for a dropped field the records that lose a value, otherwise all records. */
  records: number;
}

/** The effect of a migration on a collection, done or planned. */
export interface MigrationPlan {
  collection: string;
  action: "create" | "update" | "delete";
  steps: MigrationStep[];
  /** How many the collection has. */
  records: number;
  /** Of other collections: the changes that follow from the change. Absent without such changes. */
  following?: Pick<MigrationPlan, "collection" | "steps">[];
  /** Of a rename: the files of code with an old name as a word. Absent without such a file. */
  code?: NamingFile[];
}

/** A file of code with the old names of a rename, and the numbers of the lines, from 1: the first 20 lines. */
export interface NamingFile {
  path: string;
  names: string[];
  lines: number[];
}

/** A trial: an operation that an admin tries as another caller (`POST /api/admin/collections/{name}/try`). */
export interface RuleTrialRequest {
  /** The id of the user; null for somebody without a token. */
  as: string | null;
  operation: Operation;
  /** The id of the record; absent for a create and for a list. */
  id?: string;
  /** The body of a create or update; `{}` by default. */
  body?: Record<string, JsonValue>;
  /** The parameters of a list, or of the read of a record; `limit` is 20 by default, and 100 at most. */
  query?: Record<string, string | number>;
}

/** The outcome of a trial: the answer that the caller would get, and the rules that say so. Nothing was changed. */
export interface RuleTrial<Answer = JsonValue> {
  as: User | null;
  operation: Operation;
  allowed: boolean;
  /** The status of the answer that the caller would get. */
  status: number;
  error: ErrorBody["error"] | null;
  /** The record, or a page of the list, as for the caller; null if the answer has no record. */
  answer: Answer | null;
  /** Empty for a list, for an absent record, and if a word refuses every caller. */
  rules: TriedRule[];
}

/** A rule, and its result for a record. */
export interface TriedRule {
  operation: Operation;
  /** Whether the rule was applied to the record before the change, or after the change. */
  moment: "before" | "after";
  rule: Rule;
  /** Whether the rule allows the caller; always true for an admin. */
  holds: boolean;
  /** The parts of an expression; null for a word. */
  parts: RulePart | null;
}

/** All definitions of a service. */
export interface Schema {
  collections: CollectionDefinition[];
}

export const LOG_LEVELS = ["DEBUG", "INFO", "WARN", "ERROR"] as const;
/** In order of weight (spec, "Logging levels"). */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** An event of the log in the admin API. */
export interface EventEntry extends Event {
  /** The id of the user behind the event, or null. */
  actor: string | null;
  /** For the update of a large record, the log keeps the id and the changed fields, not the rest of the record. */
  partial?: true;
  /** The position in the log. */
  seq: number;
  /** For the change of a record: the request, run, import or undo that made the change. */
  cause?: ChangeCause;
  /** For an update or a deletion of a record: the changed fields, with the values before that the log has. */
  changes?: { [field: string]: FieldChange };
}

/** A place that gives a value to a key of the configuration, weakest first. */
/** `settings`: a live setting, which an admin has changed in place of the default. */
export type ConfigSource = "default" | "settings" | "file" | "environment" | "command line";
