/** Limits: the names of all bounds at which a caller is turned away, and the error for it. */
import { AppError } from "./app-error.ts";

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
  /** Requests and sockets of one address (`limits.connectionsPerAddress`). */
  "connectionsPerAddress",
  /** Bytes that wait in one socket (`realtime.bufferLimit`). */
  "socketBuffer",
  /** Frames of one socket that wait to be followed: a flood closes it. */
  "socketFrames",
  /** Bytes that wait in all sockets (`realtime.bufferTotal`). */
  "socketBuffers",
  /** Subscriptions of all sockets (`limits.subscriptions`). */
  "subscriptions",
  /** Filters of the subscriptions of one collection (`limits.filters`). */
  "filters",
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
  /** Bytes of stored files of one user (`limits.storagePerUser`). */
  "storagePerUser",
  /** Passwords that wait to be hashed (`limits.passwords`). */
  "passwords",
  /** Failed logins (contract, "Authentication"). */
  "logins",
  /** Sessions of one user (`limits.sessionsPerUser`): the oldest ends. */
  "sessionsPerUser",
  /** Requests to endpoints (`limits.endpoints`). */
  "endpoints",
  /** Runs that wait in one queue (`limits.queuedRuns`). */
  "queuedRuns",
  /** Records that one deletion changes beside its own (`limits.cascade`). */
  "cascade",
  /** Writes that wait for hooks, and their bytes (`limits.hooks`). */
  "hooks",
  /** Live streams of the log and of events. */
  "streams",
  /** Requests per second of one address (`limits.rate.*`). */
  "rate",
] as const;

export type LimitName = (typeof LIMITS)[number];

/** Seconds after which a request that met a full queue is worth sending again. */
const retryAfter = 1;

/** 503 with `Retry-After`: the service is at one of its bounds, and the request may be sent again. */
export function overloaded(limit: LimitName, message: string): AppError {
  return new AppError("unavailable", message, { limit, retryAfter });
}

/** The error for work whose caller has disconnected. Nobody receives it. */
export function callerGone(): AppError {
  return new AppError("bad_request", "The client has disconnected.");
}
