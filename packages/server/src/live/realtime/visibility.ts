/** Visibility: the audience of an event of the log, now and in a replay, and the text that a replay sends of it. */

import type { StoredRecord } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { AppError, isAdmin, shareOf } from "../../base/kernel/index.ts";
import { type Collection, type Collections, isOfPredecessor } from "../../data/collections/index.ts";
import { type Audience, audienceOf, narrowerThan } from "../../data/permissions/index.ts";
import { fieldLimits, type Records, recordTableOf, touchesReadRule } from "../../data/records/index.ts";
import type { Storage } from "../../files/storage/index.ts";
import type { EventBasis, EventHead, EventLog, LoggedEvent } from "../../store/events/index.ts";
import { type Listener, mayHear, reducedFor, subjectOf } from "./audience.ts";
import { changeTypes, stateOf, toldText, toldType } from "./per-listener-events.ts";
import { type DeletedRecords, isHeld, type OwnedState, type Readers } from "./reader-table.ts";

/** An event as a replay tells the event: the type differs from the event's own if the change has taken a record out of sight. */
export interface Told {
  readonly type: string;
  readonly text: string;
}

/** `gap`: the log does not hold the event any more, or the event is closed to the listener. `null`: the listener hears nothing of the event. */
export type ReplayedEvent = Told | null | "gap";

/** A filter, asked for a single listener. */
export interface FilterOfOne {
  columns(state: OwnedState): ReadonlySet<string>;
  /** @throws FrameError if the filter cannot be asked any more. */
  holds(state: OwnedState): Promise<boolean>;
}

/** The listener of a replay, the collection of its events, and the filter of its subscription, or null. */
export interface ReplayedTo {
  readonly listener: Listener;
  readonly collection: string | null;
  readonly filter: FilterOfOne | null;
}

/** Milliseconds of the read rule of a replay, whose events are decided one by one. */
const unlimited = Number.POSITIVE_INFINITY;

/** The filter of a subscription without a filter. */
const everything: FilterOfOne = { columns: () => new Set(), holds: () => Promise.resolve(true) };

/** An event of the log, and a listener who may hear the event. */
interface SeenEvent {
  readonly event: LoggedEvent;
  readonly listener: Listener;
  readonly collection: Collection;
}

export interface VisibilityOptions {
  collections: Collections;
  events: EventLog;
  records: Records;
  storage: Storage;
  readers: Readers;
  config: Config;
}

export class Visibility {
  readonly #options: VisibilityOptions;
  /** The records of deletions that were found. */
  readonly #deleted = new WeakMap<
    readonly LoggedEvent[],
    { readonly epoch: number; readonly records: readonly DeletedRecords[] }
  >();

  constructor(options: VisibilityOptions) {
    this.#options = options;
  }

  /**
   * The audience of an event: by the rule in force, or by a narrower rule that was in force when the event was written.
   * Events of the service are for all listeners, also without a token (spec, realtime rule 4; "Authentication" 9 is about
   * collections), unless `realtime.serviceEvents` says otherwise; `owner` then means the user an event is about. Events of a dropped
   * collection are for admins, even if a new collection has the same name.
   */
  audience(event: EventHead, name: string | null): Audience {
    if (name === null) return this.#serviceAudience(event);
    const collection = this.#options.collections.get(name);
    if (collection === undefined || isOfPredecessor(event, collection)) return "admins";
    const { read } = collection.policies;
    const { widened } = collection.logMarks;
    const narrower = narrowerThan(read.rule).find((rule) => event.seq <= (widened[rule] ?? 0));
    return narrower === undefined ? read.audience : audienceOf(narrower);
  }

