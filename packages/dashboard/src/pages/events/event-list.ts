/**
 * The list of events, newest first: what was read and what came, each once, and which of them a filter lets through.
 */
import type { EventEntry } from "@socle/protocol";
import type { EventSearch } from "./search.ts";
import { aboutUser } from "./user-events.ts";

/** Events that are kept in memory; the oldest go first. */
export const maxEvents = 5_000;

/** Joins two lists, newest first by id, each event once. */
export function merged(known: readonly EventEntry[], more: readonly EventEntry[]): readonly EventEntry[] {
  const byId = new Map<string, EventEntry>();
  for (const event of [...known, ...more]) byId.set(event.id, event);
  const all = [...byId.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
  return all.slice(0, maxEvents);
}

/** Whether a type is one of those that are asked for; `*` may end one, as in the API. */
export function isOfType(type: string, wanted: string | undefined): boolean {
  if (wanted === undefined) return true;
  return wanted
    .split(",")
    .map((word) => word.trim())
    .some((word) => (word.endsWith("*") ? type.startsWith(word.slice(0, -1)) : type === word));
}

/** Whether an event that has just come belongs to what the page shows. */
export function isWanted(event: EventEntry, { type, actor, about, from, to }: EventSearch): boolean {
  const at = Date.parse(event.timestamp);
  if (from !== undefined && at < Date.parse(from)) return false;
  if (to !== undefined && at > Date.parse(to)) return false;
  if (actor !== undefined && event.actor !== actor) return false;
  if (about !== undefined && aboutUser(event) !== about) return false;
  return isOfType(event.type, type);
}

/** Where the older events begin: the time of the oldest that is known, and how many of that time are known already. */
export function olderThan(known: readonly EventEntry[]): { to: string; offset: number } | null {
  const oldest = known.at(-1);
  if (oldest === undefined) return null;
  return { to: oldest.timestamp, offset: known.filter(({ timestamp }) => timestamp === oldest.timestamp).length };
}

/** The time that an id of an event holds, as RFC 3339; null for what is no such id. */
export function timeOfId(id: string): string | null {
  const [, hex] = /^evt_([0-9a-f]{12})[0-9a-f]{13}$/.exec(id) ?? [];
  return hex === undefined ? null : new Date(Number.parseInt(hex, 16)).toISOString();
}

/** The collection of an event about a record; null for any other. */
export function collectionOf({ type, source }: EventEntry): string | null {
  if (source !== "collections") return null;
  return /^([A-Za-z]\w*)\.(created|updated|deleted)$/.exec(type)?.[1] ?? null;
}

/** The subject of an event, in one line: a record, a user, a collection, a file. */
export function subjectOf({ payload }: EventEntry): string {
  for (const name of ["target", "email", "id", "filePath", "name", "userId"]) {
    const value = payload[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return "";
}
