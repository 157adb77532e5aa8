/**
 * A filter: the condition that subscriptions put on the records of a collection, for a class of callers. All
 * subscriptions with the same text share the filter, so an event is decided once for all of them: in memory if the
 * condition asks about the record alone, otherwise by a statement. The callers share the processor time of the filter.
 */

import { AppError } from "../../base/kernel/index.ts";
import type { LimitMeter } from "../../base/logging/index.ts";
import { type Collections, columnName } from "../../data/collections/index.ts";
import {
  collectionsIn,
  ExpressionError,
  namesCaller,
  operandsIn,
  ownColumnsIn,
  syntaxOf,
  toPredicate,
} from "../../data/expressions/index.ts";
import { parseSubscriptionFilter } from "../../data/queries/index.ts";
import { recordTableOf } from "../../data/records/index.ts";
import type { LoggedEvent } from "../../store/events/index.ts";
import { type Listener, tally } from "./audience.ts";
import { FrameError } from "./frames.ts";
import type { PerListenerEvent } from "./per-listener-events.ts";
import {
  type Answer,
  type Condition,
  type Held,
  isHeld,
  type ListenerGroup,
  type OwnedState,
  pointsToItself,
  type Question,
  type Readers,
  TooLate,
  TooSlow,
  Verdicts,
  whenFree,
} from "./reader-table.ts";
import type { Budgets, Turns } from "./turns.ts";

/** A text, the collection whose records the text is about, and a caller of the class. */
export interface FilterSource {
  readonly collection: string;
  readonly text: string;
  readonly listener: Listener;
}

/** A listener, and the caller who pays: a user id or an address. */
export interface PayingListener {
  readonly listener: Listener;
  readonly caller: string;
}

/** Does work outside of a turn, and takes another turn after that. */
export type Outside = <T>(work: () => Promise<T>) => Promise<T>;

/** A filter, parsed by the definitions of an epoch. */
interface Parsed {
  readonly epoch: number;
  readonly condition: Condition;
  /** Decides in memory; null if the condition asks for the caller or for other records. */
  readonly inMemory: ((state: OwnedState) => boolean) | null;
  readonly operands: number;
  /** The columns of the record that the filter asks about, and their fields. */
  readonly columns: ReadonlySet<string>;
  readonly fields: readonly string[];
  /** Whether the filter asks for other records of the same collection. */
  readonly entersItself: boolean;
}

/** The parts that all filters and listener classes share. */
export interface FilterOptions {
  readonly collections: Collections;
  readonly readers: Readers;
  readonly limits: LimitMeter;
  readonly budgets: Budgets;
  readonly turns: Turns;
  /** Units of filters that a collection may have. Collections that do not exist share the same number. */
  readonly capacity: number;
  /** A change by the definitions and rules of this moment; null if its collection is gone. @throws Outdated. */
  telling(event: LoggedEvent): PerListenerEvent | null;
}

/** The units of a filter that asks for the caller or for other records; any other filter takes 1. */
const statementCost = 10;
/** Characters, times operands, of a decision in memory: about a millisecond. A longer decision is made on a thread. */
const maxInMemory = 200_000;
/** Milliseconds that a decision may take on the event loop. */
const loopMs = 4;
/** A decision of a thread that takes less is for the event loop again. */
export const quickMs = 2;
/** Milliseconds of processor time that a filter may use for each of its callers before the callers are charged. */
const chargeMs = 0.1;

export class Filter {
  readonly source: FilterSource;
  /** Units of `limits.filters`; the most for a text that cannot be parsed before its collection exists. */
  readonly cost: number;
  /** Subscriptions, live or not, by caller. */
  readonly callers = new Map<string, number>();
  readonly #options: FilterOptions;
  readonly #listeners: ListenerGroup;
  #parsed: Parsed | null = null;
  /** Milliseconds that the callers are still to be charged with. */
  #owed = 0;
  /** Whether the last decision of a replay was too long for the event loop. */
  #isSlow = false;

  /** @throws FrameError `invalid_filter`. */
  constructor(source: FilterSource, options: FilterOptions) {
    this.source = source;
    this.#options = options;
    const parsed = this.#parse();
    if (parsed === null) refusingInvalid(() => syntaxOf(source.text));
    this.cost = parsed !== null && parsed.inMemory !== null ? 1 : statementCost;
    this.#listeners = options.readers.group();
  }

  add({ listener, caller }: PayingListener): void {
    tally(this.callers, caller, 1);
    this.#listeners.add(listener);
  }

  remove({ listener, caller }: PayingListener): void {
    this.#listeners.remove(listener);
    tally(this.callers, caller, -1);
  }

  /** The caller with processor time left, or with the shortest wait: a filter of many callers waits only if all callers wait. */
  payer(): { caller: string; wait: number } {
    let first = { caller: "", wait: 0 };
    for (const caller of this.callers.keys()) {
      const wait = this.#options.budgets.waitOf(caller);
      if (first.caller === "" || wait < first.wait) first = { caller, wait };
      if (wait === 0) break;
    }
    return first;
  }

