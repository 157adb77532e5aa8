/** Bodies of the admin API about the user's code: files, functions, hooks, endpoints, jobs and queues, with runs. */
import type { JsonValue } from "./collections.ts";

/** A file of functions, of a job, of an endpoint or of a server query, and the result of the last load (`GET /api/admin/scripts`). */
export interface ScriptFileEntry {
  filePath: string;
  kind: "function" | "job" | "endpoint" | "query";
  /** For a function: the collection of the handled events. */
  collection: string | null;
  /** The time at which the running version was loaded; null if no version has been loaded. */
  loadedAt: string | null;
  /** The reason why the newest version does not load; null if the newest version is loaded. */
  problem: {
    /** With file, line and column in brackets if known. */
    message: string;
    stack: string | null;
    /** The time of the first attempt to load this version. */
    since: string;
  } | null;
}

/** A handler and its trigger (spec, "Function trigger entry"), or a hook. */
export interface FunctionEntry {
  collection: string;
  /** `create`, `update`, `delete` and `login` of a function; of a hook, the name. */
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
  /** The name of the handler in the file: `onCreate`, or `onCreate.posts` outside of the folder of the collection. */
  handler: string;
  timeout: number;
  /** Attempts after the first. */
  retries: number;
  /** For a hook: the changes that the hook let pass, refused, and did not decide, since the start. */
  calls?: { passed: number; refused: number; failed: number };
}

/** The callers that an endpoint may be for. */
type EndpointAccess = "public" | "authenticated" | "admin";

/** An endpoint of the user's code (`GET /api/admin/endpoints`). */
export interface EndpointEntry {
  /** With parameters in brackets: `/api/function/orders/[id]`. */
  path: string;
  filePath: string;
  methods: ("GET" | "POST" | "PUT" | "PATCH" | "DELETE")[];
  access: EndpointAccess;
  /** The methods with an access of their own. */
  methodAccess?: { [method: string]: EndpointAccess };
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
  /** The time of the event that the run handles. */
  createdAt: string;
  endedAt: string | null;
  durationMs: number | null;
  error: string | null;
  /** Whether `POST …/retry` can run the run again. */
  canRetry: boolean;
  /** For a run that is not over: the failed attempts, if any, and the time of the next attempt. */
  failures?: number;
  retryAt?: string;
}

/** Lines of a file around the place of an error, as the file was when loaded. */
export interface SourceExcerpt {
  /** Relative to the project, in a folder of code. */
  filePath: string;
  /** The line of the error, counted from 1. */
  line: number;
  firstLine: number;
  /** The line of the error and a few lines around; long lines are cut. */
  lines: string[];
}

/** A job (spec, "Job entry and job run"). */
export interface JobEntry {
  name: string;
  /** Five fields of cron; null for a queue. */
  schedule: string | null;
  filePath: string;
  /** Null for a queue. */
  timezone: string | null;
  /** The time of the next run; null for never, and for a queue. */
  nextRun: string | null;
  timeout: number;
  retries: number;
  /** Whether a run may start while the last run goes on. */
  overlap: boolean;
  /** Whether a run at the start makes up for scheduled times that passed while the service was down. */
  catchUp: boolean;
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
  /** The newest attempt of the newest run, or for a queue the attempt that ended last; null without a run. */
  lastRun: JobRun | null;
}

/** A run of a queue that is not over, or has failed for good (`GET /api/admin/jobs/{name}/queue`). */
export interface QueueRun {
  runId: string;
  status: "waiting" | "running" | "failed";
  key: string | null;
  /** The time at which the run was enqueued. */
  createdAt: string;
  /** The run does not start before this time; for a failed run, the time of the last attempt. */
  dueAt: string;
  /** Attempts that have failed. */
  failures: number;
  failedAt: string | null;
  error: string | null;
  /** Bytes, as JSON. */
  payloadSize: number;
}

/** A run of a queue, with the payload. */
export interface QueueRunDetail extends QueueRun {
  payload: JsonValue;
}

/** A run to be added to a queue (`POST /api/admin/jobs/{name}/enqueue`). */
export interface NewQueueRun {
  payload?: JsonValue;
  /** RFC 3339: the run does not start before this time; absent, the run starts at once. */
  at?: string;
  /** A waiting run with the same key is answered instead of adding a second run. */
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
