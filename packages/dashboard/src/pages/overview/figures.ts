/** Figures of the last hour: sums, peaks, charts in words, and the series of the charts with their colours. */
import type { FunctionRun, JobRun, RequestMinute } from "@socle/protocol";
import { formatClock, formatDuration } from "../../kit/format.ts";
import { text } from "../../texts/index.ts";

export interface HourFigures {
  readonly requests: number;
  readonly clientErrors: number;
  readonly errors: number;
  /** The newest minute with requests. */
  readonly latest: RequestMinute | null;
}

export function figuresOf(minutes: readonly RequestMinute[]): HourFigures {
  const sum = (of: (minute: RequestMinute) => number): number => minutes.reduce((all, each) => all + of(each), 0);
  return {
    requests: sum((each) => each.requests),
    clientErrors: sum((each) => each.clientErrors),
    errors: sum((each) => each.errors),
    latest: minutes.findLast((each) => each.requests > 0) ?? null,
  };
}

/** Minutes in the form of the charts. A minute without requests is a gap (null). */
export function chartRows(minutes: readonly RequestMinute[]) {
  return minutes.map(({ minute, requests, clientErrors, errors, p50, p99 }) => ({
    time: formatClock(minute).replace(/^(\d{1,2}\D\d{2})\D\d{2}/, "$1"),
    answered: requests === 0 ? null : Math.max(0, requests - clientErrors - errors),
    clientErrors: requests === 0 ? null : clientErrors,
    errors: requests === 0 ? null : errors,
    p50: requests === 0 ? null : p50,
    p99: requests === 0 ? null : p99,
  }));
}

/** At most five round figures from zero to beyond the greatest value, for the axis of a chart. */
export function ticksTo(greatest: number): number[] {
  const rough = Math.max(greatest, 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const round = [1, 2, 5, 10].find((each) => each * power >= rough) ?? 10;
  const step = Math.max(1, round * power);
  return Array.from({ length: Math.ceil(Math.max(greatest, 1) / step) + 1 }, (_, n) => n * step);
}

function greatest(
  minutes: readonly RequestMinute[],
  of: (minute: RequestMinute) => number | null,
): RequestMinute | null {
  let found: RequestMinute | null = null;
  for (const each of minutes) if ((of(each) ?? 0) > (found === null ? 0 : (of(found) ?? 0))) found = each;
  return found;
}

/** The chart of requests in words. */
export function requestSummary(minutes: readonly RequestMinute[]): string {
  const { requests, clientErrors, errors } = figuresOf(minutes);
  const most = greatest(minutes, (each) => each.requests);
  if (most === null) return text.overview.noRequests;
  const all = text.overview.requestSummary(requests, clientErrors, errors);
  return `${all} ${text.overview.busiest(formatClock(most.minute), most.requests)}`;
}

/** The chart of latencies in words. */
export function latencySummary(minutes: readonly RequestMinute[]): string {
  const { latest } = figuresOf(minutes);
  const slowest = greatest(minutes, (each) => each.p99);
  if (latest === null) return text.overview.noRequests;
  const last = text.overview.latencySummary(formatDuration(latest.p50 ?? 0), formatDuration(latest.p99 ?? 0));
  if (slowest === null) return last;
  return `${last} ${text.overview.slowest(formatClock(slowest.minute), formatDuration(slowest.p99 ?? 0))}`;
}

/** A run of a function or of a job. */
export interface AnyRun {
  readonly runId: string;
  readonly kind: "function" | "job";
  /** The file of a function, or the name of a job. */
  readonly name: string;
  readonly cause: string;
  readonly status: FunctionRun["status"];
  readonly at: string;
  readonly error: string | null;
}

/** A job with the attempts of its last runs, the newest first. */
export interface JobRuns {
  readonly name: string;
  readonly attempts: readonly JobRun[];
}

function isOpen({ status }: AnyRun): boolean {
  return status === "waiting" || status === "running";
}

/** The newest runs, up to `room`. */
export function latestRuns(functions: readonly FunctionRun[], jobs: readonly JobRuns[], room: number): AnyRun[] {
  const runs = new Map<string, AnyRun>();
  for (const { runId, filePath, eventType, status, createdAt, endedAt, error } of functions) {
    const name = filePath.replace(/^functions\//, "");
    const known = runs.get(runId);
    const at = endedAt ?? createdAt;
    // A run that ran again has several ends. The newest end counts, and an open state counts before every end.
    if (known !== undefined && (isOpen(known) || (endedAt !== null && at < known.at))) continue;
    runs.set(runId, { runId, kind: "function", name, cause: eventType, status, at, error });
  }
  for (const { name, attempts } of jobs)
    for (const { runId, startedAt, endedAt, status, error = null } of attempts) {
      // Attempts come newest first: the first attempt decides the state of the run.
      if (runs.has(runId)) continue;
      runs.set(runId, { runId, kind: "job", name, cause: text.overview.job, status, at: endedAt ?? startedAt, error });
    }
  return [...runs.values()].sort((a, b) => Date.parse(b.at) - Date.parse(a.at)).slice(0, room);
}

export interface Series {
  readonly name: string;
  readonly label: string;
  readonly color: string;
}

export const requestSeries: readonly Series[] = [
  { name: "answered", label: text.overview.answered, color: "verdigris.5" },
  { name: "clientErrors", label: text.overview.clientErrors, color: "yellow.6" },
  { name: "errors", label: text.overview.serverErrors, color: "red.7" },
];

export const latencySeries: readonly Series[] = [
  { name: "p50", label: text.overview.p50, color: "verdigris.5" },
  { name: "p99", label: text.overview.p99, color: "violet.5" },
];
