/**
 * The event of a delivery. Its place in the log makes the ids of the delivery and of the run; the log has the event, or the delivery has a copy,
 * made before the log loses the event.
 */
import type { Reader } from "../../store/database/index.ts";
import { type EventLog, type EventRow, LoggedEvent, parseEventId } from "../../store/events/index.ts";

/** Handlers of a type of event, at most. */
export const maxPerEvent = 1_024;

/** The place of a delivery's event in the log. */
export function eventSeqOf({ id }: { readonly id: number }): number {
  return Math.floor(id / maxPerEvent);
}

/** The first id that deliveries of an event can have. */
export function firstIdOf(eventSeq: number): number {
  return eventSeq * maxPerEvent;
}

/** The last id that deliveries of an event can have. */
export function lastIdOf(eventSeq: number): number {
  return firstIdOf(eventSeq) + maxPerEvent - 1;
}

/** The id of a run, which all its attempts share: the id of the event, and the number of the delivery within the event. */
export function runIdOf(event: string, deliveryId: number): string {
  return `run_${event.slice("evt_".length)}${(deliveryId % maxPerEvent).toString(16).padStart(3, "0")}`;
}

/** The delivery of a run, and the time of its event; null for a text that is no id of a run. */
export function parseRunId(runId: string): { deliveryId: number; at: number } | null {
  const [, event, number] = /^run_([0-9a-f]{25})([0-9a-f]{3})$/.exec(runId) ?? [];
  const parsed = event === undefined ? null : parseEventId(`evt_${event}`);
  if (parsed === null || number === undefined) return null;
  return { deliveryId: firstIdOf(parsed.seq) + Number.parseInt(number, 16), at: parsed.at };
}

/** The columns of a delivery that lead to its event. */
export interface EventReference {
  readonly id: number;
  /** The copy; null while the log has the event. */
  readonly event: string | null;
}

/** Null when neither the log nor a copy has the event. */
export function eventOf(log: EventLog, row: EventReference, reader: Reader): LoggedEvent | null {
  return row.event === null ? log.at(eventSeqOf(row), reader) : fromCopy(row.event);
}

export function toCopy(event: LoggedEvent): string {
  return JSON.stringify(event.toRow());
}

export function fromCopy(text: string): LoggedEvent {
  // The text was written by `toCopy`.
  return new LoggedEvent(JSON.parse(text) as EventRow);
}
