/** The event of a delivery: from the log, or from the copy that is made before the log loses it. */
import type { Reader } from "../database/index.ts";
import { type EventLog, type EventRow, LoggedEvent } from "../events/index.ts";
import { eventSeqOf } from "./delivery-id.ts";

/** The columns of a delivery that lead to its event. */
interface EventReference {
  readonly id: number;
  /** The copy; null while the log has the event. */
  readonly event: string | null;
}

/** Null when neither the log nor a copy has the event. */
export async function eventOf(log: EventLog, row: EventReference, reader: Reader): Promise<LoggedEvent | null> {
  return row.event === null ? log.at(eventSeqOf(row), reader) : fromCopy(row.event);
}

export function toCopy(event: LoggedEvent): string {
  return JSON.stringify(event.toRow());
}

export function fromCopy(text: string): LoggedEvent {
  // The text was written by `toCopy`.
  return new LoggedEvent(JSON.parse(text) as EventRow);
}
