/** The list of runs of functions: those that are not over from the table of deliveries, then those that are from the event log. */
import type { FunctionRun } from "@socle/protocol";
import type { Database, Waiter } from "../database/index.ts";
import { type EventLog, eventId, type LoggedEvent, parseEventId } from "../events/index.ts";
import { toTimestamp } from "../kernel/index.ts";
import type { Deliveries } from "./deliveries.ts";
import { eventSeqOf, parseRunId, runIdOf } from "./delivery-id.ts";
import { type OpenDelivery, openDeliveries } from "./open-runs.ts";

/** A filter of runs; null for any. */
export interface RunFilter {
  readonly status: FunctionRun["status"] | null;
  readonly filePath: string | null;
}

/** The events that announce the end of a run. */
const endOf = { completed: ["function.completed"], failed: ["function.failed"] };
const ends = [...endOf.completed, ...endOf.failed];

export async function listRuns(options: {
  database: Database;
  deliveries: Deliveries;
  events: EventLog;
  /** Ids of the deliveries that are under way. */
  running: ReadonlySet<number>;
  filter: RunFilter;
  page: { limit: number; offset: number; waiter: Waiter };
}): Promise<{ items: FunctionRun[]; total: number }> {
  const { database, deliveries, events, running, page } = options;
  const { status, filePath } = options.filter;
  const isEnded = status === "completed" || status === "failed";
  const open = isEnded
    ? { items: [], total: 0 }
    : await openDeliveries(
        { database, events, countAll: async () => (await deliveries.counts()).open },
        {
          path: filePath,
          among: status === "running" ? [...running] : null,
          except: status === "waiting" ? [...running] : null,
        },
        page,
      );
  const waiting = open.items;
  const hasEnded = status === null || isEnded;
  const ended = hasEnded
    ? await events.search(
        { types: isEnded ? endOf[status] : ends, from: null, to: null, filePath },
        { ...page, limit: page.limit - waiting.length, offset: Math.max(0, page.offset - open.total) },
      )
    : { items: [], total: 0 };
  const endedRuns = ended.items.map(toEndedRun);
  const ids = endedRuns.map(({ runId }) => parseRunId(runId)?.deliveryId ?? -1);
  const failed = await deliveries.failed(ids);
  const items = [
    ...waiting.map((delivery) => toOpenRun(delivery, running.has(delivery.id))),
    // A run that was made again has several ends, and the last one counts.
    ...endedRuns.map((run, i) => {
      const failedAt = failed.get(ids[i] ?? -1);
      return { ...run, canRetry: failedAt !== undefined && toTimestamp(failedAt) === run.endedAt };
    }),
  ];
  return { items, total: open.total + ended.total };
}

function toOpenRun(delivery: OpenDelivery, isRunning: boolean): FunctionRun {
  const { id, path, handler, at, eventType, failures, notBefore } = delivery;
  const event = eventId(at, eventSeqOf(delivery));
  return {
    runId: runIdOf(event, id),
    collection: path.split("/")[1] ?? "",
    handler,
    eventType,
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
