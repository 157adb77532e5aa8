/**
 * A filter: the condition that subscriptions put on the records of a collection, for one class of callers. All subscriptions with the
 * same text share it, so an event is decided once for all of them: in memory where the condition asks about the record alone, else by
 * one statement.
 */
import type { Collection } from "../collections/index.ts";
import {
  checkSyntaxOf,
  collectionsIn,
  type Expression,
  ExpressionError,
  eachOperand,
  ownColumnsIn,
  toPredicate,
} from "../expressions/index.ts";
import { AppError, isAdmin } from "../kernel/index.ts";
import { recordTableOf } from "../records/index.ts";
import type { Listener } from "./audience.ts";
import { FrameError } from "./frames.ts";
import {
  type Condition,
  type ListenerGroup,
  maxVisits,
  Readers,
  type RecordState,
  TooManyVisits,
} from "./reader-table.ts";

/** Callers for whom a filter is the same. */
export type CallerClass = "nobody" | "user" | "admin";

export function classOf(listener: Listener): CallerClass {
  if (listener === null) return "nobody";
  return isAdmin(listener) ? "admin" : "user";
}

/** A text, the collection whose records it is about, and somebody of the class of its callers. */
export interface FilterSource {
  readonly collection: string;
  readonly text: string;
  readonly listener: Listener;
}

/** The listeners whom a filter lets hear of a record: all of them, none, or a set of `Readers`. */
export type Held = boolean | ReadonlySet<string>;

/** A filter as it was parsed by the definitions of one epoch. */
interface Parsed {
  readonly epoch: number;
  readonly condition: Condition;
  /** Decides in memory; null where the condition asks for the caller or for other records. */
  readonly inMemory: ((state: RecordState) => boolean) | null;
  /** The columns of the record that it asks about. */
  readonly columns: ReadonlySet<string>;
}

export interface FilterOptions {
  readonly readers: Readers;
  /** The collection of a name; undefined where there is none. */
  collection(name: string): Collection | undefined;
  /** Changes with the definitions. */
  readonly epoch: number;
  /** @throws ExpressionError, AppError. */
  parse(collection: Collection, listener: Listener, text: string): Expression;
}

/** The units of a filter that asks for the caller or for other records; that of any other is 1. */
const statementCost = 10;

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
   * The units that it takes of `limits.filters`. A text that cannot be parsed yet counts as the most.
   * @throws FrameError `invalid_filter`.
   */
  cost(): number {
    const parsed = this.#parse();
    if (parsed === null) checkForm(this.source.text);
    return parsed !== null && parsed.inMemory !== null ? 1 : statementCost;
  }

  /**
   * The listeners of its subscriptions whom it lets hear of a record; null is no record.
   * @throws FrameError `invalid_filter`, `filter_limit`.
   */
  held(state: RecordState | null): Held {
    const parsed = state === null ? null : this.#parse();
    if (state === null || parsed === null) return false;
    if (parsed.inMemory !== null) return parsed.inMemory(state);
    const { readers } = this.#options;
    return this.#bounded(() => readers.of(this.listeners, parsed.condition, state));
  }

  /**
   * Whether it lets one listener hear of a record.
   * @throws FrameError `invalid_filter`, `filter_limit`.
   */
  holds(state: RecordState, listener: Listener): boolean {
    const parsed = this.#parse();
    if (parsed === null) return false;
    if (parsed.inMemory !== null) return parsed.inMemory(state);
    return this.#bounded(() => this.#options.readers.holds(parsed.condition, state, listener));
  }

  /** The columns of the record that it asks about. @throws FrameError `invalid_filter`. */
  columns(): ReadonlySet<string> {
    return this.#parse()?.columns ?? new Set();
  }

  /**
   * The filter by the definitions in force. Null where the collection is not there, or closed to the callers: they are not told
   * which fields it has.
   */
  #parse(): Parsed | null {
    const { epoch } = this.#options;
    if (this.#parsed?.epoch === epoch) return this.#parsed;
    const { collection: name, listener, text } = this.source;
    const collection = this.#options.collection(name);
    if (collection === undefined || collection.policies.read.decide(listener).access === "none") return null;
    const expression = this.#expression(collection, listener, text);
    const condition = { table: recordTableOf(collection), expression, isBounded: true };
    const predicate = asksRecordAlone(expression) ? toPredicate(expression) : null;
    const inMemory =
      predicate &&
      ((state: RecordState) => predicate(state.record, { now: Date.now(), user: null, related: () => null }));
    this.#parsed = { epoch, condition, inMemory, columns: ownColumnsIn(expression) };
    return this.#parsed;
  }

  #expression(collection: Collection, listener: Listener, text: string): Expression {
    try {
      return this.#options.parse(collection, listener, text);
    } catch (thrown) {
      throw invalid(thrown);
    }
  }

  #bounded<T>(decide: () => T): T {
    try {
      return decide();
    } catch (thrown) {
      if (!(thrown instanceof TooManyVisits)) throw thrown;
      const message = `The filter looks at more than ${maxVisits} records to decide about one, and its subscription has ended.`;
      throw new FrameError("filter_limit", message);
    }
  }
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
    checkSyntaxOf(text);
  } catch (thrown) {
    throw invalid(thrown);
  }
}

/** Whether a listener is among those of `held`. */
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
