/** Figures of the overview: sums, peaks, charts in words, the series of the charts with their colours; slow queries and problems of the log, in groups. */
import type { LogEntry, RequestMinute } from "@socle/protocol";
import { formatClock, formatDuration, formatWeekday } from "../../kit/format.ts";
import { text } from "../../texts/index.ts";

/** The last hour by minutes, or the last seven days by hours. */
export type Range = "hour" | "week";

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

/** The time of a minute without seconds; the weekday and the time of an hour. */
function timeOf(minute: string, range: Range): string {
  const time = formatClock(minute).replace(/^(\d{1,2}\D\d{2})\D\d{2}/, "$1");
  return range === "hour" ? time : `${formatWeekday(minute)} ${time}`;
}

/** Minutes in the form of the charts. A minute without requests is a gap (null). */
export function chartRows(minutes: readonly RequestMinute[], range: Range) {
  return minutes.map(({ minute, requests, clientErrors, errors, p50, p99 }) => ({
    time: timeOf(minute, range),
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
export function requestSummary(minutes: readonly RequestMinute[], range: Range): string {
  const { requests, clientErrors, errors } = figuresOf(minutes);
  const most = greatest(minutes, (each) => each.requests);
  if (most === null) return text.overview.noRequests[range];
  const all = text.overview.requestSummary(requests, clientErrors, errors);
  return `${all} ${text.overview.busiest(timeOf(most.minute, range), most.requests)}`;
}

/** The chart of latencies in words. */
export function latencySummary(minutes: readonly RequestMinute[], range: Range): string {
  const { latest } = figuresOf(minutes);
  const slowest = greatest(minutes, (each) => each.p99);
  if (latest === null) return text.overview.noRequests[range];
  const last = text.overview.latencySummary(formatDuration(latest.p50 ?? 0), formatDuration(latest.p99 ?? 0));
  if (slowest === null) return last;
  return `${last} ${text.overview.slowest(timeOf(slowest.minute, range), formatDuration(slowest.p99 ?? 0))}`;
}

/** Slow queries of one form: the texts of the filters differ by values alone. */
export interface SlowQuery {
  readonly key: string;
  readonly collection: string;
  /** The filter with `…` in the place of values, and the order. */
  readonly shape: string;
  /** The index that the log proposes; null without a proposal. */
  readonly index: string | null;
  readonly count: number;
  readonly slowestMs: number;
  readonly medianMs: number;
  /** The newest entry of the log. */
  readonly newest: LogEntry;
}

function shapeOf({ filter, search, sort, group }: NonNullable<LogEntry["fields"]>): string {
  const values = /"(?:[^"\\]|\\.)*"|\b\d[\d.]*\b/g;
  const parts = [filter, search, group, sort === undefined ? undefined : `${text.overview.sortedBy} ${sort}`];
  return parts
    .filter((part) => part !== undefined)
    .map((part) => String(part).replaceAll(values, "…"))
    .join(" · ");
}

const isSlowQuery = ({ message }: LogEntry): boolean => message === text.overview.slowMessage;

/** @param entries newest first. The form that took the most time in sum comes first. */
export function slowQueriesOf(entries: readonly LogEntry[]): SlowQuery[] {
  const groups = Map.groupBy(
    entries.filter(isSlowQuery),
    ({ fields = {} }) => `${fields["collection"]} ${shapeOf(fields)}`,
  );
  const found = [...groups].flatMap(([key, group]) => {
    const [newest] = group;
    if (newest === undefined) return [];
    const times = group.map(({ fields }) => Number(fields?.["ms"]));
    const index = group.map(({ fields }) => fields?.["index"]).find((each) => typeof each === "string") ?? null;
    const { fields = {} } = newest;
    return {
      ...{ key, collection: String(fields["collection"]), shape: shapeOf(fields), index, newest },
      ...{ count: times.length, slowestMs: Math.max(...times), medianMs: medianOf(times) },
      sumMs: times.reduce((sum, ms) => sum + ms, 0),
    };
  });
  return found.sort((a, b) => b.sumMs - a.sumMs);
}

/** The middle of the values: of an even number of values, the lower one. */
function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0;
}

/** The newest entry of each message; messages that differ by numbers alone count as one. @param entries newest first. */
export function problemsOf(entries: readonly LogEntry[]): LogEntry[] {
  const seen = new Set<string>();
  return entries.filter((entry) => {
    const key = `${entry.source} ${entry.message.replaceAll(/\d+/g, "")}`;
    return !isSlowQuery(entry) && !seen.has(key) && seen.add(key);
  });
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
