/** Bodies of the admin API: collections, migrations, users, sessions, logs, configuration, backups and the overview. */
import type { User } from "./auth.ts";
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
  /** How many there are in all. */
  total: number;
  limit: number;
  offset: number;
}

/** A collection as admins see it. */
export interface CollectionEntry {
  name: string;
  fields: FieldDefinition[];
  permissions: Permissions | null;
  indexes: IndexDefinition[];
  /** As it is stored. */
  definition: CollectionDefinition;
  createdAt: string;
  updatedAt: string;
  /** How many it has. */
  records: number;
}

/** One step of a migration (spec, "Schema migration"). */
export interface MigrationStep {
  step:
    | "create"
    | "delete"
    | "add"
    | "drop"
    | "rename"
    | "owner"
    | "require"
    | "unique"
    | "retarget"
    | "rules"
    | "multiple"
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
  /** Of an index: whether no two records may have the same values in its fields. */
  unique?: boolean;
  /** Of a rename: the old name. Of a relation: the collection that it pointed to. */
  from?: string;
  /** Of a relation: the collection that it points to. */
  to?: string;
  /** Of permissions: the rules that become others. */
  rules?: { operation: Operation; from: Rule; to: Rule }[];
  /** Of a required field that comes: the default that the records get which are there. */
  default?: JsonValue;
  /** Whether the field becomes unique, multiple, or the owner, or the index is made; false when it no longer is. */
  on?: boolean;
  /** Records that it concerns: those that lose a value, where a field is dropped; else all that there are. */
  records: number;
}

/** The effect of a migration on one collection, done or planned. */
export interface MigrationPlan {
  collection: string;
  action: "create" | "update" | "delete";
  steps: MigrationStep[];
  /** How many the collection has. */
  records: number;
}

/** A trial: an operation that an admin tries as somebody else (`POST /api/admin/collections/{name}/try`). */
export interface RuleTrialRequest {
  /** The id of the user; null for somebody without a token. */
  as: string | null;
  operation: Operation;
  /** Of the record; to create one, or for a list, there is none. */
  id?: string;
  /** The body of a create or update; `{}` where it is left out. */
  body?: Record<string, JsonValue>;
  /** The parameters of a list, or of the read of one record; `limit` is 20 where it is left out, and 100 at most. */
  query?: Record<string, string | number>;
}

/** The outcome of a trial: the answer that the caller would get, and the rules that say so. Nothing was changed. */
export interface RuleTrial {
  as: User | null;
  operation: Operation;
  allowed: boolean;
  /** Of the answer that the caller would get. */
  status: number;
  error: ErrorBody["error"] | null;
  /** The record, or a page of the list, as the caller would get it; null where there is none in the answer. */
  answer: JsonValue;
  /** None for a list, for what is not there, and where a word refuses whoever asks. */
  rules: TriedRule[];
}

/** A rule, and how it stands to a record. */
export interface TriedRule {
  operation: Operation;
  /** Whether it was looked at on the record before the change, or after it. */
  moment: "before" | "after";
  rule: Rule;
  /** Whether it lets the caller; of an admin always. */
  holds: boolean;
  /** Of an expression; null for a word. */
  parts: RulePart | null;
}

/** A part of a rule's text, from `start` up to `end` (UTF-16 units from 0). */
export interface RulePart {
  /** The parts below `some`, which has brackets: whether some record there fulfils it, and those before it that && joins to it. */
  kind: "and" | "or" | "not" | "some" | "comparison";
  start: number;
  end: number;
  /** Null where a value is missing that it compares. */
  holds: boolean | null;
  parts: RulePart[];
}

/** All definitions of a service. */
export interface Schema {
  collections: CollectionDefinition[];
}

/** A session that has not expired. */
export interface SessionEntry {
  id: string;
  createdAt: string;
  /** When it ends if it is not refreshed before. */
  expiresAt: string;
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

/** An event of the log, as admins see it. */
export interface EventEntry extends Event {
  /** The id of the user who caused it, or null. */
  actor: string | null;
  /** Of the update of a large record the log keeps the id and what changed, and not the rest of the record. */
  partial?: true;
}

/** Requests that were answered within a minute. */
export interface RequestMinute {
  /** When it began. */
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

export interface Overview {
  version: string;
  startedAt: string;
  /** Seconds since then. */
  uptime: number;
  /** Bytes of the service's process. */
  residentMemory: number;
  /** Bytes on disk. */
  database: { size: number; walSize: number };
  /** Stored files, and their bytes. */
  storage: { files: number; size: number };
  collections: { name: string; records: number }[];
  /** The last hour, oldest first. */
  requests: RequestMinute[];
  sockets: number;
  /** Runs of functions. */
  deliveries: { waiting: number; running: number; failed: number };
  users: number;
}

/** A place that gives a value to a key of the configuration, weakest first. */
export type ConfigSource = "default" | "file" | "environment" | "command line";

/** A key of the configuration with the value in force. */
export interface ConfigEntry {
  /** Dotted: `limits.body`. */
  key: string;
  /**
   * As it is used: paths are absolute, times milliseconds, sizes bytes; a rate is as it is written. Null when it is not
   * set, and for a secret.
   */
  value: JsonValue;
  /** The value where nothing sets the key; null when there is none. */
  default: JsonValue;
  source: ConfigSource;
  /** Whether the value is kept back. `isSet` says whether there is one. */
  isSecret: boolean;
  isSet: boolean;
  /** The unit of a number; null for what is a count, a text or a switch. */
  unit: "bytes" | "milliseconds" | null;
  /** The environment variable that overrides it. */
  variable: string;
  description: string;
}

/** The configuration in force (`GET /api/admin/config`). */
export interface EffectiveConfig {
  /** The configuration file, and whether it was there at the start. */
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
  /** Bytes; null until it is packed. */
  size: number | null;
  startedAt: string;
  endedAt: string | null;
  /** From 0 to 1. */
  progress: number;
  error: string | null;
}
