/** Shapes of failures: the groups of failures with one cause, and the retry of a group. */
import {
  about,
  arrayOf,
  boolean,
  closed,
  count,
  enumOf,
  integer,
  named,
  object,
  optional,
  orNull,
  string,
  type TypeOf,
  time,
} from "./shape.ts";

export const FAILURE_KINDS = ["function", "hook", "endpoint", "query", "job", "queue", "mail"] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

export const FAILURE_STATUSES = ["open", "muted", "resolved"] as const;
export type FailureStatus = (typeof FAILURE_STATUSES)[number];

/** The retry of a group: the runs of the group that had failed for good when the retry began. */
export const failureRetry = named("FailureRetry", () =>
  object({
    status: enumOf(["running", "completed"]),
    startedAt: time,
    total: count,
    /** Runs that are over again. */
    done: count,
    /** Runs among `done` that have failed again, or could not be retried. */
    failed: count,
    /** Why a run could not be retried; null if all could. */
    error: orNull(string),
  }),
);
export type FailureRetry = TypeOf<typeof failureRetry>;

/** Failures of one cause (`GET /api/admin/failures`). */
export const failureGroup = named("FailureGroup", () =>
  object({
    /** The same for the same cause. */
    id: string,
    kind: enumOf(FAILURE_KINDS),
    /** The file of the error, or else of the handler; null for mails. */
    file: orNull(string),
    /** Counted from 1; null for an error without a place. */
    line: orNull(integer),
    /** The message with `…` in the place of numbers, ids, quoted texts and addresses. */
    message: string,
    /** The message of the last failure. */
    example: string,
    count,
    first: time,
    last: time,
    /** The ids of the last runs, or mails, newest first. */
    runs: arrayOf(string),
    /** The ids of the last records, newest first. */
    records: arrayOf(string),
    status: enumOf(FAILURE_STATUSES),
    /** Whether the cause came back after the group was resolved. */
    seenAgain: boolean,
    /** Whether `POST …/retry` is possible for the kind. */
    canRetry: boolean,
    /** The last retry of the group. */
    retry: orNull(failureRetry),
  }),
);
export type FailureGroup = TypeOf<typeof failureGroup>;

/** A page of the groups, the group with the newest failure first. */
export const failurePage = named("FailurePage", () =>
  object({
    items: arrayOf(failureGroup),
    nextCursor: orNull(string),
    /** All groups that are open. */
    open: count,
  }),
);
export type FailurePage = TypeOf<typeof failurePage>;

/** The answer to `POST /api/admin/failures/{group}/retry`. */
export const failureRetryStarted = named("FailureRetryStarted", () => object({ id: string, retry: failureRetry }));
export type FailureRetryStarted = TypeOf<typeof failureRetryStarted>;

/** The request and the answer of `POST /api/admin/failures/retry`. */
export const failureRetryAll = named("FailureRetryAll", () =>
  closed({
    kind: about(enumOf(FAILURE_KINDS), "A kind of work that can be retried."),
    /** The file of the handlers; absent for any. */
    file: optional(string),
  }),
);
export const failureRetriesStarted = named("FailureRetriesStarted", () =>
  object({
    /** The runs that will run again. */
    runs: count,
  }),
);
