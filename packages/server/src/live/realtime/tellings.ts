/**
 * Tellings: the meaning of a change of a record for each listener, if the read rule is an expression, fields have
 * rules, or a filter is asked. A change that brings the record into a listener's sight is told as `.created`, a change
 * that takes the record out of sight as `.deleted` with the id alone.
 */
import type { StoredRecord } from "@socle/protocol";
import { isAdmin } from "../../base/kernel/index.ts";
import type { Collection } from "../../data/collections/index.ts";
import { type Audience, isOwnRecord } from "../../data/permissions/index.ts";
import { fieldLimits, type RecordTable, recordTableOf, withoutFields } from "../../data/records/index.ts";
import type { LoggedEvent } from "../../store/events/index.ts";
import { type Listener, mayHear } from "./audience.ts";
import { eventText } from "./frames.ts";
import { type Names, type OwnedState, Readers, type ThreadUse } from "./reader-table.ts";
import type { Answer, Verdicts } from "./verdicts.ts";

/** The types of the changes of a collection's records. */
export function changeTypes(name: string): string[] {
  return [`${name}.created`, `${name}.updated`, `${name}.deleted`];
}

/** The type of the change for a listener who sees the record before the change, after the change, or both; null for neither. */
export function toldType(name: string, { before, after }: { before: boolean; after: boolean }): string | null {
  if (after) return before ? `${name}.updated` : `${name}.created`;
  return before ? `${name}.deleted` : null;
}

/** The text of an event under another type, without some fields of its record. */
export function toldText(event: LoggedEvent, type: string, hidden: ReadonlySet<string> = nobody): string {
  if (type.endsWith(".deleted")) return event.toText(JSON.stringify({ id: event.subject }), type);
  if (hidden.size === 0) return event.toText(undefined, type);
  // The payload of a creation or update that is told is a record.
  return event.toText(JSON.stringify(withoutFields(event.payload as StoredRecord, hidden)), type);
}

/** A change to tell, and the present listeners. */
interface Told {
  /** The live event, with the record before the change. */
  readonly event: LoggedEvent;
  readonly collection: Collection;
  /** The callers with the right to read the record by a rule word; `condition` for an expression. */
  readonly audience: Audience;
  /** The listeners that fulfil the read rule and the rules of fields. */
  readonly answers: Verdicts;
}

const nobody: ReadonlySet<string> = new Set();
/** Callers of the classes for whom fields may have rules. */
const samples: readonly Listener[] = [null, { userId: "", role: "authenticated", sessionId: "" }];

type Read = (listener: Listener) => boolean;

/**
 * A change of a record as each listener is told of the change: with a type of the listener's own if the read rule is an
 * expression or a filter is asked, and without the fields that the listener may not read.
 */
export class Telling {
  readonly event: LoggedEvent;
  readonly collection: Collection;
  /** The record before the change; null for a creation. */
  readonly before: OwnedState | null;
  /** The record after the change; null for a deletion. */
  readonly after: OwnedState | null;
  readonly #audience: Audience;
  readonly #answers: Verdicts;
  readonly #table: RecordTable;
  readonly #texts = new Map<string, string>();
  readonly #frames = new Map<string, string>();
  #couldRead: Read | null = null;
  #canRead: Read | null = null;

  constructor({ event, collection, audience, answers }: Told) {
    this.event = event;
    this.collection = collection;
    this.#audience = audience;
    this.#answers = answers;
    this.#table = recordTableOf(collection);
    const [before, after] = [beforeOf(event, this.#table), afterOf(event)];
    this.before = before && { ...before, other: after };
    this.after = after && { ...after, other: before };
  }

  /** Forgets the readers of the record: rights count at the moment when the change is told. */
  refresh(): void {
    this.#answers.forget();
    this.#couldRead = null;
    this.#canRead = null;
  }

  /** Asks a thread about all rules that the event loop cannot decide in time. @throws as `Verdicts.learn`. */
  learn(use: ThreadUse): Promise<void> {
    return this.#answers.learn((answer) => {
      for (const state of [this.before, this.after]) this.#namesOf(state, answer);
      for (const sample of samples) this.#hiddenFrom(sample, answer);
    }, use);
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

  /** The names of the listeners that could read the record before the change or can after the change; null for a rule word. */
  readers(): Names | null {
    if (this.#audience !== "condition") return null;
    return this.#namesOf(this.before).union(this.#namesOf(this.after));
  }

  /** The type of the change for a listener without a filter; null for a listener that hears nothing. */
  typeFor(listener: Listener): string | null {
    const { type, owner } = this.event;
    if (this.#audience !== "condition") return mayHear(listener, this.#audience, owner) ? type : null;
    return toldType(this.collection.name, { before: this.couldRead(listener), after: this.canRead(listener) });
  }

  /** The frame with the change for a listener. @param id of the subscription, or null. */
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
      text = toldText(this.event, type, hidden);
      this.#texts.set(key, text);
    }
    return text;
  }

  #hiddenFrom(listener: Listener, answer: Answer = this.#answers.of): ReadonlySet<string> {
    const limits = fieldLimits(this.collection, listener);
    const state = this.after;
    if (limits === null || state === null) return nobody;
    const hidden = new Set(limits.closed);
    for (const [field, { access, condition }] of limits.conditional) {
      const isOpen =
        access === "own"
          ? isOwnRecord(listener, state.owner)
          : Readers.includes(answer({ table: this.#table, expression: condition }, state), listener);
      if (!isOpen) hidden.add(field);
    }
    return hidden;
  }

  #readOf(state: OwnedState | null): Read {
    if (state === null) return () => false;
    const audience = this.#audience;
    if (audience !== "condition") return (listener) => mayHear(listener, audience, state.owner);
    const names = this.#namesOf(state);
    return (listener) => isAdmin(listener) || Readers.includes(names, listener);
  }

  /** The listeners that fulfil a read rule with an expression, for the record before or after the change. */
  #namesOf(state: OwnedState | null, answer: Answer = this.#answers.of): Names {
    const decision = this.collection.policies.read.decide(null);
    if (state === null || decision.access !== "where") return nobody;
    return answer({ table: this.#table, expression: decision.condition }, state);
  }
}

function afterOf({ type, payload, owner }: LoggedEvent): OwnedState | null {
  // The payload of a live creation or update is the whole record.
  return type.endsWith(".deleted") ? null : { record: payload as StoredRecord, owner };
}

function beforeOf({ previous, owner }: LoggedEvent, table: RecordTable): OwnedState | null {
  return previous === null ? null : stateOf(previous, table, owner);
}

/** The state of a whole record. @param owner of the record, for collections in which no field names the owner. */
export function stateOf(record: StoredRecord, table: RecordTable, owner: string | null): OwnedState {
  const field = table.fields.find((each) => each.owner === true);
  if (field === undefined || !Object.hasOwn(record, field.name)) return { record, owner };
  const named = record[field.name];
  return { record, owner: typeof named === "string" ? named : null };
}
