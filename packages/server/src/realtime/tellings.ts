/**
 * Tellings: what one change of a record means to each listener, where the read rule is an expression, or fields have rules. A
 * change that brings the record into a listener's sight is told as `.created`, one that takes it out of sight as `.deleted` with
 * the id alone.
 */
import type { StoredRecord } from "@socle/protocol";
import type { Collection } from "../collections/index.ts";
import type { LoggedEvent } from "../events/index.ts";
import type { Expression } from "../expressions/index.ts";
import { type Audience, isOwnRecord } from "../permissions/index.ts";
import { fieldLimits, type RecordTable, recordTableOf, withoutFields } from "../records/index.ts";
import { type Listener, mayHear } from "./audience.ts";
import { eventText } from "./frames.ts";
import { Readers, type RecordState } from "./readers.ts";

/** The types of the changes of a collection's records. */
export function changeTypes(name: string): string[] {
  return [`${name}.created`, `${name}.updated`, `${name}.deleted`];
}

/** The type as which a change is told to a listener who could read the record before it or can after it; null for neither. */
function toldType(name: string, couldRead: boolean, canRead: boolean): string | null {
  if (canRead) return couldRead ? `${name}.updated` : `${name}.created`;
  return couldRead ? `${name}.deleted` : null;
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
  readonly event: LoggedEvent;
  readonly collection: Collection;
  /** The callers who may read the record by a rule that is a word; `condition` where it is none. */
  readonly audience: Audience;
  readonly readers: Readers;
}

/**
 * One change of a record as each listener, who is no admin, is told of it: with a type of their own where the read rule is an
 * expression, and without the fields that they may not read.
 */
export class Tellings {
  readonly #told: Told;
  readonly #table: RecordTable;
  /** The record after the change; null where it is gone. */
  readonly #state: RecordState | null;
  readonly #before: ReadonlySet<string>;
  readonly #after: ReadonlySet<string>;
  /** The listeners for whom the condition of a field holds. */
  readonly #fulfilling = new Map<Expression, ReadonlySet<string>>();
  readonly #texts = new Map<string, string>();

  /** @param told.event as it is told live, with the record before the change. */
  constructor(told: Told) {
    const { event, collection, audience, readers } = told;
    this.#told = told;
    this.#table = recordTableOf(collection);
    const decision = collection.policies.read.decide(null);
    const condition = audience === "condition" && decision.access === "where" ? decision.condition : null;
    const readersOf = (state: RecordState | null): ReadonlySet<string> =>
      state === null || condition === null ? nobody : readers.of(this.#table, condition, state);
    this.#state = afterOf(event);
    this.#before = condition === null ? nobody : readersOf(beforeOf(event, this.#table));
    this.#after = readersOf(this.#state);
  }

  /** The type as which a listener is told of the change; null where they are not. */
  typeFor(listener: Listener): string | null {
    const { event, collection, audience } = this.#told;
    const { type, owner } = event;
    if (audience !== "condition") return mayHear(listener, type, { audience, owner }) ? type : null;
    return toldType(collection.name, Readers.includes(this.#before, listener), Readers.includes(this.#after, listener));
  }

  /** The frame by which a listener is told of the change. */
  text(type: string, listener: Listener): string {
    const hidden = type.endsWith(".deleted") ? nobody : this.#hiddenFrom(listener);
    const key = hidden.size === 0 ? type : `${type} ${[...hidden].join()}`;
    let text = this.#texts.get(key);
    if (text === undefined) {
      text = eventText(toldText(this.#told.event, type, hidden));
      this.#texts.set(key, text);
    }
    return text;
  }

  #hiddenFrom(listener: Listener): ReadonlySet<string> {
    const { collection, readers } = this.#told;
    const limits = fieldLimits(collection, listener);
    const state = this.#state;
    if (limits === null || state === null) return nobody;
    const hidden = new Set(limits.closed);
    for (const [field, { access, condition }] of limits.conditional) {
      if (access === "own") {
        if (!isOwnRecord(listener, state.owner)) hidden.add(field);
        continue;
      }
      let fulfilling = this.#fulfilling.get(condition);
      if (fulfilling === undefined) {
        fulfilling = readers.of(this.#table, condition, state);
        this.#fulfilling.set(condition, fulfilling);
      }
      if (!Readers.includes(fulfilling, listener)) hidden.add(field);
    }
    return hidden;
  }
}

const nobody: ReadonlySet<string> = new Set();

function afterOf({ type, payload, owner }: LoggedEvent): RecordState | null {
  // The payload of a creation or update that is told live is the whole record.
  return type.endsWith(".deleted") ? null : { record: payload as StoredRecord, owner };
}

function beforeOf({ previous, owner }: LoggedEvent, table: RecordTable): RecordState | null {
  if (previous === null) return null;
  const ownerField = table.fields.find((field) => field.owner === true);
  const shown = ownerField === undefined ? owner : (previous[ownerField.name] ?? null);
  return { record: previous, owner: typeof shown === "string" ? shown : null };
}