  #serviceAudience({ type }: EventHead): Audience {
    const serviceEvents = this.#options.config["realtime.serviceEvents"];
    if (serviceEvents === "admin") return "admins";
    if (serviceEvents === "all") return "everybody";
    if (type.startsWith("system.")) return "users";
    return type.startsWith("auth.") || type.startsWith("storage.") ? "owner" : "admins";
  }

  /**
   * Whether some events after a seq were closed to this listener when written, and would be open now, or have the type of a
   * former name of the collection.
   */
  isClosedAfter(seq: number, listener: Listener, name: string | null): boolean {
    const collection = name === null ? undefined : this.#options.collections.get(name);
    if (collection === undefined) return false;
    const { widened, renamed = 0 } = collection.logMarks;
    if (seq < renamed) return true;
    // An owner could hear changes of own records; other records were closed.
    return narrowerThan(collection.policies.read.rule).some(
      (rule) => seq < (widened[rule] ?? 0) && !mayHear(listener, audienceOf(rule), null),
    );
  }

  /** Whether a listener may hear an event at all, by the audience of the event. */
  #mayHear(listener: Listener, event: EventHead, collection: string | null): boolean {
    const audience = this.audience(event, collection);
    // The payload says whom an event of the service is about.
    if (collection === null && audience === "owner") return listener !== null;
    return mayHear(listener, audience, event.owner);
  }

  /** The logged types that may be told under some types: through a rule or a filter, an update may be told as a deletion. */
  sourcesOf(types: readonly string[], of: { collection: string | null; filter: string | null }): readonly string[] {
    const collection = this.#options.collections.get(of.collection ?? "");
    const isDecided = collection !== undefined && (of.filter !== null || this.isConditional(collection));
    return isDecided ? changeTypes(collection.name) : types;
  }

  /** An event as a replay tells the event. @throws FrameError if the filter cannot be asked any more. */
  async replayed(head: EventHead, { listener, collection: name, filter }: ReplayedTo): Promise<ReplayedEvent> {
    // The read rule may have been widened since the replay began.
    if (this.isClosedAfter(head.seq - 1, listener, name)) return "gap";
    // Through a filter, an event may also say that a record has another owner.
    if (filter === null && !this.#mayHear(listener, head, name)) return null;
    const event = this.#options.events.at(head.seq);
    if (event === null) return "gap";
    const collection = name === null ? undefined : this.#options.collections.get(name);
    if (collection !== undefined && !isOfPredecessor(event, collection)) {
      const seen = { event, listener, collection };
      const isDecided = filter !== null || (this.isConditional(collection) && !isAdmin(listener));
      // Nobody can tell any more to whom the record was open.
      if (isDecided && event.isErased) return "gap";
      return isDecided ? this.#toldByDecision(seen, filter ?? everything) : toldAs(event, this.#textByWord(seen));
    }
    if (filter !== null) return null;
    if (name === null) return toldAs(event, await this.#serviceText(event, listener));
    // The record is gone with its collection; an admin may see the logged payload.
    const isWhole = !event.isPartial || event.type.endsWith(".deleted");
    return toldAs(event, isWhole ? event.toText() : null);
  }

  /** Whether the database decides who may read a record of a collection. */
  isConditional(collection: Collection): boolean {
    return collection.policies.read.audience === "condition";
  }

  /**
   * A change by the rule, the filter and the definitions of this moment. The record after the change is told only while
   * the current record may be read and fulfils the filter. The state before the change comes from the log; if the log
   * has not kept the values, the record may have fulfilled the filter: `.deleted` is told once too often rather than
   * once too seldom.
   */
  async #toldByDecision(seen: SeenEvent, filter: FilterOfOne): Promise<Told | null> {
    const { event, listener, collection } = seen;
    const isAsLogged = !event.isPartial && event.seq > collection.logMarks.fields;
    const isDeletion = event.type.endsWith(".deleted");
    // The payload of a creation, or of an update that the log has whole, is the record.
    const logged = isAsLogged ? (event.payload as StoredRecord) : this.#now(event, listener, collection);
    const became = isDeletion ? null : logged;
    const canRead = became !== null && this.#couldRead(seen, { fields: became, owner: event.owner });
    // The former fields were read from JSON.
    const { fields, owner } = formerOf(event);
    const other = { record: fields as Fields, owner };
    const fulfils = became !== null && (await filter.holds({ record: became, owner: event.owner, other }));
    const fulfilled = await fulfilledBefore(event, { collection, filter, became, fulfils });
    const couldRead = fulfilled !== false && this.#couldReadBefore(seen, canRead);
    if (canRead && fulfils) {
      // Read after the decisions, which may have waited for a thread: rights are those of now.
      const now = this.#now(event, listener, collection);
      if (now === null) return null;
      const isSame = filter === everything || JSON.stringify(now) === JSON.stringify(became);
      // The record may have another owner by now.
      if (!isSame && !(await filter.holds(stateOf(now, recordTableOf(collection), event.owner)))) return null;
      const type = toldType(collection.name, { before: couldRead, after: true }) ?? event.type;
      if (!isAsLogged) return { type, text: event.toText(JSON.stringify(now), type) };
      return { type, text: toldText(event, type, this.#hidden(seen, now)) };
    }
    const type = `${collection.name}.deleted`;
    return couldRead ? { type, text: toldText(event, type) } : null;
  }

  /** The fields of an event's record that the listener may not read, in the record after the event or in the current record. */
  #hidden({ event, listener, collection }: SeenEvent, now: StoredRecord): ReadonlySet<string> {
    const hidden = this.#options.records.hiddenAt(collection, listener, event);
    for (const field of Object.keys(event.payload)) if (!Object.hasOwn(now, field)) hidden.add(field);
    return hidden;
  }

  /** The current record of an event; null for a deleted record, or a record closed to the listener. */
  #now({ subject }: LoggedEvent, listener: Listener, collection: Collection): StoredRecord | null {
    try {
      return this.#options.records.get(collection, listener, subject ?? "");
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code !== "unavailable") return null;
      throw thrown;
    }
  }

  /** Whether the audience of an event, and the rule in force, let a listener read the record's state at the event. */
  #couldRead({ event, listener, collection }: SeenEvent, state: EventBasis, deletedFrom?: number): boolean {
    if (!mayHear(listener, this.audience(event, collection.name), state.owner)) return false;
    if (!this.isConditional(collection)) return true;
    const decision = collection.policies.read.decide(listener);
    if (deletedFrom === undefined || decision.access !== "where")
      return this.#options.records.wasReadable(collection, listener, state);
    const condition = { table: recordTableOf(collection), expression: decision.condition };
    // The former fields were read from JSON.
    const before = { record: state.fields as Fields, owner: state.owner, deletedFrom };
    return isHeld(this.#options.readers.ask({ condition, state: before, among: listener }, unlimited), listener);
  }

  /** The records of some collections that were deleted from a seq on, as far as the log has kept the values. */
  deleted(names: readonly string[], from: number): readonly DeletedRecords[] {
    const { collections, events } = this.#options;
    const types = names.map((name) => `${name}.deleted`);
    const found = events.next(types, from);
    const known = this.#deleted.get(found);
    if (known?.epoch === collections.epoch) return known.records;
    const records = names.flatMap((name): DeletedRecords[] => {
      const collection = collections.get(name);
      if (collection === undefined) return [];
      const table = recordTableOf(collection);
      const rows = found.flatMap(({ type, seq, basis }) => {
        const isKnown = type === `${name}.deleted` && basis !== null && seq > collection.logMarks.fields;
        return isKnown ? [table.stateValues(basis.fields, basis.owner)] : [];
      });
      return rows.length === 0 ? [] : [{ table, values: JSON.stringify(rows) }];
    });
    this.#deleted.set(found, { epoch: collections.epoch, records });
    return records;
  }

  /** `#couldRead` for the state before the event. @param canRead the answer for the state after the event. */
  #couldReadBefore(seen: SeenEvent, canRead: boolean): boolean {
    const { event, collection, listener } = seen;
    if (event.type.endsWith(".created")) return false;
    const { basis } = event;
    const isDeletion = event.type.endsWith(".deleted");
    if (this.isConditional(collection)) {
      // Events from earlier versions have no former values.
      if (isDeletion && basis === null) return isAdmin(listener);
      // The log keeps nothing of the rule if the change touched no field of the rule.
      if (!isDeletion && (basis === null || !touchesReadRule(recordTableOf(collection), basis))) return canRead;
    }
    return this.#couldRead(seen, formerOf(event), event.deletedFrom);
  }

  async #serviceText(event: LoggedEvent, listener: Listener): Promise<string | null> {
    if (!mayHear(listener, this.#serviceAudience(event), subjectOf(event))) return null;
    if (event.type !== "storage.uploaded") return event.toText(reducedFor(listener, event));
    const file = this.#options.storage.find(event.subject ?? "");
    if (file === null) return null;
    // Since the upload, an admin may have changed the visibility, and a record may point to the file.
    const caller = {
      principal: listener,
      caller: (): string => shareOf(listener) ?? "",
      signal: () => new AbortController().signal,
    };
    const isShown = file.visibility === "record" && (await this.#options.storage.mayDownload(file, caller));
    return event.toText(isShown ? undefined : reducedFor(listener, event, file.visibility));
  }

  /**
   * The text of a change for a listener of its audience. A created or changed record is told with the fields that the
   * listener may read both in that state and in the current record; null if the record is deleted or closed to the
   * listener. If the log holds only the changed fields, or fields that were dropped since, the text is that of the
   * current record.
   */
  #textByWord(seen: SeenEvent): string | null {
    const { event, listener, collection } = seen;
    if (event.type.endsWith(".deleted")) return event.toText();
    const isAsLogged = !event.isPartial && event.seq > collection.logMarks.fields;
    if (isAsLogged && fieldLimits(collection, listener) === null)
      return this.#options.records.isReadable(collection, listener, event.subject ?? "") ? event.toText() : null;
    const now = this.#now(event, listener, collection);
    if (now === null) return null;
    return isAsLogged ? toldText(event, event.type, this.#hidden(seen, now)) : event.toText(JSON.stringify(now));
  }
}

/** The record before an update or a deletion, as far as the log tells. */
function formerOf({ basis, isPartial, payload, owner }: LoggedEvent): EventBasis {
  const unchanged = isPartial ? {} : payload;
  return { fields: { ...unchanged, ...basis?.fields }, owner: basis === null ? owner : basis.owner };
}

function toldAs({ type }: LoggedEvent, text: string | null): Told | null {
  return text === null ? null : { type, text };
}

type Fields = OwnedState["record"];

/** A change: the record after the change, null for a deletion, and whether that record fulfilled the filter. */
interface FilteredChange {
  readonly collection: Collection;
  readonly filter: FilterOfOne;
  readonly became: Fields | null;
  readonly fulfils: boolean;
}

/**
 * Whether a record fulfilled a filter before a change; null if the log has not kept enough to tell.
 * @throws FrameError if the filter cannot be asked any more.
 */
async function fulfilledBefore(event: LoggedEvent, change: FilteredChange): Promise<boolean | null> {
  if (event.type.endsWith(".created")) return false;
  const { basis } = event;
  const { collection, filter, became, fulfils } = change;
  // Fields may have had other names, and events from earlier versions have no former values.
  if (basis === null || event.seq <= collection.logMarks.fields) return null;
  const table = recordTableOf(collection);
  const { fields, omitted = [], owner } = basis;
  // A basis is read from JSON.
  const other = became === null ? null : { record: became, owner: event.owner };
  const state = {
    record: { ...(event.isPartial ? {} : became), ...(fields as Fields) },
    owner,
    other,
    deletedFrom: event.deletedFrom,
  };
  const asked = [...filter.columns(state)];
  const namesOf = (names: readonly string[]): Set<string> => new Set(names.map((name) => table.columnName(name)));
  const changed = namesOf([...Object.keys(fields), ...omitted]);
  if (became !== null && !asked.some((column) => changed.has(column))) return fulfils;
  const known = namesOf([...Object.keys(fields), ...(event.isPartial ? [] : Object.keys(became ?? {}))]);
  const missing = namesOf(omitted);
  if (asked.some((column) => missing.has(column) || !known.has(column))) return null;
  return filter.holds(state);
}