  /** Answers about a group of listeners, or about a single listener. By default, about the listeners of the subscriptions. */
  answers(among: Question["among"] = this.#listeners): Verdicts {
    return new Verdicts(this.#options.readers, { among, ms: loopMs });
  }

  /**
   * The listeners for whom the filter holds before and after a change. The callers pay for the decision.
   * @throws TooSlow; FrameError `invalid_filter`.
   */
  decide({ before, after }: PerListenerEvent, answers: Verdicts): [Held, Held] {
    const start = performance.now();
    try {
      return [this.#held(before, answers.of), this.#held(after, answers.of)];
    } finally {
      this.#charge(performance.now() - start);
    }
  }

  /**
   * Has a thread decide about some states of a record. Answers the milliseconds that the thread took.
   * @throws as `Verdicts.learn`.
   */
  async learn(answers: Verdicts, states: readonly (OwnedState | null)[], caller: string): Promise<number> {
    let took = 0;
    const charge = (ms: number): void => {
      took += ms;
      this.#charge(ms);
    };
    const use = { caller, limitMs: this.#options.budgets.decisionMs, charge };
    await answers.learn((answer) => {
      for (const state of states) this.#held(state, answer);
    }, use);
    return took;
  }

  /**
   * Whether the filter holds for a listener, in a replay. @param outside waits outside of the replay's turn.
   * @throws FrameError `invalid_filter`, `filter_too_expensive`.
   */
  async holds(state: OwnedState, one: PayingListener, outside: Outside): Promise<boolean> {
    const { caller, listener } = one;
    const { budgets, collections } = this.#options;
    for (let wait = budgets.waitOf(caller); wait > 0; wait = budgets.waitOf(caller))
      await outside(() => Bun.sleep(wait));
    const { epoch } = collections;
    const answers = this.answers(listener);
    const decide = (): boolean => isHeld(this.#held(state, answers.of), listener);
    const start = performance.now();
    try {
      if (!this.#isSlow) return decide();
    } catch (thrown) {
      if (!(thrown instanceof TooSlow)) throw thrown;
    } finally {
      budgets.charge(caller, performance.now() - start);
    }
    try {
      this.#isSlow = (await outside(() => whenFree(() => this.learn(answers, [state], caller)))) > quickMs;
      return decide();
    } catch (thrown) {
      // A statement of former definitions is made anew.
      if (epoch !== collections.epoch) return this.holds(state, one, outside);
      throw this.errorOf(thrown);
    }
  }

  /** The columns that the filter asks about, of a record in some state. @throws FrameError `invalid_filter`. */
  columns(state: OwnedState): ReadonlySet<string> {
    const parsed = this.#parse();
    if (parsed === null) return new Set();
    const { condition, columns, entersItself } = parsed;
    return entersItself && pointsToItself(state) ? new Set(condition.table.storedFields.map(columnName)) : columns;
  }

  /** The error that the clients of the filter get: the cost, and the remedy. */
  errorOf(reason: unknown): unknown {
    const { budgets, limits } = this.#options;
    if (!(reason instanceof TooSlow || reason instanceof TooLate)) return reason;
    limits.reached("filterTime", { collection: this.source.collection });
    const cost =
      reason instanceof TooSlow
        ? `takes more than ${budgets.decisionMs} ms to decide about one change`
        : "waits for processor time, which the filters of its callers have used up";
    const remedy = `Narrow the filter down to fewer and shorter records, or use fewer filters. The filters of a caller may take ${budgets.perSecond} ms of processor time a second.`;
    return new FrameError("filter_too_expensive", `The filter ${cost}, and its subscription has ended. ${remedy}`);
  }

  #charge(ms: number): void {
    this.#owed += ms;
    const part = this.#owed / Math.max(1, this.callers.size);
    if (part < chargeMs) return;
    this.#owed = 0;
    for (const caller of this.callers.keys()) this.#options.budgets.charge(caller, part);
  }

  /**
   * The listeners whom the filter lets hear of a record; null is no record.
   * @param answer is asked if memory does not decide.
   */
  #held(state: OwnedState | null, answer: Answer): Held {
    const parsed = state === null ? null : this.#parse();
    if (state === null || parsed === null) return false;
    const { condition, inMemory, operands, fields } = parsed;
    if (inMemory === null) return answer(condition, state);
    const isShort = operands * lengthOf(state, fields) <= maxInMemory;
    return isShort ? inMemory(state) : answer({ ...condition, isLong: true }, state);
  }

  /** By the definitions in force. Null if the collection is gone, or closed to the callers, who must not learn its fields. */
  #parse(): Parsed | null {
    const { collections } = this.#options;
    const { epoch } = collections;
    if (this.#parsed?.epoch === epoch) return this.#parsed;
    const { collection: name, listener, text } = this.source;
    const collection = collections.get(name);
    if (collection === undefined || collection.policies.read.decide(listener).access === "none") return null;
    const expression = refusingInvalid(() => parseSubscriptionFilter({ collections, collection }, listener, text));
    const others = collectionsIn(expression);
    const condition = { table: recordTableOf(collection), expression };
    const asksRecordAlone = !namesCaller(expression) && others.size === 0;
    const predicate = asksRecordAlone ? toPredicate(expression) : null;
    const inMemory =
      predicate &&
      ((state: OwnedState) => predicate(state.record, { now: Date.now(), user: null, related: () => null }));
    const operands = operandsIn(expression).length;
    const entersItself = others.has(name);
    const columns = ownColumnsIn(expression);
    const asked = condition.table.fields.filter((field) => columns.has(columnName(field)));
    const fields = asked.map(({ name: field }) => field);
    this.#parsed = { epoch, condition, inMemory, operands, columns, fields, entersItself };
    return this.#parsed;
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

/** Parses a filter. @throws FrameError `invalid_filter`; the subscription adds its channel. */
function refusingInvalid<T>(parse: () => T): T {
  try {
    return parse();
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown;
    const position = thrown instanceof ExpressionError ? thrown.offset + 1 : null;
    throw new FrameError("invalid_filter", `"filter": ${thrown.message}`, { channel: null, position });
  }
}
