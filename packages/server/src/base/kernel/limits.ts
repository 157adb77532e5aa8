/** Limits: the names of all bounds at which a caller is turned away. */

/**
 * Every bound that a caller can reach. The name is the label in `/metrics` and in the log; docs/limits.md
 * has a row for each name. A name without a comment is a key `limits.*` of the configuration, which tells its meaning.
 */
export const LIMITS = [
  "answers",
  "bodies",
  "connections",
  "connectionsPerAddress",
  /** Bytes that wait in a socket (`realtime.bufferLimit`). */
  "socketBuffer",
  /** Frames of a socket that wait to be followed: a flood closes the socket. */
  "socketFrames",
  /** Bytes that wait in all sockets (`realtime.bufferTotal`). */
  "socketBuffers",
  "subscriptions",
  "filters",
  "filterTime",
  "liveRecords",
  /** Read rules that take long to decide about one change: a reader thread decides. */
  "ruleTime",
  "roomMembers",
  "roomMessages",
  "roomState",
  "queries",
  "thumbnails",
  "batches",
  /** Imports that wait: two run at a time. */
  "imports",
  "uploads",
  "storage",
  "storagePerUser",
  "passwords",
  /** Failed logins (contract, "Authentication"). */
  "logins",
  /** Sessions of a user (`limits.sessionsPerUser`): the oldest ends. */
  "sessionsPerUser",
  "savedViews",
  "keysPerUser",
  /** Sign-ins that wait for a provider. */
  "providerRequests",
  /** Sign-ins at providers that have begun: the oldest is forgotten. */
  "providerSignIns",
  "passkeysPerUser",
  "idempotencyKeys",
  "endpoints",
  "queuedRuns",
  "mails",
  "cascade",
  "undo",
  "hooks",
  /** Previews of runs at a time. */
  "previews",
  /** Live streams of the log and of events. */
  "streams",
  /** Requests of an address or a user (`limits.rate.*`, `limits.requests`). */
  "rate",
] as const;

export type LimitName = (typeof LIMITS)[number];
