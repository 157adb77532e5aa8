/**
 * A filter: the condition that subscriptions put on the records of a collection, for a class of callers. All
 * subscriptions with the same text share the filter, so an event is decided once for all of them: in memory if the
 * condition asks about the record alone, otherwise by a statement.
 */

import { AppError, isAdmin } from "../../base/kernel/index.ts";
import { type Collection, columnName } from "../../data/collections/index.ts";
import {
  collectionsIn,
  type Expression,
  ExpressionError,
  eachOperand,
  ownColumnsIn,
  syntaxOf,
  toPredicate,
} from "../../data/expressions/index.ts";
import { recordTableOf } from "../../data/records/index.ts";
import type { Listener } from "./audience.ts";
import { FrameError } from "./frames.ts";
import {
  type Condition,
  type ListenerGroup,
  type Names,
  type OwnedState,
  pointsToItself,
  Readers,
} from "./reader-table.ts";
import type { Answer } from "./verdicts.ts";

/** Callers for whom a filter is the same. */
type CallerClass = "nobody" | "user" | "admin";

export function classOf(listener: Listener): CallerClass {
  if (listener === null) return "nobody";
  return isAdmin(listener) ? "admin" : "user";
}

/** A text, the collection whose records the text is about, and a caller of the class. */
export interface FilterSource {
  readonly collection: string;
  readonly text: string;
  readonly listener: Listener;
}

/** The listeners whom a filter lets hear of a record: all (true), some, or not any (false). */
export type Held = boolean | Names;

/** A filter, parsed by the definitions of an epoch. */
interface Parsed {
  readonly epoch: number;
  readonly condition: Condition;
  /** Decides in memory; null if the condition asks for the caller or for other records. */
  readonly inMemory: ((state: OwnedState) => boolean) | null;
  /** The number of operands. */
  readonly operands: number;
  /** The columns of the record that the filter asks about, and their fields. */
  readonly columns: ReadonlySet<string>;
  readonly fields: readonly string[];
  /** Whether the filter asks for other records of the same collection. */
  readonly entersItself: boolean;
}

export interface FilterOptions {
  readonly readers: Readers;
  /** The collection of a name; undefined if the collection does not exist. */
  collection(name: string): Collection | undefined;
  /** Changes with the definitions. */
  readonly epoch: number;
  /** @throws ExpressionError, AppError. */
  parse(collection: Collection, listener: Listener, text: string): Expression;
}

/** The units of a filter that asks for the caller or for other records; any other filter takes 1. */
const statementCost = 10;

/**
 * Characters, times operands, that a decision in memory may look at: about a millisecond. A longer decision is made on
 * a thread.
 */
const maxInMemory = 200_000;

export class Filter {
  readonly source: FilterSource;
  /** The listeners of its subscriptions. */
  readonly listeners: ListenerGroup;
  readonly #options: FilterOptions;
  #parsed: Parsed | null = null;

  constructor(source: FilterSource, options: FilterOptions) {
    this.source = source;
    this.#options = options;
    this.listeners = options.readers.group();
  }

  /**
   * The units that the filter takes of `limits.filters`. A text that cannot be parsed yet counts as the most.
   * @throws FrameError `invalid_filter`.
   */
  cost(): number {
    const parsed = this.#parse();
    if (parsed === null) checkForm(this.source.text);
    return parsed !== null && parsed.inMemory !== null ? 1 : statementCost;
  }

  /**
   * The listeners whom the filter lets hear of a record; null is no record.
   * @param answer is asked if memory does not decide.
   * @throws FrameError `invalid_filter`; the errors of `answer`.
   */
  held(state: OwnedState | null, answer: Answer): Held {
    const parsed = state === null ? null : this.#parse();
    if (state === null || parsed === null) return false;
    const { condition, inMemory, operands, fields } = parsed;
    if (inMemory === null) return answer(condition, state);
    const isShort = operands * lengthOf(state, fields) <= maxInMemory;
    return isShort ? inMemory(state) : answer({ ...condition, isLong: true }, state);
  }

  /** The columns that the filter asks about, of a record in some state. @throws FrameError `invalid_filter`. */
  columns(state: OwnedState): ReadonlySet<string> {
    const parsed = this.#parse();
    if (parsed === null) return new Set();
    const { condition, columns, entersItself } = parsed;
    return entersItself && pointsToItself(state) ? new Set(condition.table.storedFields.map(columnName)) : columns;
  }

  /**
   * The filter by the definitions in force. Null if the collection is gone, or closed to the callers, who do not learn which
   * fields the collection has.
   */
  #parse(): Parsed | null {
    const { epoch } = this.#options;
    if (this.#parsed?.epoch === epoch) return this.#parsed;
    const { collection: name, listener, text } = this.source;
    const collection = this.#options.collection(name);
    if (collection === undefined || collection.policies.read.decide(listener).access === "none") return null;
    const expression = this.#expression(collection, listener, text);
    const condition = { table: recordTableOf(collection), expression };
    const predicate = asksRecordAlone(expression) ? toPredicate(expression) : null;
    const inMemory =
      predicate &&
      ((state: OwnedState) => predicate(state.record, { now: Date.now(), user: null, related: () => null }));
    let operands = 0;
    eachOperand(expression, () => {
      operands += 1;
    });
    const entersItself = collectionsIn(expression).has(name);
    const columns = ownColumnsIn(expression);
    const asked = condition.table.fields.filter((field) => columns.has(columnName(field)));
    const fields = asked.map(({ name: field }) => field);
    this.#parsed = { epoch, condition, inMemory, operands, columns, fields, entersItself };
    return this.#parsed;
  }

  #expression(collection: Collection, listener: Listener, text: string): Expression {
    try {
      return this.#options.parse(collection, listener, text);
    } catch (thrown) {
      throw invalid(thrown);
    }
  }
}

/** The characters of some fields of a record, about. */
function lengthOf({ record }: OwnedState, fields: readonly string[]): number {
  let length = 0;
  for (const field of fields) {
    const value = record[field];
    if (typeof value === "string") length += value.length;
    else if (typeof value === "object" && value !== null) length += JSON.stringify(value).length;
  }
  return length;
}

/** The error for a text that is no filter. The subscription adds its channel. */
function invalid(thrown: unknown): unknown {
  if (!(thrown instanceof AppError)) return thrown;
  const position = thrown instanceof ExpressionError ? thrown.offset + 1 : null;
  return new FrameError("invalid_filter", `"filter": ${thrown.message}`, { channel: null, position });
}

/** Looks at the form of a text alone. @throws FrameError `invalid_filter`. */
function checkForm(text: string): void {
  try {
    syntaxOf(text);
  } catch (thrown) {
    throw invalid(thrown);
  }
}

/** Whether a listener is among the listeners of `held`. */
export function isHeld(held: Held, listener: Listener): boolean {
  return typeof held === "boolean" ? held : Readers.includes(held, listener);
}

function asksRecordAlone(expression: Expression): boolean {
  if (collectionsIn(expression).size > 0) return false;
  let isAlone = true;
  eachOperand(expression, (operand) => {
    if (operand.type === "macro" && operand.name.startsWith("user.")) isAlone = false;
  });
  return isAlone;
}

/** A filter for the listener of a replay. */
export interface FilterOfOne {
  columns(state: OwnedState): ReadonlySet<string>;
  /** @throws FrameError if the filter cannot be asked any more. */
  holds(state: OwnedState): Promise<boolean>;
}
