/** Bodies of the admin API: collections, migrations, users, sessions, logs, configuration, backups and the overview. */
import type { SessionEntry, User } from "./auth.ts";
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
import type { Event } from "./events.ts";

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

/** Values that a migration dropped and that can be restored (`GET /api/admin/dropped`). */
export interface DroppedEntry {
  id: string;
  collection: string;
  /** Null for a dropped collection. */
  field: string | null;
  at: string;
  /** The way of the change: a definition file, or the request. */
  cause: "file" | "PUT" | "DELETE" | "schema.json";
  /** The number of values, or of the records of a collection. */
  values: number;
}

/** The outcome of a restore. */
export interface RestoredValues {
  restored: number;
  /** The values whose record is gone, has another value, or must not have the value of another record. */
  left: number;
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
    | "order";
  field?: string;
  /** Of an index; of a search, all that are searched from now on. */
  fields?: string[];
  /** Of an index: whether no two records may have the same values in the fields. */
  unique?: boolean;
  /** For a rename: the old name. For a relation: the former target collection. For a collection: the former name. For a type: the former type. */
  from?: string;
  /** For a relation: the new target collection. For a collection: the new name. For a type: the new type. */
  to?: string;
  /** For values: the values that take the place of other values. */
  renamed?: readonly { from: string; to: string }[];
  /** For permissions: the rules that become others. */
  rules?: { operation: Operation; from: Rule; to: Rule }[];
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
export interface RuleTrial {
  as: User | null;
  operation: Operation;
  allowed: boolean;
  /** The status of the answer that the caller would get. */
  status: number;
  error: ErrorBody["error"] | null;
  /** The record, or a page of the list, as for the caller; null if the answer has no record. */
  answer: JsonValue;
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

/** A part of a rule's text, from `start` up to `end` (UTF-16 units from 0). */
export interface RulePart {
  /**
   * `some` has brackets: each part below holds if a record fulfils the part and the parts that `&&` joins before the part. Each
   * part below `every` holds if all records fulfil the part.
   */
  kind: "and" | "or" | "not" | "some" | "every" | "comparison";
  start: number;
  end: number;
  /** Null if a compared value is missing. */
  holds: boolean | null;
  parts: RulePart[];
}

/** All definitions of a service. */
export interface Schema {
  collections: CollectionDefinition[];
}

export interface UserEntry extends User {
  sessions: SessionEntry[];
}

export const LOG_LEVELS = ["DEBUG", "INFO", "WARN", "ERROR"] as const;
/** In order of weight (spec, "Logging levels"). */
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogEntry {
  timestamp: string;
  level: LogLevel;
  message: string;
  /** The part of the service that speaks. */
  source: string;
  requestId?: string;
  fields?: { [name: string]: unknown };
}

/** An event of the log in the admin API. */
export interface EventEntry extends Event {
  /** The id of the user behind the event, or null. */
  actor: string | null;
  /** For the update of a large record, the log keeps the id and the changed fields, not the rest of the record. */
  partial?: true;
}

/** Requests that were answered within a minute. */
export interface RequestMinute {
  /** The beginning of the minute. */
  minute: string;
  requests: number;
  /** Answers with a status of 400 to 499. */
  clientErrors: number;
  /** Answers with a status of 500 or more. */
  errors: number;
  /** Milliseconds until the answer began, estimated from a histogram; null without requests. */
  p50: number | null;
  p99: number | null;
}

/** An instance of a cluster. */
export interface ClusterInstance {
  /** The URL by which the other instances reach the instance. */
  address: string;
  version: string;
  role: "leader" | "replica";
  /** The last commit that the instance has. */
  position: number;
  /** How many commits of the cluster the instance does not have. */
  lag: number;
  /** Whether the instance has told of itself in the last seconds. */
  isLive: boolean;
  /** Why the instance does not serve or may not lead, in a line; null for an instance without a problem. */
  problem: string | null;
  /** The fingerprint of the project folder; null for an instance of an earlier version. */
  files: string | null;
}

/** The instances of a cluster. */
export interface ClusterOverview {
  /** The address of the leader; null while no instance leads. */
  leader: string | null;
  /** Grows with each leader. */
  term: number;
  /** The last commit. */
  position: number;
  /** Whether PostgreSQL answers; the instances are not known otherwise. */
  isJournalReached: boolean;
  instances: ClusterInstance[];
}

export interface Overview {
  version: string;
  startedAt: string;
  /** Seconds since then. */
  uptime: number;
  /** Bytes of the service's process. */
  residentMemory: number;
  /** Bytes on disk. */
  database: { size: number; walSize: number };
  /** Stored files, and the bytes. */
  storage: { files: number; size: number };
  collections: { name: string; records: number }[];
  /** The last hour, oldest first. */
  requests: RequestMinute[];
  sockets: number;
  /** Runs of functions. */
  deliveries: { waiting: number; running: number; failed: number };
  /** Runs that have failed for good and are kept: of functions and queues until a retry or a removal, of jobs in the history. */
  failedRuns: { functions: number; jobs: number; queues: number };
  users: number;
  /** Dropped values, and records of dropped collections, that can be restored. */
  dropped: number;
  /** Null for a service that is not an instance of a cluster. */
  cluster: ClusterOverview | null;
}

/** A place that gives a value to a key of the configuration, weakest first. */
export type ConfigSource = "default" | "file" | "environment" | "command line";

/** A key of the configuration with the value in force. */
export interface ConfigEntry {
  /** Dotted: `limits.body`. */
  key: string;
  /**
   * The value in use: paths are absolute, times milliseconds, sizes bytes; a rate is written as in the file. Null when not
   * set, and for a secret.
   */
  value: JsonValue;
  /** The default value; null without a default. */
  default: JsonValue;
  source: ConfigSource;
  /** Whether the value is kept back. `isSet` says whether the key has a value. */
  isSecret: boolean;
  isSet: boolean;
  /** The unit of a number; null for a count, a text or a switch. */
  unit: "bytes" | "milliseconds" | null;
  /** The environment variable that overrides the key. */
  variable: string;
  description: string;
}

/** The configuration in force (`GET /api/admin/config`). */
export interface EffectiveConfig {
  /** The configuration file, and whether the file existed at the start. */
  file: string;
  fileExists: boolean;
  keys: ConfigEntry[];
}

/** A record that holds the id of a file (`GET /api/admin/storage/{id}/records`). */
export interface FileUse {
  collection: string;
  field: string;
  /** The record's id. */
  id: string;
}

/** A backup (`GET /api/admin/backups`). */
export interface BackupEntry {
  name: string;
  state: "running" | "completed" | "failed";
  /** The size in bytes; null until the backup is packed. */
  size: number | null;
  startedAt: string;
  endedAt: string | null;
  /** From 0 to 1. */
  progress: number;
  error: string | null;
}
