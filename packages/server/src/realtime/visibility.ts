/** Visibility: the audience of an event of the log, now and in a replay, and the text that a replay sends of it. */

import type { StoredRecord } from "@socle/protocol";
import type { Collection, Collections } from "../collections/index.ts";
import type { EventBasis, EventHead, EventLog, LoggedEvent } from "../events/index.ts";
import { AppError, isAdmin } from "../kernel/index.ts";
import { type Audience, audienceOf, narrowerThan } from "../permissions/index.ts";
import { fieldLimits, type Records, recordTableOf, touchesReadRule } from "../records/index.ts";
import type { Storage } from "../storage/index.ts";
import { type Listener, mayHear, reducedFor } from "./audience.ts";
import type { Filter } from "./filter.ts";
import { fulfilledBefore } from "./former-states.ts";
import { stateOf, toldText, toldType } from "./tellings.ts";
import type { ReplayedThrough } from "./types.ts";

/** An event as a replay tells it: its type may be another one, where it has taken a record out of sight. */
export interface Told {
  readonly type: string;
  readonly text: string;
}

/** `trimmed`: the log does not hold the event any more. `null`: the listener is to hear nothing of it. */
export type Replayed = Told | null | "trimmed";

/** An event of the log that is looked at for a listener. */
interface Seen {
  readonly event: LoggedEvent;
  readonly listener: Listener;
  readonly collection: Collection;
}

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
    if (collection === undefined || this.isOfPredecessor(event, collection)) return "admins";
    const { read } = collection.policies;
    const { widened } = collection.logMarks;
    const narrower = narrowerThan(read.rule).find((rule) => event.seq <= (widened[rule] ?? 0));
    return narrower === undefined ? read.audience : audienceOf(narrower);
  }

  /** Whether some of the events after a seq were not for this listener when they were written, and would be now. */
  isClosedAfter(seq: number, listener: Listener, name: string | null): boolean {
    const collection = name === null ? undefined : this.#collections.get(name);
    if (collection === undefined) return false;
    const { widened } = collection.logMarks;
    // The owner of a record could hear it; the records of others were closed.
    return narrowerThan(collection.policies.read.rule).some(
      (rule) => seq < (widened[rule] ?? 0) && !mayHear(listener, audienceOf(rule), null),
    );
  }

  /** An event as a replay tells it to a listener whom its audience lets hear it, or who hears it through a filter. */
  async replayed(head: EventHead, listener: Listener, through: ReplayedThrough): Promise<Replayed> {
    const event = await this.#events.at(head.seq);
    if (event === null) return "trimmed";
    const { collection: name, filter } = through;
    const collection = name === null ? undefined : this.#collections.get(name);
    if (filter !== null) {
      if (collection === undefined || this.isOfPredecessor(event, collection)) return null;
      return this.#toldByFilter({ event, listener, collection }, filter);
    }
    if (collection !== undefined && this.isConditional(collection) && !isAdmin(listener))
      return this.isOfPredecessor(event, collection) ? null : this.#toldByRule(event, listener, collection);
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
    const basis = this.#basisOfRule(event, collection);
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

  /** The record before a change, where the change touched something that the read rule asks about; else null. */
  #basisOfRule(event: LoggedEvent, collection: Collection): EventBasis | null {
    const { basis } = event;
    return basis !== null && touchesReadRule(recordTableOf(collection), basis) ? formerOf(event) : null;
  }

  /**
   * A change through a filter, by the rule and the definitions of this moment: after it, the record as it became, and only while it
   * may be read and fulfils the filter now; before it, the values that the log has kept. Where it has not, the record may have
   * fulfilled the filter: `.deleted` is told once too often rather than once too seldom.
   * @throws FrameError where the filter cannot be asked any more.
   */
  async #toldByFilter(seen: Seen, filter: Filter): Promise<Told | null> {
    const { event, listener, collection } = seen;
    const isAsLogged = !event.isPartial && event.seq > collection.logMarks.fields;
    const isDeletion = event.type.endsWith(".deleted");
    const now = isDeletion ? null : await this.#now(event, listener, collection);
    // The payload of a creation, or of an update that the log has whole, is the record.
    const became = isDeletion ? null : isAsLogged ? (event.payload as StoredRecord) : now;
    const canRead = became !== null && (await this.#couldRead(seen, { fields: became, owner: event.owner }));
    const fulfils = became !== null && filter.holds({ record: became, owner: event.owner }, listener);
    const fulfilled = fulfilledBefore(event, listener, { collection, filter, became, fulfils });
    const couldRead = fulfilled !== false && (await this.#couldReadBefore(seen, canRead));
    if (canRead && fulfils) {
      // The record may have another owner by now.
      if (now === null || !filter.holds(stateOf(now, recordTableOf(collection), event.owner), listener)) return null;
      const type = toldType(collection.name, { before: couldRead, after: true }) ?? event.type;
      if (!isAsLogged) return { type, text: event.toText(JSON.stringify(now), type) };
      return { type, text: toldText(event, type, await this.#hidden(seen, now)) };
    }
    const type = `${collection.name}.deleted`;
    return couldRead ? { type, text: toldText(event, type) } : null;
  }

  /** The fields of an event's record that the listener may not read, in the record as it became or as it is now. */
  async #hidden({ event, listener, collection }: Seen, now: StoredRecord): Promise<ReadonlySet<string>> {
    const hidden = await this.#records.hiddenAt(collection, listener, event);
    for (const field of Object.keys(event.payload)) if (!Object.hasOwn(now, field)) hidden.add(field);
    return hidden;
  }

  /** The record of an event as it is now; null where it is gone, or closed to the listener. */
  async #now({ subject }: LoggedEvent, listener: Listener, collection: Collection): Promise<StoredRecord | null> {
    try {
      return await this.#records.get(collection, listener, subject ?? "");
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code !== "unavailable") return null;
      throw thrown;
    }
  }

  /** Whether the audience of an event lets a listener read a record as it was at it. */
  async #couldRead({ event, listener, collection }: Seen, state: EventBasis): Promise<boolean> {
    const audience = this.audience(event, collection.name);
    if (audience !== "condition") return mayHear(listener, audience, state.owner);
    return this.#records.wasReadable(collection, listener, state);
  }

  /** The same for the record before the event. @param canRead for the record after it. */
  async #couldReadBefore(seen: Seen, canRead: boolean): Promise<boolean> {
    const { event, collection } = seen;
    if (event.type.endsWith(".created")) return false;
    const isUntouched = this.#basisOfRule(event, collection) === null && !event.type.endsWith(".deleted");
    if (this.isConditional(collection) && isUntouched) return canRead;
    return this.#couldRead(seen, formerOf(event));
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
    if (collection === undefined || this.isOfPredecessor(event, collection))
      return event.isPartial ? null : event.toText();
    return this.#recordText(event, listener, collection);
  }

  async #serviceText(event: LoggedEvent, listener: Listener): Promise<string | null> {
    if (event.type !== "storage.uploaded") return event.toText(reducedFor(listener, event));
    const file = await this.#storage.find(event.subject ?? "");
    if (file === null) return null;
    // An admin may have said otherwise since, and a record may point to it now.
    const caller = {
      principal: listener,
      caller: (): string => listener?.userId ?? "",
      signal: () => new AbortController().signal,
    };
    const isShown = file.visibility === "record" && (await this.#storage.mayDownload(file, caller));
    return event.toText(isShown ? undefined : reducedFor(listener, event, file.visibility));
  }

  /**
   * The created or changed record: nothing when it is gone, or is not the listener's any more. Where the log holds only
   * what was changed, or fields that were dropped since, it is the record as it is now. Of its fields, those that the listener may
   * read in the record as it became and in the one that it is now.
   */
  async #recordText(event: LoggedEvent, listener: Listener, collection: Collection): Promise<string | null> {
    const id = event.subject ?? "";
    const isAsLogged = !event.isPartial && event.seq > collection.logMarks.fields;
    const hidesValues = fieldLimits(collection, listener) !== null;
    if (isAsLogged && !hidesValues)
      return (await this.#records.isReadable(collection, listener, id)) ? event.toText() : null;
    const now = await this.#now(event, listener, collection);
    if (now === null) return null;
    if (!isAsLogged) return event.toText(JSON.stringify(now));
    return toldText(event, event.type, await this.#hidden({ event, listener, collection }, now));
  }

  /** Whether an event is of another collection of that name, which is gone. */
  isOfPredecessor(event: EventHead, { logMarks, createdAt }: Collection): boolean {
    // A collection from before marks were kept has only its time.
    return logMarks.created === 0 ? event.timestamp < createdAt : event.seq <= logMarks.created;
  }
}

/** The record before an update or a deletion, as far as the log tells. */
function formerOf({ basis, isPartial, payload, owner }: LoggedEvent): EventBasis {
  const unchanged = isPartial ? {} : payload;
  return { fields: { ...unchanged, ...basis?.fields }, owner: basis === null ? owner : basis.owner };
}

/** The text of an event with another type. Its own stands once, before the payload. */
function retyped(text: string, from: string, to: string): string {
  return text.replace(`"type":"${from}"`, `"type":"${to}"`);
}
