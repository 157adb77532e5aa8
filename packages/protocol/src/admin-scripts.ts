/** Bodies of the admin API about the user's code: files, functions, hooks, endpoints, jobs and queues, with their runs. */
import type { JsonValue } from "./collections.ts";

/** A file of functions, of a job or of an endpoint, and what became of it when it was last loaded (`GET /api/admin/scripts`). */
export interface ScriptFileEntry {
  filePath: string;
  kind: "function" | "job" | "endpoint";
  /** Of a function: the collection whose events it handles. */
  collection: string | null;
  /** When the version was loaded that runs; null when none has ever been. */
  loadedAt: string | null;
  /** Why the newest version does not load; null when it does. */
  problem: {
    /** With the file, line and column in brackets where they are known. */
    message: string;
    stack: string | null;
    /** When it was first tried. */
    since: string;
  } | null;
}

/** A handler and what it runs for (spec, "Function trigger entry"), or a hook. */
export interface FunctionEntry {
  collection: string;
  /** `create`, `update`, `delete` and `login` of a function; of a hook, its name. */
  type:
    | "create"
    | "update"
    | "delete"
    | "login"
    | "beforeCreate"
    | "beforeUpdate"
    | "beforeDelete"
    | "beforeRegister"
    | "beforeLogin";
  /** The event that the function runs after, or that follows the change which the hook runs before. */
  eventType: string;
  filePath: string;
  /** The name of the export. */
  handler: string;
  /** Milliseconds. */
  timeout: number;
  /** Attempts after the first. */
  retries: number;
  /** Of a hook: the changes that it let pass, that it refused, and about which it did not decide, since the start. */
  calls?: { passed: number; refused: number; failed: number };
}

/** An endpoint of the user's code (`GET /api/admin/endpoints`). */
export interface EndpointEntry {
  /** With parameters in brackets: `/api/function/orders/[id]`. */
  path: string;
  filePath: string;
  methods: ("GET" | "POST" | "PUT" | "PATCH" | "DELETE")[];
  access: "public" | "authenticated" | "admin";
  /** Milliseconds. */
  timeout: number;
}

export interface FunctionRun {
  runId: string;
  collection: string;
  handler: string;
  eventType: string;
  filePath: string;
  eventId: string;
  status: "waiting" | "running" | "completed" | "failed";
  /** When the event happened that it runs for. */
  createdAt: string;
  endedAt: string | null;
  durationMs: number | null;
  error: string | null;
  /** Whether it can be run again with `POST …/retry`. */
  canRetry: boolean;
  /** Of a run that is not over: its attempts that have failed, where there are any, and when it is tried again. */
  failures?: number;
  retryAt?: string;
}

/** A job (spec, "Job entry and job run"). */
export interface JobEntry {
  name: string;
  /** Five fields of cron; null for a queue. */
  schedule: string | null;
  filePath: string;
  /** Null for a queue. */
  timezone: string | null;
  /** When it is due next; null for never, and for a queue. */
  nextRun: string | null;
  /** Milliseconds. */
  timeout: number;
  retries: number;
  /** Whether a run may start while the last one goes on. */
  overlap: boolean;
  /** Null for a job that runs by the clock. */
  queue: {
    /** Runs at a time. */
    concurrency: number;
    backoff: "exponential" | "linear";
    waiting: number;
    running: number;
    /** Runs that have failed for good, and are kept. */
    failed: number;
  } | null;
  /** The newest attempt of its newest run, of a queue the one that ended last; null when there was none. */
  lastRun: JobRun | null;
}

/** A run of a queue that is not over, or has failed for good (`GET /api/admin/jobs/{name}/queue`). */
export interface QueueRun {
  runId: string;
  status: "waiting" | "running" | "failed";
  key: string | null;
  /** When it was enqueued. */
  createdAt: string;
  /** Not before this time is it run; of a run that has failed, the time of its last attempt. */
  dueAt: string;
  /** Attempts that have failed. */
  failures: number;
  failedAt: string | null;
  error: string | null;
  /** Bytes, as JSON. */
  payloadSize: number;
}

/** One run of a queue, with its payload. */
export interface QueueRunDetail extends QueueRun {
  payload: JsonValue;
}

/** A run to be added to a queue (`POST /api/admin/jobs/{name}/enqueue`). */
export interface NewQueueRun {
  payload?: JsonValue;
  /** RFC 3339: not before this time; without it, at once. */
  at?: string;
  /** Where a run with the same key waits, that one is answered, and none is added. */
  key?: string;
}

/** An attempt of a run of a job. */
export interface JobRun {
  runId: string;
  startedAt: string;
  endedAt: string | null;
  status: "running" | "completed" | "failed";
  attempt: number;
  error?: string;
}
