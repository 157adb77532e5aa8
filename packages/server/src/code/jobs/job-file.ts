/** The schedule, the queue and the options of a job, as exported by the file. */
import { isObject, isTimeZone, oneOf, quote } from "../../base/kernel/index.ts";
import { exponential, linear, type RetryPolicy } from "../runs/index.ts";
import { parseOptions, parseRetries, parseTimeout, type Script } from "../script-host/index.ts";

/** The name of the export that is a job's handler. */
export const jobHandler = "default";

const backoffs = { exponential, linear } as const;

/** Runs of a queue that may be under way at a time, at most. */
const maxConcurrency = 32;
/** Attempts after the first. */
const defaultRetries = 2;

/** A job, as described by the file. */
interface JobBase {
  /** The file's name without the ending. */
  readonly name: string;
  readonly path: string;
  readonly timeoutMs: number;
  readonly policy: RetryPolicy;
  /** Runs under way at a time. */
  readonly concurrency: number;
}

/** A job that runs by the clock (spec, "Jobs"). */
export interface ScheduledJob extends JobBase {
  readonly kind: "schedule";
  /** Five fields of cron. */
  readonly schedule: string;
  /** An IANA name. */
  readonly timezone: string;
  /** Whether a run may start while an earlier run is not over. */
  readonly overlap: boolean;
  /** Whether the last time that passed while the service was down is made up for at the start. */
  readonly catchUp: boolean;
}

/** A job that runs once for each enqueued payload. */
export interface QueueJob extends JobBase {
  readonly kind: "queue";
  readonly schedule: null;
  readonly backoff: keyof typeof backoffs;
}

export type JobDefinition = ScheduledJob | QueueJob;

/** @throws Error that names the fault of the file, and the allowed values. */
export function jobOf(script: Script, defaultTimeoutMs: number): JobDefinition {
  const { values, functions } = script.exports;
  if (values["queue"] !== undefined && values["schedule"] !== undefined)
    throw new Error("exports schedule and queue: a job runs by the clock or by its queue, not by both");
  if (!functions.includes(jobHandler))
    throw new Error("has no default export that is a function: the handler of the job");
  return values["queue"] === undefined ? scheduledJob(script, defaultTimeoutMs) : queueJob(script, defaultTimeoutMs);
}

function scheduledJob({ file: { path }, exports: { values } }: Script, defaultTimeoutMs: number): ScheduledJob {
  const schedule = values["schedule"];
  if (typeof schedule !== "string")
    throw new Error(
      `must export schedule, five fields of cron such as "0 3 * * *"${schedule === undefined ? ", or queue, such as { concurrency: 4 }" : `, not ${quote(schedule)}`}`,
    );
  const options = parseOptions(values["options"], ["timeout", "retries", "timezone", "overlap", "catchUp"]);
  const { timezone = "UTC", overlap = false, catchUp = false } = options;
  if (typeof timezone !== "string" || timezone === "")
    throw new Error(`options.timezone: ${quote(timezone)} is not valid; allowed: an IANA name such as "Europe/Berlin"`);
  if (typeof overlap !== "boolean")
    throw new Error(`options.overlap: ${quote(overlap)} is not valid; allowed: true or false`);
  if (typeof catchUp !== "boolean")
    throw new Error(`options.catchUp: ${quote(catchUp)} is not valid; allowed: true or false`);
  if (nextTime({ schedule, timezone }, Date.now()) === null)
    throw new Error(`schedule: ${quote(schedule)} never comes: there is no such day in any month it names`);
  return {
    kind: "schedule",
    name: jobNameOf(path),
    path,
    timeoutMs: parseTimeout(options["timeout"], defaultTimeoutMs),
    policy: linear(parseRetries(options["retries"], defaultRetries)),
    concurrency: overlap ? Number.POSITIVE_INFINITY : 1,
    schedule,
    timezone,
    overlap,
    catchUp,
  };
}

function queueJob({ file: { path }, exports: { values } }: Script, defaultTimeoutMs: number): QueueJob {
  if (!isObject(values["queue"]))
    throw new Error(`queue must be an object such as { concurrency: 4 }, not ${quote(values["queue"])}`);
  const queue = parseOptions(values["queue"], ["concurrency", "retries", "backoff"], "queue");
  const { retries, backoff = "exponential" } = queue;
  const { timeout } = parseOptions(values["options"], ["timeout"]);
  if (backoff !== "exponential" && backoff !== "linear")
    throw new Error(`queue.backoff: ${quote(backoff)} is not valid; allowed: ${oneOf(Object.keys(backoffs))}`);
  const timeoutMs = parseTimeout(timeout, defaultTimeoutMs);
  const policy = backoffs[backoff](parseRetries(retries, defaultRetries, "queue.retries"));
  const concurrency = concurrencyOf(queue["concurrency"]);
  return { kind: "queue", name: jobNameOf(path), path, timeoutMs, policy, concurrency, schedule: null, backoff };
}

/** The name of a job: the name of the file. */
export function jobNameOf(path: string): string {
  return path.slice("jobs/".length, -".ts".length);
}

function concurrencyOf(value: unknown = 1): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= maxConcurrency) return value;
  throw new Error(
    `queue.concurrency: ${quote(value)} is not valid; allowed: a whole number from 1 to ${maxConcurrency}`,
  );
}

/**
 * The next time after a given time at which a job is due, both in milliseconds since 1970; null for never.
 * @throws Error for a text that is no cron, or no time zone.
 */
export function nextTime(
  { schedule, timezone }: Pick<ScheduledJob, "schedule" | "timezone">,
  after: number,
): number | null {
  // An unknown zone would be reported as a fault of the schedule.
  if (!isTimeZone(timezone))
    throw new Error(
      `options.timezone: ${quote(timezone)} is no time zone; allowed: an IANA name such as "Europe/Berlin"`,
    );
  try {
    return Bun.cron.parse(schedule, after, { tz: timezone })?.getTime() ?? null;
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message.replace(/^Invalid cron expression: /, "") : "";
    throw new Error(
      `schedule: ${quote(schedule)} is not cron (${reason}); allowed: minute, hour, day of month, month and day of week, such as "0 3 * * *"`,
    );
  }
}
