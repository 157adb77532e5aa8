/** Visibility: the audience of an event of the log, now and in a replay, and the text that a replay sends of it. */
import type { Collection, Collections } from "../collections/index.ts";
import type { EventHead, EventLog, LoggedEvent } from "../events/index.ts";
import { AppError, isAdmin } from "../kernel/index.ts";
import { type Audience, audienceOf, narrowerThan } from "../permissions/index.ts";
import { fieldLimits, type Records } from "../records/index.ts";
import type { Storage } from "../storage/index.ts";
import { type Listener, mayHear, reducedFor } from "./audience.ts";
import { toldText } from "./tellings.ts";

/** An event as a replay tells it: its type may be another one, where it has taken a record out of sight. */
export interface Told {
  readonly type: string;
  readonly text: string;
}

/** `trimmed`: the log does not hold the event any more. `null`: the listener is to hear nothing of it. */
export type Replayed = Told | null | "trimmed";

export class Visibility {
  readonly #collections: Collections;
  readonly #events: EventLog;
  readonly #records: Records;
  readonly #storage: Storage;

  constructor(options: { collections: Collections; events: EventLog; records: Records; storage: Storage }) {
    this.#collections = options.collections;
    this.#events = options.events;
    this.#records = options.records;
    this.#storage = options.storage;
  }

  /**
   * The audience of an event: by the rule in force, or by a narrower one that was in force when it was written. Other events
   * than those of records are for all who are signed in (spec, "Authentication" 9 and realtime rule 4); those of a collection
   * that is gone are for admins, also when there is another of its name.
   */
  audience(event: EventHead, name: string | null): Audience {
    if (name === null) return "users";
    const collection = this.#collections.get(name);
    if (collection === undefined || isOfPredecessor(event, collection)) return "admins";
    const { read } = collection.policies;
    const { widened } = collection.places;
    const narrower = narrowerThan(read.rule).find((rule) => event.seq <= (widened[rule] ?? 0));
    return narrower === undefined ? read.audience : audienceOf(narrower);
  }

  /** Whether some of the events after a place were not for this listener when they were written, and would be now. */
  isClosedAfter(place: number, listener: Listener, name: string | null): boolean {
    const collection = name === null ? undefined : this.#collections.get(name);
    if (collection === undefined) return false;
    const { widened } = collection.places;
    // The owner of a record could hear it; the records of others were closed.
    return narrowerThan(collection.policies.read.rule).some(
      (rule) => place < (widened[rule] ?? 0) && !mayHear(listener, "", { audience: audienceOf(rule), owner: null }),
    );
  }

  /** An event as a replay tells it to a listener whom its audience lets hear it. */
  async replayed(head: EventHead, listener: Listener, name: string | null): Promise<Replayed> {
    const event = await this.#events.at(head.seq);
    if (event === null) return "trimmed";
    const collection = name === null ? undefined : this.#collections.get(name);
    if (collection !== undefined && this.isConditional(collection) && !isAdmin(listener))
      return isOfPredecessor(event, collection) ? null : this.#toldByRule(event, listener, collection);
    const text = await this.#text(event, listener, name);
    return text === null ? null : { type: event.type, text };
  }

  /** Whether the database decides who may read a record of a collection. */
  isConditional(collection: Collection): boolean {
    return collection.policies.read.audience === "condition";
  }

  /**
   * A change by the rule of this moment: after it, the record as it is now; before it, what the log has kept for the rule. The
   * log keeps nothing where the rule asks about nothing that has changed.
   */
  async #toldByRule(event: LoggedEvent, listener: Listener, collection: Collection): Promise<Told | null> {
    const { basis } = event;
    const couldRead = basis !== null && (await this.#records.wasReadable(collection, listener, basis));
    const text = await this.#textAfter(event, listener, collection);
    if (text !== null) {
      const isInView = event.type.endsWith(".created") || (basis !== null && !couldRead);
      const type = isInView ? `${collection.name}.created` : event.type;
      return { type, text: type === event.type ? text : retyped(text, event.type, type) };
    }
    const type = `${collection.name}.deleted`;
    return couldRead ? { type, text: toldText(event, type) } : null;
  }

  /** The record after a change, for a listener who may read it as it became, and as it is now. */
  async #textAfter(event: LoggedEvent, listener: Listener, collection: Collection): Promise<string | null> {
    if (event.type.endsWith(".deleted")) return null;
    const { payload, owner } = event;
    // Of a large record the log has only what was changed, and the record is told as it is now.
    const isReadable =
      event.isPartial || (await this.#records.wasReadable(collection, listener, { fields: payload, owner }));
    return isReadable ? this.#recordText(event, listener, collection) : null;
  }

  async #text(event: LoggedEvent, listener: Listener, name: string | null): Promise<string | null> {
    if (name === null) return this.#serviceText(event, listener);
    const collection = this.#collections.get(name);
    if (event.type.endsWith(".deleted")) return event.toText();
    // Its record is gone with its collection; an admin may see what the log holds of it.
    if (collection === undefined || isOfPredecessor(event, collection)) return event.isPartial ? null : event.toText();
    return this.#recordText(event, listener, collection);
  }

  async #serviceText(event: LoggedEvent, listener: Listener): Promise<string | null> {
    if (event.type !== "storage.uploaded") return event.toText(reducedFor(listener, event));
    const file = await this.#storage.find(event.subject ?? "");
    if (file === null) return null;
    // An admin may have said otherwise since.
    return event.toText(reducedFor(listener, event, file.visibility));
  }

  /**
   * The created or changed record: nothing when it is gone, or is not the listener's any more. Where the log holds only
   * what was changed, or fields that were dropped since, it is the record as it is now. Of its fields, those that the listener may
   * read in the record as it became and in the one that it is now.
   */
  async #recordText(event: LoggedEvent, listener: Listener, collection: Collection): Promise<string | null> {
    const id = event.subject ?? "";
    const isAsLogged = !event.isPartial && event.seq > collection.places.fields;
    const hidesValues = fieldLimits(collection, listener) !== null;
    if (isAsLogged && !hidesValues)
      return (await this.#records.isReadable(collection, listener, id)) ? event.toText() : null;
    try {
      const now = await this.#records.get(collection, listener, id);
      if (!isAsLogged) return event.toText(JSON.stringify(now));
      const hidden = await this.#records.hiddenAt(collection, listener, event);
      for (const field of Object.keys(event.payload)) if (!Object.hasOwn(now, field)) hidden.add(field);
      return toldText(event, event.type, hidden);
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code !== "unavailable") return null;
      throw thrown;
    }
  }
}

/** The text of an event with another type. Its own stands once, before the payload. */
function retyped(text: string, from: string, to: string): string {
  return text.replace(`"type":"${from}"`, `"type":"${to}"`);
}

function isOfPredecessor(event: EventHead, { places, createdAt }: Collection): boolean {
  // A collection from before places were kept has but its time.
  return places.created === 0 ? event.timestamp < createdAt : event.seq <= places.created;
}
