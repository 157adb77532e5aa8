/** Limits: the names of all bounds at which a caller is turned away. */

/**
 * Every bound that a caller can reach. The name is the label in `/metrics` and in the log; docs/operating.md, "Limits",
 * has a row for each.
 */
export const LIMITS = [
  /** Bytes of answers that are on their way (`limits.answers`). */
  "answers",
  /** Bytes of request bodies that are being read (`limits.bodies`). */
  "bodies",
  /** Open connections in all (`limits.connections`). */
  "connections",
  /** Requests and sockets of an address (`limits.connectionsPerAddress`). */
  "connectionsPerAddress",
  /** Bytes that wait in a socket (`realtime.bufferLimit`). */
  "socketBuffer",
  /** Frames of a socket that wait to be followed: a flood closes the socket. */
  "socketFrames",
  /** Bytes that wait in all sockets (`realtime.bufferTotal`). */
  "socketBuffers",
  /** Subscriptions of all sockets (`limits.subscriptions`). */
  "subscriptions",
  /** Filters of the subscriptions of a collection (`limits.filters`). */
  "filters",
  /** Processor time of the filters of one caller (`limits.filterTime`). */
  "filterTime",
  /** Read rules that take long to decide about one change: a reader thread decides. */
  "ruleTime",
  /** Queries on the reader threads (`limits.queries`). */
  "queries",
  /** Thumbnails that wait to be made (`limits.thumbnails`). */
  "thumbnails",
  /** Large batches that wait for their turn (`limits.batches`). */
  "batches",
  /** Imports that wait: two run at a time. */
  "imports",
  /** Uploads that wait to be read (`limits.uploads`). */
  "uploads",
  /** Bytes of stored files in all (`limits.storage`). */
  "storage",
  /** Bytes of stored files of a user (`limits.storagePerUser`). */
  "storagePerUser",
  /** Passwords that wait to be hashed (`limits.passwords`). */
  "passwords",
  /** Failed logins (contract, "Authentication"). */
  "logins",
  /** Sessions of a user (`limits.sessionsPerUser`): the oldest ends. */
  "sessionsPerUser",
  /** Requests to endpoints (`limits.endpoints`). */
  "endpoints",
  /** Runs that wait in a queue (`limits.queuedRuns`). */
  "queuedRuns",
  /** Records that a deletion changes beside its own (`limits.cascade`). */
  "cascade",
  /** Writes that wait for hooks, and their bytes (`limits.hooks`). */
  "hooks",
  /** Live streams of the log and of events. */
  "streams",
  /** Requests per second of an address (`limits.rate.*`). */
  "rate",
] as const;

export type LimitName = (typeof LIMITS)[number];
