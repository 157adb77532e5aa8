/**
 * Tellings: the meaning of one change of a record for each listener, where the read rule is an expression, fields have rules, or
 * a filter is asked. A change that brings the record into a listener's sight is told as `.created`, one that takes it out of sight as
 * `.deleted` with the id alone.
 */
import type { StoredRecord } from "@socle/protocol";
import type { Collection } from "../collections/index.ts";
import type { LoggedEvent } from "../events/index.ts";
import type { Expression } from "../expressions/index.ts";
import { isAdmin } from "../kernel/index.ts";
import { type Audience, isOwnRecord } from "../permissions/index.ts";
import { fieldLimits, type RecordTable, recordTableOf, withoutFields } from "../records/index.ts";
import { type Listener, mayHear } from "./audience.ts";
import { eventText } from "./frames.ts";
import { Readers, type RecordState } from "./reader-table.ts";

/** The types of the changes of a collection's records. */
export function changeTypes(name: string): string[] {
  return [`${name}.created`, `${name}.updated`, `${name}.deleted`];
}

/** The type of a change for a listener: whether the record was there for them before it, and is after it; null for neither. */
export function toldType(name: string, { before, after }: { before: boolean; after: boolean }): string | null {
  if (after) return before ? `${name}.updated` : `${name}.created`;
  return before ? `${name}.deleted` : null;
}

/** The text of an event as it is told as one of another type, without some fields of its record. */
export function toldText(event: LoggedEvent, type: string, hidden: ReadonlySet<string> = nobody): string {
  if (type.endsWith(".deleted")) return event.toText(JSON.stringify({ id: event.subject }), type);
  if (hidden.size === 0) return event.toText(undefined, type);
  // The payload of a creation or update that is told is a record.
  return event.toText(JSON.stringify(withoutFields(event.payload as StoredRecord, hidden)), type);
}

/** A change that is told, and the listeners of this moment. */
interface Told {
  /** As it is told live, with the record before the change. */
  readonly event: LoggedEvent;
  readonly collection: Collection;
  /** The callers who may read the record by a rule that is a word; `condition` where it is none. */
  readonly audience: Audience;
  readonly readers: Readers;
}

const nobody: ReadonlySet<string> = new Set();

type Read = (listener: Listener) => boolean;

/**
 * One change of a record as each listener is told of it: with a type of their own where the read rule is an expression or a filter
 * is asked, and without the fields that they may not read.
 */
export class Telling {
  readonly collection: Collection;
  /** The record before the change; null for a creation. */
  readonly before: RecordState | null;
  /** The record after the change; null for a deletion. */
  readonly after: RecordState | null;
  readonly #told: Told;
  readonly #table: RecordTable;
  /** The listeners who fulfil the read rule, by the state of the record. */
  readonly #names = new Map<RecordState, ReadonlySet<string>>();
  /** The listeners for whom the condition of a field holds. */
  readonly #fulfilling = new Map<Expression, ReadonlySet<string>>();
  readonly #texts = new Map<string, string>();
  readonly #frames = new Map<string, string>();
  #couldRead: Read | null = null;
  #canRead: Read | null = null;

  constructor(told: Told) {
    this.#told = told;
    this.collection = told.collection;
    this.#table = recordTableOf(told.collection);
    this.before = beforeOf(told.event, this.#table);
    this.after = afterOf(told.event);
  }

  /** Whether a listener could read the record before the change. */
  couldRead(listener: Listener): boolean {
    this.#couldRead ??= this.#readOf(this.before);
    return this.#couldRead(listener);
  }

  /** Whether a listener can read the record after the change. */
  canRead(listener: Listener): boolean {
    this.#canRead ??= this.#readOf(this.after);
    return this.#canRead(listener);
  }

  /** The names of those who could read the record before the change or can after it; null where a word says who they are. */
  readers(): ReadonlySet<string> | null {
    if (this.#told.audience !== "condition") return null;
    return this.#namesOf(this.before).union(this.#namesOf(this.after));
  }

  /** The type as which a listener without a filter is told of the change; null where they are not. */
  typeFor(listener: Listener): string | null {
    const { event, collection, audience } = this.#told;
    if (audience !== "condition") return mayHear(listener, audience, event.owner) ? event.type : null;
    return toldType(collection.name, { before: this.couldRead(listener), after: this.canRead(listener) });
  }

  /** The frame by which a listener is told of the change. @param id of the subscription that it is for; null for none. */
  frame(type: string, listener: Listener, id: string | null = null): string {
    const hidden = type.endsWith(".deleted") ? nobody : this.#hiddenFrom(listener);
    const key = hidden.size === 0 ? type : `${type} ${[...hidden].join()}`;
    if (id !== null) return eventText(this.#text(key, type, hidden), id);
    let frame = this.#frames.get(key);
    if (frame === undefined) {
      frame = eventText(this.#text(key, type, hidden));
      this.#frames.set(key, frame);
    }
    return frame;
  }

  #text(key: string, type: string, hidden: ReadonlySet<string>): string {
    let text = this.#texts.get(key);
    if (text === undefined) {
      text = toldText(this.#told.event, type, hidden);
      this.#texts.set(key, text);
    }
    return text;
  }

  #hiddenFrom(listener: Listener): ReadonlySet<string> {
    const limits = fieldLimits(this.collection, listener);
    const state = this.after;
    if (limits === null || state === null) return nobody;
    const hidden = new Set(limits.closed);
    for (const [field, { access, condition }] of limits.conditional) {
      if (access === "own") {
        if (!isOwnRecord(listener, state.owner)) hidden.add(field);
        continue;
      }
      let fulfilling = this.#fulfilling.get(condition);
      if (fulfilling === undefined) {
        fulfilling = this.#readersOf(condition, state);
        this.#fulfilling.set(condition, fulfilling);
      }
      if (!Readers.includes(fulfilling, listener)) hidden.add(field);
    }
    return hidden;
  }

  #readOf(state: RecordState | null): Read {
    if (state === null) return () => false;
    const { audience } = this.#told;
    if (audience !== "condition") return (listener) => mayHear(listener, audience, state.owner);
    const names = this.#namesOf(state);
    return (listener) => isAdmin(listener) || Readers.includes(names, listener);
  }

  /** The names of the listeners who fulfil the read rule, which is an expression, for the record before or after the change. */
  #namesOf(state: RecordState | null): ReadonlySet<string> {
    const decision = this.collection.policies.read.decide(null);
    if (state === null || decision.access !== "where") return nobody;
    let names = this.#names.get(state);
    if (names === undefined) {
      names = this.#readersOf(decision.condition, state);
      this.#names.set(state, names);
    }
    return names;
  }

  #readersOf(expression: Expression, state: RecordState): ReadonlySet<string> {
    const { readers } = this.#told;
    return readers.of(readers.everybody, { table: this.#table, expression, isBounded: false }, state);
  }
}

function afterOf({ type, payload, owner }: LoggedEvent): RecordState | null {
  // The payload of a creation or update that is told live is the whole record.
  return type.endsWith(".deleted") ? null : { record: payload as StoredRecord, owner };
}

function beforeOf({ previous, owner }: LoggedEvent, table: RecordTable): RecordState | null {
  return previous === null ? null : stateOf(previous, table, owner);
}

/** The state of a whole record. @param owner of the record, for collections in which no field names the owner. */
export function stateOf(record: StoredRecord, table: RecordTable, owner: string | null): RecordState {
  const field = table.fields.find((each) => each.owner === true);
  if (field === undefined || !Object.hasOwn(record, field.name)) return { record, owner };
  const named = record[field.name];
  return { record, owner: typeof named === "string" ? named : null };
}
