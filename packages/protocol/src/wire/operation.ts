/** The operation of a service: health, overview, cluster, configuration, log and backups. */
import { LOG_LEVELS } from "../admin.ts";
import {
  anything,
  arrayOf,
  boolean,
  constant,
  count,
  enumOf,
  freeObject,
  integer,
  named,
  number,
  object,
  optional,
  orNull,
  string,
  type TypeOf,
  time,
} from "./shape.ts";

/** The answer of the health checks. */
export const health = named("Health", () =>
  object({
    status: constant("ok"),
    version: string,
    /** In the answer of a ready service: faults that leave the service ready, as lines; absent without such a fault. */
    notes: optional(arrayOf(string)),
  }),
);
export type Health = TypeOf<typeof health>;

/** Requests that were answered within a minute or an hour. Requests of the dashboard and of the admin API do not count. */
export const requestMinute = named("RequestMinute", () =>
  object({
    /** The beginning of the minute, or of the hour. */
    minute: time,
    requests: count,
    /** Answers with a status of 400 to 499. */
    clientErrors: count,
    /** Answers with a status of 500 or more. */
    errors: count,
    /** Milliseconds until the answer began, estimated from a histogram; null without requests. */
    p50: orNull(number),
    p99: orNull(number),
  }),
);
export type RequestMinute = TypeOf<typeof requestMinute>;

/** An instance of a cluster. */
export const clusterInstance = named("ClusterInstance", () =>
  object({
    /** The URL by which the other instances reach the instance. */
    address: string,
    version: string,
    role: enumOf(["leader", "replica"]),
    /** The last commit that the instance has. */
    position: count,
    /** How many commits of the cluster the instance does not have. */
    lag: count,
    /** Whether the instance has told of itself in the last seconds. */
    isLive: boolean,
    /** Why the instance does not serve or may not lead, in a line; null for an instance without a problem. */
    problem: orNull(string),
    /** The fingerprint of the project folder; null for an instance of an earlier version. */
    files: orNull(string),
  }),
);
export type ClusterInstance = TypeOf<typeof clusterInstance>;

/** The instances of a cluster. */
export const clusterOverview = named("ClusterOverview", () =>
  object({
    /** The address of the leader; null while no instance leads. */
    leader: orNull(string),
    /** Grows with each leader. */
    term: count,
    /** The last commit. */
    position: count,
    /** Whether PostgreSQL answers; the instances are not known otherwise. */
    isJournalReached: boolean,
    instances: arrayOf(clusterInstance),
  }),
);
export type ClusterOverview = TypeOf<typeof clusterOverview>;

export const overview = named("Overview", () =>
  object({
    version: string,
    startedAt: time,
    /** Seconds since then. */
    uptime: number,
    /** Bytes of the service's process. */
    residentMemory: count,
    /** Bytes on disk. */
    database: object({ size: count, walSize: count }),
    disk: object({
      /** Free bytes of the fullest disk; null on a system that does not tell. */
      free: orNull(count),
      /** Bytes by which database and files have grown since a moment: the start of the service, or seven days ago. */
      growth: object({ since: time, bytes: integer }),
    }),
    backup: object({
      /** The end of the last backup; null without a backup. */
      last: orNull(time),
      /** Why the last backup failed, in a line; null otherwise. */
      error: orNull(string),
      /** Seconds since the oldest write that is not in the continuous backup, 0 without such a write; null without a continuous backup. */
      behind: orNull(number),
    }),
    /** Stored files, and the bytes. */
    storage: object({ files: count, size: count }),
    collections: arrayOf(object({ name: string, records: count })),
    /** The last hour, oldest first. */
    requests: arrayOf(requestMinute),
    /** The last seven days by hours, oldest first. */
    week: arrayOf(requestMinute),
    sockets: count,
    /** Runs of functions. */
    deliveries: object({ waiting: count, running: count, failed: count }),
    /** Runs that have failed for good and are kept: of functions and queues until a retry or a removal, of jobs in the history. */
    failedRuns: object({ functions: count, jobs: count, queues: count }),
    users: count,
    /** Dropped values, and records of dropped collections, that can be restored. */
    dropped: count,
    /** Null for a service that is not an instance of a cluster. */
    cluster: orNull(clusterOverview),
  }),
);
export type Overview = TypeOf<typeof overview>;

