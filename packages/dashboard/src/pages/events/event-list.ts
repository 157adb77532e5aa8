/**
 * The list of events, newest first: read events and live events, each once, and the events that a filter lets through.
 */
import type { EventEntry } from "@socle/protocol";
import type { EventSearch } from "../search.ts";
import { aboutUser } from "./user-events.ts";

/** Most events in memory; the oldest events are dropped first. */
export const maxEvents = 5_000;

/** Joins two lists, newest first by id, each event once. */
export function merged(known: readonly EventEntry[], more: readonly EventEntry[]): readonly EventEntry[] {
  const byId = new Map<string, EventEntry>();
  for (const event of [...known, ...more]) byId.set(event.id, event);
  const all = [...byId.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
  return all.slice(0, maxEvents);
}

/** Whether a type is among the requested types. A requested type may end with `*`, as in the API. */
export function isOfType(type: string, wanted: string | undefined): boolean {
  if (wanted === undefined) return true;
  return wanted
    .split(",")
    .map((word) => word.trim())
    .some((word) => (word.endsWith("*") ? type.startsWith(word.slice(0, -1)) : type === word));
}

/** Whether a new event belongs to the shown list. */
export function isWanted(event: EventEntry, { type, actor, about, from, to }: EventSearch): boolean {
  const at = Date.parse(event.timestamp);
  if (from !== undefined && at < Date.parse(from)) return false;
  if (to !== undefined && at > Date.parse(to)) return false;
  if (actor !== undefined && event.actor !== actor) return false;
  if (about !== undefined && aboutUser(event) !== about) return false;
  return isOfType(event.type, type);
}

/** The start of the older events: the time of the oldest known event, and the number of known events with that time. */
export function olderThan(known: readonly EventEntry[]): { to: string; offset: number } | null {
  const oldest = known.at(-1);
  if (oldest === undefined) return null;
  return { to: oldest.timestamp, offset: known.filter(({ timestamp }) => timestamp === oldest.timestamp).length };
}

/** The time in the id of an event, as RFC 3339; null for any other text. */
export function timeOfId(id: string): string | null {
  const [, hex] = /^evt_([0-9a-f]{12})[0-9a-f]{13}$/.exec(id) ?? [];
  return hex === undefined ? null : new Date(Number.parseInt(hex, 16)).toISOString();
}

/** The collection of an event about a record; null for any other event. */
export function collectionOf({ type, source }: EventEntry): string | null {
  if (source !== "collections") return null;
  return /^([A-Za-z]\w*)\.(created|updated|deleted)$/.exec(type)?.[1] ?? null;
}

/** The subject of an event, in a single line: a record, a user, a collection, a file. */
export function subjectOf({ payload }: EventEntry): string {
  for (const name of ["target", "email", "id", "filePath", "name", "userId"]) {
    const value = payload[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return "";
}
