/** Groups the attempts of a job into runs: the bars of the time line, and whether a run goes on. */
import type { JobRun } from "@socle/protocol";

/** A run with all its attempts. */
export interface WholeRun {
  readonly runId: string;
  /** The newest attempt, which decides the state of the run. */
  readonly last: JobRun;
  /** The start of the first attempt. */
  readonly startedAt: string;
  /** Milliseconds from the start of the first attempt to the end of the last attempt; null while the run goes on. */
  readonly durationMs: number | null;
}

/** @param attempts newest first. @returns runs, newest first. */
export function runsOf(attempts: readonly JobRun[]): WholeRun[] {
  const runs = [...Map.groupBy(attempts, ({ runId }) => runId).values()].flatMap((group) => {
    const [last] = group;
    const first = group.at(-1);
    return last === undefined || first === undefined ? [] : [wholeRun(first, last)];
  });
  return runs.sort((a, b) => Date.parse(b.startedAt) - Date.parse(a.startedAt));
}

function wholeRun({ startedAt }: JobRun, last: JobRun): WholeRun {
  return { runId: last.runId, last, startedAt, durationMs: durationOf({ startedAt, endedAt: last.endedAt }) };
}

/** Milliseconds; null while the attempt goes on. */
export function durationOf({ startedAt, endedAt }: Pick<JobRun, "startedAt" | "endedAt">): number | null {
  return endedAt === null ? null : Math.max(0, Date.parse(endedAt) - Date.parse(startedAt));
}

const firstPauseMs = 5_000;
const longestPauseMs = 600_000;
/** The delay after the planned start that still counts as waiting for the next attempt. */
const graceMs = 5_000;

/** Whether the run is under way, or the service will soon try again. */
export function isOpen({ status, attempt, endedAt }: JobRun, retries: number, now: number): boolean {
  if (status === "running") return true;
  if (status === "completed" || endedAt === null || attempt > retries) return false;
  return now - Date.parse(endedAt) < Math.min(longestPauseMs, firstPauseMs * 2 ** (attempt - 1)) + graceMs;
}

/** The height of a bar of the time line in percent, at least `least`. A run that goes on gets the least height. */
export function barHeight(durationMs: number | null, longestMs: number, least = 10): number {
  if (durationMs === null || longestMs <= 0) return least;
  return Math.max(least, Math.round((100 * Math.min(durationMs, longestMs)) / longestMs));
}
