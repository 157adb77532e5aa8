/** Visibility: the audience of an event of the log, now and in a replay, and the text that a replay sends of it. */
import type { Collection, Collections } from "../collections/index.ts";
import type { EventHead, EventLog, LoggedEvent } from "../events/index.ts";
import { AppError } from "../kernel/index.ts";
import { type Audience, audienceOf, narrowerThan } from "../permissions/index.ts";
import type { Records } from "../records/index.ts";
import type { Storage } from "../storage/index.ts";
import { type Listener, mayHear, reducedFor } from "./audience.ts";

/** `trimmed`: the log does not hold the event any more. `null`: the listener is to hear nothing of it. */
export type ReplayText = string | null | "trimmed";

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
      (rule) => place < (widened[rule] ?? 0) && !mayHear(listener, "", audienceOf(rule), null),
    );
  }

  /** The text that a listener gets in a replay of an event whose rule lets it pass. */
  async replayText(head: EventHead, listener: Listener, name: string | null): Promise<ReplayText> {
    const event = await this.#events.at(head.seq);
    if (event === null) return "trimmed";
    if (name === null) return this.#serviceText(event, listener);
    const collection = this.#collections.get(name);
    if (event.type.endsWith(".deleted")) return event.toText();
    // Its record is gone with its collection; who was an admin may see what the log holds of it.
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
   * what was changed, or fields that were dropped since, it is the record as it is now.
   */
  async #recordText(event: LoggedEvent, listener: Listener, collection: Collection): Promise<string | null> {
    const id = event.subject ?? "";
    const isAsLogged = !event.isPartial && event.seq > collection.places.fields;
    if (isAsLogged) return (await this.#records.isReadable(collection, listener, id)) ? event.toText() : null;
    try {
      return event.toText(JSON.stringify(await this.#records.get(collection, listener, id)));
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code !== "unavailable") return null;
      throw thrown;
    }
  }
}

function isOfPredecessor(event: EventHead, { places, createdAt }: Collection): boolean {
  // A collection from before places were kept has but its time.
  return places.created === 0 ? event.timestamp < createdAt : event.seq <= places.created;
}
