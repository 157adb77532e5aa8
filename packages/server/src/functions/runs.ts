import type { FunctionRun } from "@socle/protocol";
import type { Waiter } from "../database/index.ts";
import { type EventLog, eventId, type LoggedEvent, parseEventId } from "../events/index.ts";
import { toTimestamp } from "../kernel/index.ts";
import { type Deliveries, eventSeqOf, maxPerEvent, type OpenDelivery } from "./deliveries.ts";

/** A run is named by its event and by its place among those of that event, so that all its attempts have one id. */
export function runIdOf(event: string, deliveryId: number): string {
  return `run_${event.slice("evt_".length)}${(deliveryId % maxPerEvent).toString(16).padStart(3, "0")}`;
}

/** The delivery that a run is of, and the time of its event; null for what is no such id. */
export function parseRunId(runId: string): { deliveryId: number; at: number } | null {
  const [, event, place] = /^run_([0-9a-f]{25})([0-9a-f]{3})$/.exec(runId) ?? [];
  const parsed = event === undefined ? null : parseEventId(`evt_${event}`);
  if (parsed === null || place === undefined) return null;
  return { deliveryId: parsed.seq * maxPerEvent + Number.parseInt(place, 16), at: parsed.at };
}

/** What is not over comes from the table of deliveries, what is from the event log. */
export async function listRuns(options: {
  deliveries: Deliveries;
  events: EventLog;
  /** Ids of the deliveries that run at the moment. */
  running: ReadonlySet<number>;
  page: { limit: number; offset: number; waiter: Waiter };
}): Promise<{ items: FunctionRun[]; total: number }> {
  const { deliveries, events, running, page } = options;
  const { open } = await deliveries.counts();
  const waiting = await deliveries.open(page);
  const ended = await events.search(
    { types: ["function.completed", "function.failed"], from: null, to: null },
    { ...page, limit: page.limit - waiting.length, offset: Math.max(0, page.offset - open) },
  );
  const endedRuns = ended.items.map(toEndedRun);
  const ids = endedRuns.map(({ runId }) => parseRunId(runId)?.deliveryId ?? -1);
  const failed = await deliveries.failed(ids);
  const items = [
    ...waiting.map((delivery) => toOpenRun(delivery, running.has(delivery.id))),
    // Of several ends of a run, the last one counts.
    ...endedRuns.map((run, i) => {
      const failedAt = failed.get(ids[i] ?? -1);
      return { ...run, canRetry: failedAt !== undefined && toTimestamp(failedAt) === run.endedAt };
    }),
  ];
  return { items, total: open + ended.total };
}

function toOpenRun(delivery: OpenDelivery, isRunning: boolean): FunctionRun {
  const { id, path, handler, at, eventType } = delivery;
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