/** A part of the service that is not well, in a line, and the way on. */
export const statusItem = named("StatusItem", () =>
  object({
    /** Names the condition: `disk_low`, `backup_old`, … */
    id: string,
    /** An error hurts callers now; a warning will; a note is to be known. */
    level: enumOf(["error", "warning", "note"]),
    text: string,
    remedy: string,
    /** When the condition was first seen since the start of the service. */
    since: time,
  }),
);
export type StatusItem = TypeOf<typeof statusItem>;

export const serviceStatus = named("ServiceStatus", () =>
  object({
    /** Whether there is neither an error nor a warning. */
    isWell: boolean,
    /** The worst first. */
    items: arrayOf(statusItem),
  }),
);
export type ServiceStatus = TypeOf<typeof serviceStatus>;

/** The lowest level that is logged. */
export const logLevelState = named("LogLevelState", () =>
  object({
    level: enumOf(LOG_LEVELS),
    /** The level of the configuration, which is in force after the next start. */
    configured: enumOf(LOG_LEVELS),
  }),
);
export type LogLevelState = TypeOf<typeof logLevelState>;

export const logLevelChange = named("LogLevelChange", () => object({ level: enumOf(LOG_LEVELS) }));

/** Whether the service refuses changes. */
export const readOnlyMode = named("ReadOnlyMode", () =>
  object({
    on: boolean,
    /** An admin has begun the mode; or a disk has less room than `limits.diskFree`, and the mode ends with room. Null while changes are accepted. */
    cause: orNull(enumOf(["admin", "disk"])),
    since: orNull(time),
    /** The cause in words, for operators. */
    text: orNull(string),
  }),
);
export type ReadOnlyMode = TypeOf<typeof readOnlyMode>;

export const readOnlySwitch = named("ReadOnlySwitch", () => object({ on: boolean }));

/** An open socket of realtime, and all that the socket holds. */
export const socketEntry = named("SocketEntry", () =>
  object({
    /** The `clientId` that the service told the client at the opening. */
    id: string,
    /** The user behind the token or the key; null for a caller without a token, and for a service key. */
    userId: orNull(string),
    email: orNull(string),
    /** Null for a caller without a token. */
    role: orNull(string),
    /** Whether the caller uses an API key. */
    isKey: boolean,
    /** The address by which limits count. */
    address: string,
    openedAt: time,
    /** The address of the instance of a cluster that has the socket; null without a cluster. */
    instance: orNull(string),
    /** The process that has the socket; 0 is the leader, or the only process of an instance. */
    process: count,
    /** Bytes that the client has not taken yet. */
    waiting: count,
    /** Channels, each with the id of the subscription or null, and the filter or null. Long texts are cut. */
    channels: arrayOf(object({ id: orNull(string), channel: string, filter: orNull(string) })),
    /** Live queries: the name of the collection or of the server query, and the parameters as text. Long texts are cut. */
    queries: arrayOf(object({ id: string, of: string, parameters: string })),
    /** Rooms that the socket is a member of, with the state as JSON. Long texts are cut. */
    rooms: arrayOf(object({ room: string, key: string, state: string })),
  }),
);
export type SocketEntry = TypeOf<typeof socketEntry>;

export const socketPage = named("SocketPage", () =>
  object({
    items: arrayOf(socketEntry),
    total: count,
    limit: count,
    offset: count,
    /** The processes that have not answered in time: the list has no sockets of these processes. */
    missing: arrayOf(object({ instance: orNull(string), process: count })),
  }),
);
export type SocketPage = TypeOf<typeof socketPage>;

