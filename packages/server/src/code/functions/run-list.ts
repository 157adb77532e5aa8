/** The list of runs of functions: runs that are not over from the table of deliveries, then ended ones from the event log. */
import type { FunctionRun } from "@socle/protocol";
import { toTimestamp } from "../../base/kernel/index.ts";
import type { Database, Waiter } from "../../store/database/index.ts";
import { type EventLog, eventId, type LoggedEvent, parseEventId, stampsAt } from "../../store/events/index.ts";
import { type Deliveries, eventSeqOf, type OpenRow, parseRunId, runIdOf } from "./delivery-table.ts";

/** A filter of runs; null for any. */
export interface RunFilter {
  readonly status: FunctionRun["status"] | null;
  readonly filePath: string | null;
}

interface ListOptions {
  readonly database: Database;
  readonly deliveries: Deliveries;
  readonly events: EventLog;
  /** Ids of the deliveries that are under way. */
  readonly running: ReadonlySet<number>;
  readonly filter: RunFilter;
  readonly page: { limit: number; offset: number; waiter: Waiter };
}

interface ListedRuns {
  readonly items: FunctionRun[];
  readonly total: number;
}

/** The events that announce the end of a run. */
const typesOf = { completed: ["function.completed"], failed: ["function.failed"] };
const ends = [...typesOf.completed, ...typesOf.failed];
const none: ListedRuns = { items: [], total: 0 };

export async function listRuns(options: ListOptions): Promise<ListedRuns> {
  const { status } = options.filter;
  const isEnded = status === "completed" || status === "failed";
  const open = isEnded ? none : await openRuns(options);
  const ended = status === null || isEnded ? await endedRuns(options, isEnded ? typesOf[status] : ends, open) : none;
  return { items: [...open.items, ...ended.items], total: open.total + ended.total };
}

/**
 * Runs that are not over. A query that must look at many rows runs on a thread.
 * @throws AppError `unavailable` when the query takes too long, or too many queries wait.
 */
function openRuns({ database, deliveries, running, filter, page }: ListOptions): Promise<ListedRuns> {
  const chosen = { path: filter.filePath, status: filter.status, underWay: [...running] };
  return database.query(async (reader) => {
    const { rows, total } = await deliveries.search(reader, chosen, page);
    const logged = await stampsAt(reader, rows.map(eventSeqOf));
    const items = rows.flatMap((row) => {
      const { at, type } = logged.get(eventSeqOf(row)) ?? row;
      return at === null || type === null ? [] : [toOpenRun(row, { at, type, isRunning: running.has(row.id) })];
    });
    return { items, total };
  }, page.waiter);
}

/** Runs that are over, behind the open ones. */
async function endedRuns(
  { deliveries, events, filter, page }: ListOptions,
  types: readonly string[],
  open: ListedRuns,
): Promise<ListedRuns> {
  const rest = { ...page, limit: page.limit - open.items.length, offset: Math.max(0, page.offset - open.total) };
  const ended = await events.search({ types, from: null, to: null, filePath: filter.filePath }, rest);
  const runs = ended.items.map(toEndedRun);
  const ids = runs.map(({ runId }) => parseRunId(runId)?.deliveryId ?? -1);
  const failed = deliveries.failedAt(ids);
  // A run that was made again has several ends, and the last end counts.
  const items = runs.map((run, i) => {
    const failedAt = failed.get(ids[i] ?? -1);
    return { ...run, canRetry: failedAt !== undefined && toTimestamp(failedAt) === run.endedAt };
  });
  return { items, total: ended.total };
}

/** Ends of runs that are looked through for a run. */
const maxLooked = 20_000;
/** Most runs are over a minute after the event. */
const soonMs = 60_000;

/** The file and the handler of a run that is over; null when the log has no end of the run. @throws AppError `unavailable`. */
export async function endOf(
  events: EventLog,
  { runId, at }: { runId: string; at: number },
  waiter: Waiter,
): Promise<{ path: string; handler: string } | null> {
  for (const [from, to] of [
    [at, at + soonMs],
    [at + soonMs + 1, null],
  ] as const)
    for (let offset = 0; offset < maxLooked; offset += 1_000) {
      const { items } = await events.search({ types: ends, from, to }, { limit: 1_000, offset, waiter });
      const found = items.find(({ payload }) => payload["runId"] === runId);
      if (found !== undefined)
        return { path: String(found.payload["filePath"]), handler: String(found.payload["trigger"]) };
      if (items.length < 1_000) break;
    }
  return null;
}

function toOpenRun(
  { id, path, handler, failures, notBefore }: OpenRow,
  { at, type, isRunning }: { at: number; type: string; isRunning: boolean },
): FunctionRun {
  const event = eventId(at, eventSeqOf({ id }));
  return {
    runId: runIdOf(event, id),
    collection: path.split("/")[1] ?? "",
    handler,
    eventType: type,
    filePath: path,
    eventId: event,
    status: isRunning ? "running" : "waiting",
    createdAt: toTimestamp(at),
    endedAt: null,
    durationMs: null,
    error: null,
    canRetry: false,
    ...(failures > 0 && { failures, retryAt: toTimestamp(notBefore) }),
  };
}
function toEndedRun(logged: LoggedEvent): FunctionRun {
  const { payload, type, timestamp } = logged;
  const text = (name: string): string => String(payload[name] ?? "");
  const { durationMs, error } = payload;
  const at = parseEventId(text("eventId"))?.at;
  return {
    runId: text("runId"),
    collection: text("collection"),
    handler: text("trigger"),
    eventType: text("eventType"),
    filePath: text("filePath"),
    eventId: text("eventId"),
    status: type === "function.completed" ? "completed" : "failed",
    createdAt: at === undefined ? timestamp : toTimestamp(at),
    endedAt: timestamp,
    durationMs: typeof durationMs === "number" ? durationMs : null,
    error: typeof error === "string" ? error : null,
    canRetry: false,
  };
}
