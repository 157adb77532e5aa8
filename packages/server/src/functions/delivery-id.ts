/** The ids of deliveries and of their runs, both made of the event's place in the log. */
import { parseEventId } from "../events/index.ts";

/** Handlers of one type of event, at most. */
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

/** The id of a run, which all its attempts share: the id of the event, and the delivery's number among those of the event. */
export function runIdOf(event: string, deliveryId: number): string {
  return `run_${event.slice("evt_".length)}${(deliveryId % maxPerEvent).toString(16).padStart(3, "0")}`;
}

/** The delivery of a run, and the time of its event; null for a text that is no such id. */
export function parseRunId(runId: string): { deliveryId: number; at: number } | null {
  const [, event, number] = /^run_([0-9a-f]{25})([0-9a-f]{3})$/.exec(runId) ?? [];
  const parsed = event === undefined ? null : parseEventId(`evt_${event}`);
  if (parsed === null || number === undefined) return null;
  return { deliveryId: firstIdOf(parsed.seq) + Number.parseInt(number, 16), at: parsed.at };
}
