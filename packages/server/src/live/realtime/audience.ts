/**
 * Audience of an event, as topics.
 *
 * The topics of an event decide about its listeners; no socket is asked. A socket joins the topics of its listener, and the
 * event goes to the topics that the policy in force names. No event goes to two topics of one listener, so each listener hears an
 * event once.
 */
import type { Visibility } from "@socle/protocol";
import { isAdmin, type SignedIn } from "../../base/kernel/index.ts";
import type { Audience } from "../../data/permissions/index.ts";
import type { LoggedEvent } from "../../store/events/index.ts";

/** The caller behind a socket; null is somebody without a token. */
export type Listener = SignedIn | null;

/** The topics of an event type that a listener joins. A user's own topic is for the records of that user. */
export function topicsOfListener(type: string, listener: Listener): string[] {
  if (listener === null) return [`${type}/anonymous`];
  if (isAdmin(listener)) return [`${type}/admins`];
  return [`${type}/users`, `${type}/${listener.userId}`];
}

/** The topics that an event goes to. `owner` is the id of the user who owns the record. */
export function topicsOfEvent(type: string, audience: Audience, owner: string | null): string[] {
  switch (audience) {
    case "everybody":
      return [`${type}/anonymous`, `${type}/users`, `${type}/admins`];
    case "users":
      return [`${type}/users`, `${type}/admins`];
    case "owner":
      return owner === null ? [`${type}/admins`] : [`${type}/${owner}`, `${type}/admins`];
    case "condition":
    case "admins":
      return [`${type}/admins`];
  }
}

/**
 * Whether a listener may hear an event at all, by the topics of the event. With `condition` the database decides for
 * each event.
 */
export function mayHear(listener: Listener, audience: Audience, owner: string | null): boolean {
  if (audience === "everybody" || audience === "condition" || isAdmin(listener)) return true;
  if (listener === null || audience === "admins") return false;
  return audience === "users" || listener.userId === owner;
}

/** An event whose whole payload is for some of its listeners. */
export interface Reserved {
  /** The payload for the others, JSON. */
  readonly reduced: string;
  /** The user to whom the whole payload goes, beside admins, or null. */
  readonly userId: string | null;
}

/**
 * The reserved part of an event of the service itself; null if all listeners get the same payload.
 * @param visibility of an uploaded file at this moment, if that may differ from the event's.
 */
export function reservedOf(event: LoggedEvent, visibility?: Visibility): Reserved | null {
  switch (event.type) {
    case "function.failed":
    case "job.failed": {
      // A message may name whatever the user's code has seen.
      const { error, ...rest } = event.payload;
      return error === undefined ? null : { reduced: JSON.stringify(rest), userId: null };
    }
    case "storage.uploaded": {
      const { payload } = event;
      if ((visibility ?? payload["visibility"]) === "public") return null;
      const { userId } = payload;
      const reduced = JSON.stringify({ ...payload, filename: null, url: null });
      return { reduced, userId: typeof userId === "string" ? userId : null };
    }
    default:
      return null;
  }
}

/** The topics of the two texts of a reserved event. A user who gets the whole text has joined both topics of users. */
export function topicsOfReserved(type: string, userId: string | null): { whole: string[]; others: string } {
  const own = userId === null ? [] : [`${type}/${userId}`];
  return { whole: [`${type}/admins`, ...own], others: `${type}/users` };
}

/** The JSON payload of an event of the service for a listener; undefined for the event's own payload. */
export function reducedFor(listener: Listener, event: LoggedEvent, visibility?: Visibility): string | undefined {
  if (isAdmin(listener)) return undefined;
  const reserved = reservedOf(event, visibility);
  if (reserved === null) return undefined;
  return reserved.userId !== null && reserved.userId === listener?.userId ? undefined : reserved.reduced;
}
