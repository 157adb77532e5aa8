/**
 * Per-listener events: the event that each listener receives for a change of a record, if the read rule is an expression,
 * fields have rules, or a subscription has a filter. A listener receives `.created` for a change after which the listener
 * may read the record for the first time, and `.deleted` with the id alone for a change that ends this right.
 */
import type { StoredRecord } from "@socle/protocol";
import { isAdmin } from "../../base/kernel/index.ts";
import type { Collection } from "../../data/collections/index.ts";
import { type Audience, isOwnRecord } from "../../data/permissions/index.ts";
import { fieldLimits, type RecordTable, recordTableOf, withoutFields } from "../../data/records/index.ts";
import type { LoggedEvent } from "../../store/events/index.ts";
import { type Listener, mayHear } from "./audience.ts";
import { eventText } from "./frames.ts";
import {
  type Answer,
  type Held,
  isHeld,
  type Names,
  type OwnedState,
  type ThreadUse,
  type Verdicts,
} from "./reader-table.ts";

/** The listeners who hear of a record by a filter, before and after a change; null without a filter. */
export type Seen = readonly [before: Held, after: Held] | null;

/** The definitions have changed since a change: its text has fields that are gone. The log tells the change as a replay does. */
export class Outdated extends Error {
  override readonly name = "Outdated";
  readonly seq: number;

  constructor(seq: number) {
    super();
    this.seq = seq;
  }
}

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

const nobody: ReadonlySet<string> = new Set();
/** Callers of the classes for whom fields may have rules. */
const samples: readonly Listener[] = [null, { userId: "", role: "authenticated", sessionId: "" }];

/**
 * The events of a change of a record, one for each listener: the type depends on the listener if the read rule is an
 * expression or a subscription has a filter, and the record leaves out the fields that the listener may not read.
 */
export class PerListenerEvent {
  /** The live event, with the record before the change. */
  readonly event: LoggedEvent;
  readonly collection: Collection;
  /** The record before the change; null for a creation. */
  readonly before: OwnedState | null;
  /** The record after the change; null for a deletion. */
  readonly after: OwnedState | null;
  /** The callers with the right to read the record by a rule word; `condition` for an expression. */
  readonly #audience: Audience;
  /** The listeners that fulfil the read rule and the rules of fields. */
  readonly #answers: Verdicts;
  readonly #table: RecordTable;
  readonly #texts = new Map<string, string>();
  readonly #frames = new Map<string, string>();

  constructor(event: LoggedEvent, collection: Collection, of: { audience: Audience; answers: Verdicts }) {
    this.event = event;
    this.collection = collection;
    this.#audience = of.audience;
    this.#answers = of.answers;
    this.#table = recordTableOf(collection);
    const { type, payload, previous, owner } = event;
    const before = previous && stateOf(previous, this.#table, owner);
    // The payload of a live creation or update is the whole record.
    const after = type.endsWith(".deleted") ? null : { record: payload as StoredRecord, owner };
    this.before = before && { ...before, other: after, deletedFrom: event.deletedFrom };
    this.after = after && { ...after, other: before };
  }

  /** Forgets the readers of the record: rights count at the moment when the change is told. */
  refresh(): void {
    this.#answers.forget();
  }

  /** Asks a thread about all rules that the event loop cannot decide in time. @throws as `Verdicts.learn`. */
  learn(use: ThreadUse): Promise<void> {
    return this.#answers.learn((answer) => {
      for (const state of [this.before, this.after]) this.#namesOf(state, answer);
      for (const sample of samples) this.#hiddenFrom(sample, answer);
    }, use);
  }

  /** The names of the listeners to whom the change may be told; null for all. @throws TooSlow. */
  candidates(seen: Seen): Names | null {
    if (seen === null) {
      if (this.#audience !== "condition") return null;
      return this.#namesOf(this.before).union(this.#namesOf(this.after));
    }
    const [before, after] = seen;
    if (before === true || after === true) return null;
    return (before === false ? nobody : before).union(after === false ? nobody : after);
  }

  /** The type of the change for a listener; null for a listener that hears nothing. @throws TooSlow. */
  typeFor(listener: Listener, seen: Seen): string | null {
    const { type, owner } = this.event;
    if (seen === null && this.#audience !== "condition") return mayHear(listener, this.#audience, owner) ? type : null;
    const [before, after] = seen ?? [true, true];
    return toldType(this.collection.name, {
      before: isHeld(before, listener) && this.#mayRead(listener, this.before),
      after: isHeld(after, listener) && this.#mayRead(listener, this.after),
    });
  }

  /** The frame with the change for a listener. @param id of the subscription, or null. */
  frame(type: string, listener: Listener, id: string | null): string {
    const hidden = type.endsWith(".deleted") ? nobody : this.#hiddenFrom(listener);
    const key = hidden.size === 0 ? type : `${type} ${[...hidden].join()}`;
    const text = this.#texts.getOrInsertComputed(key, () => toldText(this.event, type, hidden));
    return id === null ? this.#frames.getOrInsertComputed(key, () => eventText(text)) : eventText(text, id);
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
          : isHeld(answer({ table: this.#table, expression: condition }, state), listener);
      if (!isOpen) hidden.add(field);
    }
    return hidden;
  }

  /** Whether a listener may read the record before or after the change. */
  #mayRead(listener: Listener, state: OwnedState | null): boolean {
    if (state === null) return false;
    if (this.#audience !== "condition") return mayHear(listener, this.#audience, state.owner);
    return isAdmin(listener) || isHeld(this.#namesOf(state), listener);
  }

  /** The listeners that fulfil a read rule with an expression, for the record before or after the change. */
  #namesOf(state: OwnedState | null, answer: Answer = this.#answers.of): Names {
    const decision = this.collection.policies.read.decide(null);
    if (state === null || decision.access !== "where") return nobody;
    return answer({ table: this.#table, expression: decision.condition }, state);
  }
}

/** The state of a whole record. @param owner of the record, for collections in which no field names the owner. */
export function stateOf(record: StoredRecord, table: RecordTable, owner: string | null): OwnedState {
  const field = table.fields.find((each) => each.owner === true);
  if (field === undefined || !Object.hasOwn(record, field.name)) return { record, owner };
  const named = record[field.name];
  return { record, owner: typeof named === "string" ? named : null };
}