/** A key of the configuration with the value in force. */
export const configEntry = named("ConfigEntry", () =>
  object({
    /** Dotted: `limits.body`. */
    key: string,
    /**
     * The value in use: paths are absolute, times milliseconds, sizes bytes; a rate is written as in the file. Null when not
     * set, and for a secret.
     */
    value: anything,
    /** The default value; null without a default. */
    default: anything,
    source: enumOf(["default", "settings", "file", "environment", "command line"]),
    /** Whether the value is kept back. `isSet` says whether the key has a value. */
    isSecret: boolean,
    isSet: boolean,
    /** The unit of a number; null for a count, a text or a switch. */
    unit: orNull(enumOf(["bytes", "milliseconds"])),
    /** The environment variable that overrides the key. */
    variable: string,
    description: string,
    /** Whether admins may change the value while the service runs, if no file, environment or command line has the key. */
    isLive: boolean,
  }),
);
export type ConfigEntry = TypeOf<typeof configEntry>;

/** The new value of a live setting: as in the file, or as text; null, or no value, for the default. */
export const settingChange = named("SettingChange", () => object({ value: optional(anything) }));

/** The configuration in force (`GET /api/admin/config`). */
export const effectiveConfig = named("EffectiveConfig", () =>
  object({
    /** The configuration file, and whether the file existed at the start. */
    file: string,
    fileExists: boolean,
    keys: arrayOf(configEntry),
  }),
);
export type EffectiveConfig = TypeOf<typeof effectiveConfig>;

export const logEntry = named("LogEntry", () =>
  object({
    timestamp: time,
    level: enumOf(LOG_LEVELS),
    message: string,
    /** The part of the service that speaks. */
    source: string,
    requestId: optional(string),
    fields: optional(freeObject),
  }),
);
export type LogEntry = TypeOf<typeof logEntry>;

/** From 0 to 1. */
const part = { ...number, schema: { type: "number", minimum: 0, maximum: 1 } };

/** A verification of a backup (`POST /api/admin/backups/{name}/verify`). */
export const backupCheck = named("BackupCheck", () =>
  object({
    state: enumOf(["running", "passed", "failed"]),
    startedAt: time,
    endedAt: orNull(time),
    progress: part,
    /** Empty while the verification runs. An error makes the verification fail. */
    findings: arrayOf(object({ state: enumOf(["ok", "info", "error"]), subject: string, text: string })),
  }),
);
export type BackupCheck = TypeOf<typeof backupCheck>;

/** A backup (`GET /api/admin/backups`). */
export const backupEntry = named("BackupEntry", () =>
  object({
    name: string,
    state: enumOf(["running", "completed", "failed"]),
    /** The size in bytes; null until the backup is packed. */
    size: orNull(count),
    startedAt: time,
    endedAt: orNull(time),
    progress: part,
    error: orNull(string),
    /** The last verification since the start of the service; null without one. */
    check: orNull(backupCheck),
  }),
);
export type BackupEntry = TypeOf<typeof backupEntry>;

/** The extent of the continuous backup (`GET /api/admin/backups/continuous`). */
export const continuousExtent = named("ContinuousExtent", () =>
  object({
    /** The folder, or the address of the bucket. */
    place: string,
    /** The first and the last moment that can be restored; null without a snapshot. */
    from: orNull(time),
    to: orNull(time),
    /** The position of the last commit. */
    position: count,
    /** The newest first. */
    snapshots: arrayOf(object({ name: string, position: count, bytes: count, madeAt: time })),
    /** Times whose moments cannot be restored, the oldest first. */
    gaps: arrayOf(object({ from: time, to: time })),
    /** Seconds since the oldest write that is not in the place; 0 without such a write. */
    behind: number,
    /** Whether a write waits for longer than `backup.every` allows. */
    isLate: boolean,
    /** Why nothing leaves, in a line; null while the place takes the segments. */
    problem: orNull(string),
  }),
);
export type ContinuousExtent = TypeOf<typeof continuousExtent>;
