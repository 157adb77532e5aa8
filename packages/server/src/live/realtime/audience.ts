/**
 * Audience of an event, as topics.
 *
 * The topics of an event decide about its listeners; no socket is asked. A socket joins the topics of its listener, and the
 * event goes to the topics that the policy in force names. No event goes to two topics of one listener, so each listener hears an
 * event once.
 */
import type { Visibility } from "@socle/protocol";
import { type Bearer, isAdmin } from "../../base/kernel/index.ts";
import { type Audience, isOwnRecord } from "../../data/permissions/index.ts";
import type { LoggedEvent } from "../../store/events/index.ts";

/** The caller behind a socket; null is somebody without a token. */
export type Listener = Bearer | null;

/** The name of a listener: sockets of one user in one role have the same. The name of a service key has no user. */
export function nameOf(listener: Listener): string {
  return listener === null ? "" : `${listener.userId ?? ""} ${listener.role}`;
}

/** A subscription that hears events as they happen. */
export interface LiveListener {
  readonly listener: Listener;
  /** Null for events of the service. */
  readonly collection: string | null;
  /** The text of the filter, or null. */
  readonly filter: string | null;
  /** The id in the frames of the events, or null. */
  readonly id: string | null;
  /** Whether a change of a type at a seq is sent as it happens. */
  hears(type: string, seq: number): boolean;
  send(text: string): void;
  /** The subscription ends, or its socket. */
  fail(reason: unknown): void;
  /** The subscription hears the events after a seq from the log. */
  replay(after: number): void;
}

/** Live subscriptions, by the names of their listeners. */
export class LiveListeners {
  readonly #byName = new Map<string, Set<LiveListener>>();

  /** The number of different listeners. */
  get size(): number {
    return this.#byName.size;
  }

  add(subscription: LiveListener): void {
    this.#byName.getOrInsertComputed(nameOf(subscription.listener), () => new Set()).add(subscription);
  }

  delete(subscription: LiveListener): void {
    const name = nameOf(subscription.listener);
    const subscriptions = this.#byName.get(name);
    subscriptions?.delete(subscription);
    if (subscriptions?.size === 0) this.#byName.delete(name);
  }

  /** @param names of listeners; null for all listeners. */
  *among(names: ReadonlySet<string> | null): Iterable<LiveListener> {
    for (const name of names ?? this.#byName.keys()) yield* this.#byName.get(name) ?? [];
  }
}

/** Counts up or down; a key whose count is 0 is forgotten. Answers the new count. */
export function tally(counts: Map<string, number>, key: string, change: 1 | -1): number {
  const count = (counts.get(key) ?? 0) + change;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
  return count;
}

/** The topics of an event type that a listener joins. A user's own topic is for the records of that user. */
export function topicsOfListener(type: string, listener: Listener): string[] {
  if (listener === null) return [`${type}/anonymous`];
  if (isAdmin(listener)) return [`${type}/admins`];
  return listener.userId === null ? [`${type}/users`] : [`${type}/users`, `${type}/${listener.userId}`];
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

/** Whether a listener may hear an event at all. With `condition` the database decides for each event. */
export function mayHear(listener: Listener, audience: Audience, owner: string | null): boolean {
  if (audience === "everybody" || audience === "condition" || isAdmin(listener)) return true;
  if (listener === null || audience === "admins") return false;
  return audience === "users" || isOwnRecord(listener, owner);
}

/** The user an event of the service is about, or null. */
export function subjectOf({ payload }: LoggedEvent): string | null {
  const { userId } = payload;
  return typeof userId === "string" ? userId : null;
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
      return { reduced: JSON.stringify({ ...payload, filename: null, url: null }), userId: subjectOf(event) };
    }
    default:
      return null;
  }
}

/** The JSON payload of an event of the service for a listener; undefined for the event's own payload. */
export function reducedFor(listener: Listener, event: LoggedEvent, visibility?: Visibility): string | undefined {
  if (isAdmin(listener)) return undefined;
  const reserved = reservedOf(event, visibility);
  if (reserved === null) return undefined;
  return reserved.userId !== null && reserved.userId === listener?.userId ? undefined : reserved.reduced;
}
