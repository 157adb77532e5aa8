/**
 * Hooks before a write: the user's code sees a record as it would stand, and may change its values or refuse the write.
 *
 * Hooks are run outside of transactions, because one that waits would keep all other writes waiting. So a write with hooks
 * is tried in a transaction that looks at everything that it would look at without hooks. It is taken back where hooks have
 * not seen a record as it would stand now; they are asked, and the write is tried again with what they returned.
 */
import type { Collection } from "../collections/index.ts";
import { AppError, newId, type Principal } from "../kernel/index.ts";
import type { RecordTable } from "./record-table.ts";
import { isSameValue } from "./saved-record.ts";
import { validateBody } from "./validate.ts";

export type HookedOperation = "create" | "update" | "delete";

/** The values of a record; of one that is created, without the times that it will have. */
type Values = Readonly<Record<string, unknown>>;

/** A change that hooks are asked about. */
export interface HookedChange {
  readonly collection: string;
  readonly operation: HookedOperation;
  /** The record as it would stand; of a deletion, as it stands. */
  readonly record: Values;
  /** The record as it stands; null when there is none. */
  readonly previous: Values | null;
  readonly principal: Principal;
  /** About the bytes that it takes in memory. */
  readonly bytes: number;
  /**
   * Takes what a hook returned over, and answers the record with it, for the next hook.
   * @throws AppError `validation_error`.
   */
  readonly accept: (returned: Values) => Values;
}

/** The hooks in force. Functions implement it. */
export interface RecordHooks {
  /** Whether any collection has hooks before an operation. */
  hasAny(operation: HookedOperation): boolean;
  has(collection: string, operation: HookedOperation): boolean;
  /** Asks the hooks of a change. @throws AppError: a refusal, or `unavailable` when one of them does not answer. */
  run(change: HookedChange): Promise<void>;
}

/** A change in the transaction that tries it. */
interface Attempted {
  readonly table: RecordTable;
  readonly operation: HookedOperation;
  readonly principal: Principal;
  readonly record: Values;
  readonly previous: Values | null;
}

/** A change that hooks have not seen as it would be now. */
interface Pending extends Attempted {
  readonly seen: string;
  /** See `WriteHooks.part`. */
  readonly part: number;
}

/** A change that hooks have seen, with the values that they returned. */
interface Answered {
  readonly collection: Collection;
  readonly seen: string;
  readonly values: Values;
  /** How often hooks were asked about it. */
  readonly times: number;
}

/** A part of a write that hooks have refused, or could not decide about. */
export interface HookFailure {
  readonly part: number;
  readonly error: unknown;
}

/** Times that hooks are asked about one change. */
const maxTimes = 3;
/** Transactions that try one write. A batch may change one record again and again, and each change waits for the one before. */
const maxRounds = 32;
/** Changes of one write whose hooks are asked at a time. */
const width = 32;
/** The time after which hooks are asked about no further change of a write: the connection of the caller would end. */
const longestMs = 30_000;

/** The hooks of one write, which may be of several records, through the transactions that try it. */
export class WriteHooks {
  readonly #hooks: RecordHooks;
  readonly #toError: (failures: readonly [HookFailure, ...HookFailure[]]) => unknown;
  readonly #beganAt = performance.now();
  /** By the position of the change in the write. */
  readonly #answers = new Map<number, Answered>();
  readonly #pending = new Map<number, Pending>();
  /** The records that are in `#pending`. */
  readonly #pendingIds = new Set<unknown>();
  /** The ids of the records that are created: a hook that has seen one finds the record under it. */
  readonly #ids: string[] = [];
  #now: string | null = null;
  #position = 0;
  #created = 0;
  #rounds = 0;
  /** The part of the write that the next changes belong to: an operation of a batch. */
  part = 0;

  /** @param toError the error of a write from the failures of its parts, in their order. */
  constructor(
    hooks: RecordHooks,
    toError: (failures: readonly [HookFailure, ...HookFailure[]]) => unknown = ([first]) => first.error,
  ) {
    this.#hooks = hooks;
    this.#toError = toError;
  }

