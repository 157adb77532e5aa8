/** The schedule and the options of a job that runs by the clock, as its file exports them. */
import { quote } from "../kernel/index.ts";
import { parseOptions, parseRetries, parseTimeout, type Script } from "../script-host/index.ts";

/** Attempts after the first. */
const defaultRetries = 2;

/** A job that runs by the clock, as its file describes it (spec, "Jobs"). */
export interface Job {
  /** The file's name without its ending. */
  readonly name: string;
  readonly path: string;
  /** Five fields of cron. */
  readonly schedule: string;
  /** An IANA name. */
  readonly timezone: string;
  readonly timeoutMs: number;
  /** Attempts after the first. */
  readonly retries: number;
  /** Whether a run may start while an earlier one is not over. */
  readonly overlap: boolean;
}

/** @throws Error that names the fault of the file, and the allowed values. */
export function jobOf({ file, exports }: Script, defaultTimeoutMs: number): Job {
  const name = jobNameOf(file.path);
  const schedule = exports.values["schedule"];
  requireHandler(exports);
  if (typeof schedule !== "string")
    throw new Error(
      `must export schedule, five fields of cron such as "0 3 * * *"${schedule === undefined ? ", or queue, such as { concurrency: 4 }" : `, not ${quote(schedule)}`}`,
    );
  const options = parseOptions(exports.values["options"], ["timeout", "retries", "timezone", "overlap"]);
  const { timezone = "UTC", overlap = false } = options;
  if (typeof timezone !== "string" || timezone === "")
    throw new Error(`options.timezone: ${quote(timezone)} is not valid; allowed: an IANA name such as "Europe/Berlin"`);
  if (typeof overlap !== "boolean")
    throw new Error(`options.overlap: ${quote(overlap)} is not valid; allowed: true or false`);
  const job: Job = {
    name,
    path: file.path,
    schedule,
    timezone,
    timeoutMs: parseTimeout(options["timeout"], defaultTimeoutMs),
    retries: parseRetries(options["retries"], defaultRetries),
    overlap,
  };
  if (nextTime(job, Date.now()) === null)
    throw new Error(`schedule: ${quote(schedule)} never comes: there is no such day in any month it names`);
  return job;
}

export function jobNameOf(path: string): string {
  return path.slice("jobs/".length, -".ts".length);
}

/** @throws Error for a file without a default handler. */
export function requireHandler({ functions }: Script["exports"]): void {
  if (!functions.includes("default"))
    throw new Error("has no default export that is a function: the handler of the job");
}

/**
 * The next time after another at which a job is due, both in milliseconds since 1970; null for never.
 * @throws Error for a text that is no cron, or no time zone.
 */
export function nextTime({ schedule, timezone }: Pick<Job, "schedule" | "timezone">, after: number): number | null {
  // Else an unknown zone would be reported as a fault of the schedule.
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

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).format(0) !== "";
  } catch {
    return false;
  }
}
