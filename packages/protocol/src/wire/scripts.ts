/** The user's code in the admin API: files, functions, hooks, endpoints, jobs and queues, with runs. */
import {
  about,
  anything,
  arrayOf,
  boolean,
  closed,
  count,
  enumOf,
  integer,
  mapOf,
  named,
  number,
  object,
  optional,
  orNull,
  string,
  type TypeOf,
  time,
} from "./shape.ts";

const access = enumOf(["public", "authenticated", "admin"]);
const functionTypes = [
  "create",
  "update",
  "delete",
  "login",
  "beforeCreate",
  "beforeUpdate",
  "beforeDelete",
  "beforeRegister",
  "beforeLogin",
] as const;

const queueRunMembers = {
  runId: string,
  status: enumOf(["waiting", "running", "failed"]),
  key: orNull(string),
  createdAt: time,
  dueAt: time,
  failures: count,
  failedAt: orNull(time),
  error: orNull(string),
  payloadSize: count,
};

/** A file of functions, of a job, of an endpoint or of a server query, and the result of the last load (`GET /api/admin/scripts`). */
export const scriptFileEntry = named("ScriptFileEntry", () =>
  object({
    filePath: string,
    kind: enumOf(["function", "job", "endpoint", "query"]),
    /** For a function: the collection of the handled events. */
    collection: orNull(string),
    /** The time at which the running version was loaded; null if no version has been loaded. */
    loadedAt: orNull(time),
    /** The reason why the newest version does not load; null if the newest version is loaded. */
    problem: orNull(object({ message: string, stack: orNull(string), since: time })),
  }),
);
export type ScriptFileEntry = TypeOf<typeof scriptFileEntry>;

/** A handler and its trigger (spec, "Function trigger entry"), or a hook. */
export const functionEntry = named("FunctionEntry", () =>
  object({
    collection: string,
    /** `create`, `update`, `delete` and `login` of a function; of a hook, the name. */
    type: about(enumOf(functionTypes), "create, update, delete or login; of a hook, the name."),
    /** The event that the function runs after, or that follows the change which the hook runs before. */
    eventType: string,
    filePath: string,
    /** The name of the handler in the file: `onCreate`, or `onCreate.posts` outside of the folder of the collection. */
    handler: string,
    timeout: count,
    /** Attempts after the first. */
    retries: count,
    /** For a hook: the changes that the hook let pass, refused, and did not decide, since the start. */
    calls: optional(object({ passed: count, refused: count, failed: count })),
  }),
);
export type FunctionEntry = TypeOf<typeof functionEntry>;

export const functionRun = named("FunctionRun", () =>
  object({
    runId: string,
    collection: string,
    handler: string,
    eventType: string,
    filePath: string,
    eventId: string,
    status: enumOf(["waiting", "running", "completed", "failed"]),
    /** The time of the event that the run handles. */
    createdAt: time,
    endedAt: orNull(time),
    durationMs: orNull(number),
    error: orNull(string),
    /** Whether `POST …/retry` can run the run again. */
    canRetry: boolean,
    /** For a run that is not over: the failed attempts, if any, and the time of the next attempt. */
    failures: optional(count),
    retryAt: optional(time),
  }),
);
export type FunctionRun = TypeOf<typeof functionRun>;

/** An endpoint of the user's code (`GET /api/admin/endpoints`). */
export const endpointEntry = named("EndpointEntry", () =>
  object({
    /** With parameters in brackets: `/api/function/orders/[id]`. */
    path: string,
    filePath: string,
    methods: arrayOf(enumOf(["GET", "POST", "PUT", "PATCH", "DELETE"])),
    access,
    /** The methods with an access of their own. */
    methodAccess: optional(mapOf(access)),
    timeout: count,
  }),
);
export type EndpointEntry = TypeOf<typeof endpointEntry>;

/** Lines of a file around the place of an error, as the file was when loaded. */
export const sourceExcerpt = named("SourceExcerpt", () =>
  object({
    /** Relative to the project, in a folder of code. */
    filePath: string,
    /** The line of the error, counted from 1. */
    line: integer,
    firstLine: integer,
    /** The line of the error and a few lines around; long lines are cut. */
    lines: arrayOf(string),
  }),
);
export type SourceExcerpt = TypeOf<typeof sourceExcerpt>;

/** An attempt of a run of a job. */
export const jobRun = named("JobRun", () =>
  object({
    runId: string,
    startedAt: time,
    endedAt: orNull(time),
    status: enumOf(["running", "completed", "failed"]),
    attempt: integer,
    error: optional(string),
  }),
);
export type JobRun = TypeOf<typeof jobRun>;