  /** A transaction begins that tries the write. */
  begin(): void {
    this.#position = 0;
    this.#created = 0;
    this.#pending.clear();
    this.#pendingIds.clear();
  }

  /** Whether hooks have to be asked before the write can be made: the transaction must be taken back. */
  get isPending(): boolean {
    return this.#pending.size > 0;
  }

  has(collection: string, operation: HookedOperation): boolean {
    return this.#hooks.has(collection, operation);
  }

  /** The id of the next record that the write creates. */
  newId(now: number): string {
    const id = this.#ids[this.#created] ?? newId("rec", now);
    this.#ids[this.#created] = id;
    this.#created += 1;
    return id;
  }

  /** The time that defaults of new records have for hooks: the same in each transaction. */
  now(timestamp: string): string {
    this.#now ??= timestamp;
    return this.#now;
  }

  /** The values that hooks have returned for the next change with hooks; none while they have to be asked. */
  valuesFor(change: Attempted): Values {
    const position = this.#position;
    this.#position += 1;
    const seen = seenOf(change);
    const answered = this.#answers.get(position);
    if (answered?.collection === change.table.collection && answered.seen === seen) return answered.values;
    const { id } = change.record;
    // The record is not known before hooks have answered about the change before, so this one is for the next round.
    if (this.#pendingIds.has(id)) return {};
    this.#pending.set(position, { ...change, seen, part: this.part });
    this.#pendingIds.add(id);
    return {};
  }

  /** Asks hooks about the changes that they have not seen. @throws AppError as `RecordHooks.run`, and `conflict`. */
  async ask(): Promise<void> {
    this.#rounds += 1;
    if (this.#rounds > maxRounds) throw changedAgain();
    const waiting = [...this.#pending];
    const failures: HookFailure[] = [];
    let isOver = false;
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined && !isOver; next = waiting.shift()) {
        const [position, change] = next;
        try {
          this.#answers.set(position, await this.#askAbout(change, this.#answers.get(position)?.times ?? 0));
        } catch (error) {
          failures.push({ part: change.part, error });
          // All problems of values are told at once.
          isOver ||= !(error instanceof AppError && error.code === "validation_error");
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(width, waiting.length) }, work));
    const [first, ...others] = failures.sort((a, b) => a.part - b.part);
    if (first !== undefined) throw this.#toError([first, ...others]);
  }

  async #askAbout(change: Pending, times: number): Promise<Answered> {
    if (times >= maxTimes) throw changedAgain();
    if (performance.now() - this.#beganAt > longestMs)
      throw new AppError("unavailable", "The hooks of the changes take too long in all. Send fewer changes at a time.");
    const { table, operation, principal, previous, seen } = change;
    const collection = table.collection.name;
    const values: Record<string, unknown> = {};
    let { record } = change;
    const accept = (returned: Values): Values => {
      if (operation === "delete") return record;
      const changed = Object.entries(returned).filter(([name, value]) => !isSameValue(value, record[name]));
      const { values: stored, problems } = validateBody(table, Object.fromEntries(changed), "update");
      if (problems.length > 0) throw AppError.validation(problems);
      for (const [name, value] of changed) values[name] = value;
      record = { ...record, ...table.decoded(stored) };
      return record;
    };
    await this.#hooks.run({ collection, operation, record, previous, principal, bytes: seen.length, accept });
    return { collection: table.collection, seen, values, times: times + 1 };
  }
}

function changedAgain(): AppError {
  return new AppError("conflict", "The record was changed again and again while hooks looked at it. Try again.");
}

/** Changes of the same values are the same to hooks: a record that the write itself has made or changed has other times in each transaction. */
function seenOf({ operation, record, previous }: Attempted): string {
  const times = { createdAt: null, updatedAt: null };
  return JSON.stringify([operation, { ...record, ...times }, previous && { ...previous, ...times }]);
}
