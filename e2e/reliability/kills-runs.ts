/** The runs of functions over all kills: each event ran, in the order of the record, and a second time only with a cause. */
import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { LoggedEvent } from "./kills-log.ts";

/** A kill that can cut runs off: milliseconds since 1970, before the signal was sent and after the process had ended. */
export interface Cut {
  readonly from: number;
  readonly until: number;
}

interface Run {
  readonly event: string;
  readonly record: string;
  readonly attempt: number;
  readonly at: number;
}

function runsOf(cwd: string): Run[] {
  const lines = readFileSync(join(cwd, "runs.log"), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Run);
}

/** Whether a kill was between two runs for the same event. */
function hasCause(first: Run, second: Run, cuts: readonly Cut[]): boolean {
  return cuts.some(({ from, until }) => first.at <= until && second.at >= from);
}

function repeats(runs: readonly Run[], cuts: readonly Cut[]): string[] {
  const lastOf = new Map<string, Run>();
  const problems: string[] = [];
  for (const run of runs) {
    const last = lastOf.get(run.event);
    if (last !== undefined && !hasCause(last, run, cuts)) problems.push(`${run.event} ran again without a cause`);
    if (run.attempt !== 1)
      problems.push(`attempt ${run.attempt} of ${run.event}: an interrupted run counted as failed`);
    lastOf.set(run.event, run);
  }
  return problems;
}

/** The first run for an event comes after the first runs for all earlier events of the record. */
function disorder(runs: readonly Run[]): string[] {
  const newest = new Map<string, string>();
  const seen = new Set<string>();
  const problems: string[] = [];
  for (const { event, record } of runs) {
    if (seen.has(event)) continue;
    seen.add(event);
    const before = newest.get(record) ?? "";
    if (event < before) problems.push(`${event} ran after ${before}, which came later`);
    newest.set(record, event);
  }
  return problems;
}

/** @returns the number of runs, and the problems of the runs. To be called when no run waits. */
export function checkRuns(
  cwd: string,
  log: readonly LoggedEvent[],
  cuts: readonly Cut[],
): { runs: number; repeated: number; problems: string[] } {
  const runs = runsOf(cwd);
  const ran = new Set(runs.map(({ event }) => event));
  const wanted = log.filter(({ type }) => type.startsWith("items.")).map(({ id }) => id);
  const completed = log.filter(({ type }) => type === "function.completed").map(({ payload }) => payload["eventId"]);
  const failed = log.filter(({ type }) => type === "function.failed" || type === "job.failed");
  using database = new Database(join(cwd, "socle.db"), { readonly: true });
  const effects = database.query<{ event: string }, []>("SELECT event FROM effects").all();
  const effectOf = new Set(effects.map(({ event }) => event));
  const known = new Set(wanted);
  const isOnce = new Set(completed);
  const missing = (what: string, has: ReadonlySet<unknown>): string[] =>
    wanted.filter((id) => !has.has(id)).map((id) => `${id} ${what}`);
  const problems = [
    ...missing("never ran", ran),
    ...missing("has no effect", effectOf),
    ...missing("was never completed", isOnce),
    ...(isOnce.size === completed.length ? [] : ["a run was completed twice"]),
    ...effects
      .filter(({ event }) => !known.has(event))
      .map(({ event }) => `there is an effect of ${event}, which never was`),
    // A job started by hand that is cut off has failed; every other failure is a fault.
    ...failed
      .filter(({ type, payload }) => type === "function.failed" || payload["error"] !== cutOff)
      .map(({ id, payload }) => `${id}: a failure was charged: ${String(payload["error"])}`),
    ...repeats(runs, cuts),
    ...disorder(runs),
  ];
  return { runs: runs.length, repeated: runs.length - ran.size, problems };
}

/** The message of a job that was run by hand while the process was killed. */
const cutOff = "The service ended while it ran";