/** A job (spec, "Job entry and job run"). */
export const jobEntry = named("JobEntry", () =>
  object({
    name: string,
    /** Five fields of cron; null for a queue. */
    schedule: orNull(string),
    filePath: string,
    /** Null for a queue. */
    timezone: orNull(string),
    /** The time of the next run; null for never, and for a queue. */
    nextRun: orNull(time),
    timeout: count,
    retries: count,
    /** Whether a run may start while the last run goes on. */
    overlap: boolean,
    /** Whether a run at the start makes up for scheduled times that passed while the service was down. */
    catchUp: boolean,
    /** Null for a job that runs by the clock. */
    queue: orNull(
      object({
        concurrency: count,
        backoff: enumOf(["exponential", "linear"]),
        waiting: count,
        running: count,
        failed: count,
      }),
    ),
    /** The newest attempt of the newest run, or for a queue the attempt that ended last; null without a run. */
    lastRun: orNull(jobRun),
  }),
);
export type JobEntry = TypeOf<typeof jobEntry>;

/** A run of a queue that is not over, or has failed for good (`GET /api/admin/jobs/{name}/queue`). */
export const queueRun = named("QueueRun", () => object(queueRunMembers));
export type QueueRun = TypeOf<typeof queueRun>;

/** A run of a queue, with the payload. */
export const queueRunDetail = named("QueueRunDetail", () => object({ ...queueRunMembers, payload: anything }));
export type QueueRunDetail = TypeOf<typeof queueRunDetail>;

/** A run to be added to a queue (`POST /api/admin/jobs/{name}/enqueue`). */
export const newQueueRun = named("NewQueueRun", () =>
  closed({ payload: optional(anything), at: optional(time), key: optional(string) }),
);
export type NewQueueRun = TypeOf<typeof newQueueRun>;

/** A call that a preview has recorded in the place of the call. */
export const previewCall = named("PreviewCall", () =>
  object({
    kind: enumOf(["fetch", "queue", "storage"]),
    /** The method of the request; `enqueue`; `put` or `delete`. */
    method: string,
    /** The URL, the name of the queue, the name of a new file, or the id of a file. */
    target: string,
    /** The begin of the body, or of the payload as JSON. */
    body: orNull(string),
    /** The answer that the code got: of `fetch` the status and the body, the id of the run, the id of the file. */
    answer: string,
  }),
);
export type PreviewCall = TypeOf<typeof previewCall>;

const previewValues = orNull(mapOf(anything));

/** The records of a collection that a run would change. */
export const previewChanges = named("PreviewChanges", () =>
  object({
    collection: string,
    created: count,
    updated: count,
    deleted: count,
    records: arrayOf(
      object({
        id: string,
        change: enumOf(["created", "updated", "deleted"]),
        /** Of an update, the changed fields; null for a new record. Long values are cut. */
        before: previewValues,
        after: previewValues,
      }),
    ),
    /** The changed records that the list leaves out. */
    more: count,
  }),
);
export type PreviewChanges = TypeOf<typeof previewChanges>;

export const previewLogEntry = named("PreviewLogEntry", () =>
  object({ level: enumOf(["DEBUG", "INFO", "WARN", "ERROR"]), message: string, fields: optional(mapOf(anything)) }),
);
export type PreviewLogEntry = TypeOf<typeof previewLogEntry>;

/** The effects that a run would have with the present code (`POST /api/admin/runs/{runId}/preview`). */
export const runPreview = named("RunPreview", () =>
  object({
    runId: string,
    filePath: string,
    handler: string,
    /** `late`: the time of the handler was up. */
    outcome: object({
      status: enumOf(["completed", "failed", "late"]),
      error: orNull(object({ message: string, stack: orNull(string), source: orNull(sourceExcerpt) })),
    }),
    durationMs: number,
    changes: arrayOf(previewChanges),
    mails: object({ items: arrayOf(object({ to: string, subject: string, text: string })), more: count }),
    /** The calls that were recorded in the place of the calls, in order. */
    calls: object({ items: arrayOf(previewCall), more: count }),
    logs: object({ items: arrayOf(previewLogEntry), more: count }),
  }),
);
export type RunPreview = TypeOf<typeof runPreview>;

export const runStarted = named("RunStarted", () => object({ runId: string }));
export type RunStarted = TypeOf<typeof runStarted>;
