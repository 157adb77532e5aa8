/**
 * Hooks before a write: the user's code sees the record after the write, and may change the values or refuse the write.
 *
 * Hooks run outside of transactions, because a waiting hook would hold up all other writes. A write with hooks is tried in
 * a transaction with every check, and rolled back if hooks have not seen the resulting record. The hooks are asked, and the
 * write is tried again with the returned values.
 */
import { AppError, newId, type Principal } from "../../base/kernel/index.ts";
import type { Collection } from "../collections/index.ts";
import { validateBody } from "./preparation.ts";
import { isSameValue } from "./record-effects.ts";
import type { RecordTable } from "./record-table.ts";
import { type Earlier, noTimes, type RecordValues, WrittenRecords } from "./written-records.ts";

export type HookedOperation = "create" | "update" | "delete";

export interface HookedChange {
  readonly collection: string;
  readonly operation: HookedOperation;
  /** The record after the write; for a deletion, the stored record. */
  readonly record: RecordValues;
  /** The stored record; null for a create. */
  readonly previous: RecordValues | null;
  readonly principal: Principal;
  /** The caller whose share the hooks take: a user id or an address. */
  readonly caller: string;
  /** Null outside of a batch. */
  readonly earlier: Earlier | null;
  /** The approximate bytes of the change in memory. */
  readonly bytes: number;
  /**
   * Takes the values that a hook returned, and answers the record for the next hook.
   * @throws AppError `validation_error`.
   */
  readonly accept: (returned: RecordValues) => RecordValues;
}

/** The hooks in force. `Functions` implements `RecordHooks`. */
export interface RecordHooks {
  /** The collections with hooks, by operation. */
  readonly hooked: { readonly [operation in HookedOperation]: ReadonlySet<string> };
  /** Asks the hooks of a change. @throws AppError `unavailable` when a hook does not answer, and `conflict`. */
  run(change: HookedChange): Promise<HookDecision>;
}

/** The decision of the hooks of a change, with the reads by which the hooks have decided. */
export interface HookDecision {
  /** The refusal of a hook; null when all hooks let the change pass. */
  readonly refusal: AppError | null;
  /** Whether a hook has looked at `earlier`. */
  readonly usesEarlier: boolean;
  /** Whether the hooks have decided by reads. */
  readonly hasReads: boolean;
  /** As `changed`, outside of a transaction, where the look takes no time of other writes. */
  refresh(): Promise<string | null>;
  /**
   * The key of a read that would be answered otherwise now; null if each answer would be the same. For a long transaction.
   * @param until the time (`performance.now`) after which no read is made again: other versions then count as changed.
   */
  changed(until: number): Promise<string | null>;
}

/** A change, in the form that a transaction tries. */
interface Attempted {
  readonly table: RecordTable;
  readonly operation: HookedOperation;
  readonly principal: Principal;
  readonly record: RecordValues;
  readonly previous: RecordValues | null;
}

/** A change with a record that hooks have not seen yet. */
interface Pending extends Attempted {
  readonly seen: string;
  readonly earlier: Earlier | null;
  /** The hash of `earlier`. */
  readonly earlierHash: bigint;
  /** See `WriteHooks.startPart`. */
  readonly part: number;
}

/** A change with a record that hooks have seen, and the returned values. */
interface Answered {
  readonly collection: Collection;
  readonly seen: string;
  readonly values: RecordValues;
  /** The returned values, as in the record. */
  readonly shown: RecordValues;
  /** The problems of a row of an import that a hook has refused; null for a change that may be made. */
  readonly refusal: AppError | null;
  /** The hash of the earlier records; null when no hook has looked at the earlier records. */
  readonly earlierHash: bigint | null;
  /** Null without reads. */
  readonly reads: HookDecision | null;
  /** The key of the turn of the record. */
  readonly key: string;
  /** How often hooks were asked about the change. */
  readonly times: number;
}

/** A part of a write that hooks have refused or have not decided. */
export interface HookFailure {
  readonly part: number;
  readonly error: unknown;
}

/** The most questions about a change. */
const maxTimes = 20;
/** The time for which a transaction looks at the reads of hooks, in milliseconds. */
const lookMs = 250;
/** The most transactions of a write. A batch may change a record many times, and each change waits for the change before. */
const maxRounds = 64;
/** The most changes of a write about which hooks are asked at the same time. */
const width = 32;
/** The time after which no further hooks of a write are asked: the caller's connection would end. */
const longestMs = 30_000;

/** The hooks of a write, which may change several records, over all transactions of the write. */
export class WriteHooks {
  readonly #hooks: RecordHooks;
  readonly #toError: (failures: readonly HookFailure[]) => unknown;
  readonly #beganAt = performance.now();
  /** The answered changes, by position in the write. */
  readonly #answers = new Map<number, Answered>();
  readonly #pending = new Map<number, Pending>();
  readonly #pendingIds = new Set<unknown>();
  /** The records that this transaction has written, by collection. */
  readonly #written = new Map<string, WrittenRecords>();
  /** The ids of new records: hooks see the id that the record will have. */
  readonly #ids: string[] = [];
  #now: string | null = null;
  #position = 0;
  #created = 0;
  #rounds = 0;
  #conflict: string | null = null;
  /** The part of the write that the next changes belong to: an operation of a batch, or a row of an import. */
  #part = 0;
  readonly #kind: "single" | "batch" | "import";

  /**
   * @param kind of an import, a refused row is left out: `valuesFor` throws the refusal.
   * @param toError the error of a batch from the failures of the parts, in order.
   */
  constructor(
    hooks: RecordHooks,
    kind: "single" | "batch" | "import",
    toError: (failures: readonly HookFailure[]) => unknown = ([first]) => first?.error,
  ) {
    this.#hooks = hooks;
    this.#kind = kind;
    this.#toError = toError;
  }

  /** Begins a transaction that tries the write. */
  begin(): void {
    this.#written.clear();
    this.#position = 0;
    this.#created = 0;
    this.#pending.clear();
    this.#pendingIds.clear();
  }

  /** Whether hooks must be asked before the write can be made: the transaction must be rolled back. */
  get isPending(): boolean {
    return this.#pending.size > 0;
  }

  /** Whether hooks must be asked about the only change of the write: the rest of the transaction tells nothing more. */
  get waitsAlone(): boolean {
    return this.#kind === "single" && this.isPending;
  }

  /** Whether hooks have decided by reads. */
  get hasReads(): boolean {
    return this.#answers.values().some(({ reads }) => reads !== null);
  }

  /** The keys of the turns of the changed records. */
  get written(): readonly string[] {
    return [...this.#answers.values()].map(({ key }) => key);
  }

  /** The key of a record or read that others have changed since the last call; null without a change. */
  takeConflict(): string | null {
    const key = this.#conflict;
    this.#conflict = null;
    return key;
  }

  /** Looks at the reads of the hooks again, before a long transaction. Hooks with a read that has changed are asked again. */
  refresh(): Promise<void> {
    return this.#lookAt((reads) => reads.refresh());
  }

  /** Looks at the reads of the hooks again, before the first change of a long transaction: other writes wait meanwhile. */
  look(): Promise<void> {
    const until = performance.now() + lookMs;
    return this.#lookAt((reads) => reads.changed(until));
  }

  async #lookAt(look: (reads: HookDecision) => Promise<string | null>): Promise<void> {
    for (const [position, answered] of this.#answers) {
      const key = answered.reads === null ? null : await look(answered.reads);
      if (key === null) continue;
      this.#conflict = key;
      // No change looks like this: the hooks are asked again, and the number of the questions stays.
      this.#answers.set(position, { ...answered, seen: "", reads: null });
    }
  }

  /** The next changes belong to a part. A row of an import is a change at most, so the place of the row stays, whatever rows are left out. */
  startPart(part: number): void {
    this.#part = part;
    if (this.#kind !== "import") return;
    this.#position = part;
    this.#created = part;
  }

  has(collection: string, operation: HookedOperation): boolean {
    return this.#hooks.hooked[operation].has(collection);
  }

  /** The id of the next record that the write creates. */
  newId(now: number): string {
    const id = this.#ids[this.#created] ?? newId("rec", now);
    this.#ids[this.#created] = id;
    this.#created += 1;
    return id;
  }

  /** The time of the defaults of new records in hooks: the same in each transaction. */
  now(timestamp: string): string {
    this.#now ??= timestamp;
    return this.#now;
  }

  /** Notes a record that the write has made, changed or deleted, for the hooks of the later parts. */
  wrote(collection: string, id: string, record: RecordValues | null): void {
    if (this.#kind !== "single")
      this.#written.getOrInsertComputed(collection, () => new WrittenRecords()).add({ id, record });
  }

  /**
   * The returned values for the next change with hooks; empty while hooks must be asked.
   * @throws AppError `validation_error` for a row of an import that a hook has refused.
   */
  valuesFor(change: Attempted): RecordValues {
    const position = this.#position;
    this.#position += 1;
    const seen = seenOf(change);
    const answered = this.#answers.get(position);
    const written = this.#written.get(change.table.collection.name);
    const earlierHash = written?.hash ?? 0n;
    const isSame = answered?.collection === change.table.collection && answered.seen === seen;
    const isAnswered = isSame && (answered.earlierHash ?? earlierHash) === earlierHash;
    const { id } = change.record;
    // The hooks of an earlier change of this record have not answered, so the record is unknown: the next round asks.
    if (!isAnswered && !this.#pendingIds.has(id)) {
      // Others have changed the record since the hooks have seen the record.
      if (answered !== undefined && answered.seen !== seen) this.#conflict ??= answered.key;
      const records = written?.records ?? [];
      const earlier = this.#kind === "single" ? null : { records, length: records.length };
      this.#pending.set(position, { ...change, seen, earlier, earlierHash, part: this.#part });
      this.#pendingIds.add(id);
    }
    // Hooks that are asked about a refused row again will mostly refuse the row again: later rows see the records without the row.
    if (isSame && answered.refusal !== null) throw answered.refusal;
    return isAnswered ? answered.values : {};
  }

  /**
   * Asks hooks about the pending changes. @param caller see `HookedChange`.
   * @throws AppError as `RecordHooks.run`, a refusal, and `conflict`.
   */
  async ask(caller: string): Promise<void> {
    this.#rounds += 1;
    if (this.#rounds > maxRounds + this.#position) throw changedAgain();
    const pending = [...this.#pending];
    const unseen = pending.filter(([position, { seen }]) => this.#answers.get(position)?.seen !== seen);
    // Hooks that have seen other earlier records are asked in order: each answer changes the earlier records of the next change.
    const asking = unseen.length > 0 ? new Map(unseen) : new Map(pending);
    const written = new Map<string, AnsweredRecords>();
    const failures: HookFailure[] = [];
    let isOver = false;
    const waiting = asking.entries();
    const work = async (): Promise<void> => {
      for (const [position, change] of waiting) {
        if (isOver) return;
        const { name } = change.table.collection;
        const before = unseen.length > 0 ? null : written.getOrInsertComputed(name, () => new AnsweredRecords());
        try {
          const answered = await this.#askAbout(before?.of(change) ?? change, this.#answers.get(position), caller);
          this.#answers.set(position, answered);
          before?.pass(change, answered);
        } catch (error) {
          failures.push({ part: change.part, error });
          // All problems of values are reported at once.
          isOver ||= !(error instanceof AppError && error.code === "validation_error");
        }
      }
    };
    await Promise.all(Array.from({ length: unseen.length > 0 ? width : 1 }, work));
    if (failures.length > 0) throw this.#toError(failures.sort((a, b) => a.part - b.part));
  }

  async #askAbout(change: Pending, before: Answered | undefined, caller: string): Promise<Answered> {
    const times = before?.times ?? 0;
    if (times >= maxTimes) throw changedAgain();
    if (this.#kind !== "import" && performance.now() - this.#beganAt > longestMs)
      throw new AppError("unavailable", "The hooks of the changes take too long in all. Send fewer changes at a time.");
    const { table, operation, principal, previous, seen, earlier, earlierHash } = change;
    const collection = table.collection.name;
    const values: Record<string, unknown> = {};
    const shown: Record<string, unknown> = {};
    let { record } = change;
    const accept = (returned: RecordValues): RecordValues => {
      if (operation === "delete") return record;
      const changed = Object.entries(returned).filter(([name, value]) => !isSameValue(value, record[name]));
      const { values: stored, problems } = validateBody(table, Object.fromEntries(changed), "update");
      if (problems.length > 0) throw AppError.validation(problems);
      for (const [name, value] of changed) values[name] = value;
      Object.assign(shown, table.decoded(stored));
      record = { ...record, ...shown };
      return record;
    };
    const asked = { collection, operation, record, previous, principal, caller, earlier, bytes: seen.length, accept };
    const found = await this.#hooks.run(asked);
    if (found.refusal !== null && this.#kind !== "import") throw found.refusal;
    const refusal = found.refusal && refusedRow(found.refusal);
    const reads = !found.hasReads || refusal !== null ? null : found;
    const key = `${collection}/${String(record["id"])}`;
    // Other earlier records are the doing of the write itself.
    const asks = before?.seen === seen ? times : times + 1;
    const seenEarlier = found.usesEarlier ? earlierHash : null;
    const answer = { collection: table.collection, seen, values, shown, refusal };
    return { ...answer, earlierHash: seenEarlier, reads, key, times: asks };
  }
}

/** The refusal of a row of an import, as problems of the row. */
function refusedRow({ details, message }: AppError): AppError {
  return AppError.validation(details ?? [{ field: "", rule: "refused", message }]);
}

/** The earlier records of the next change of a collection, as the answers about the changes before leave the records. */
class AnsweredRecords {
  readonly #written = new WrittenRecords();
  /** The number of the records of the transaction that are passed. */
  #passed = 0;

  /** A change with the earlier records as answered. */
  of(change: Pending): Pending {
    const { records = [], length = 0 } = change.earlier ?? {};
    for (const record of records.slice(this.#passed, length)) this.#written.add(record);
    this.#passed = length;
    const { hash } = this.#written;
    return {
      ...change,
      earlier: { records: this.#written.records, length: this.#written.records.length },
      earlierHash: hash,
    };
  }

  /** Adds the record of a change whose hooks have answered. */
  pass({ earlier, record }: Pending, { refusal, shown }: Answered): void {
    const id = String(record["id"]);
    // The transaction has written the record without the answer, unless the row was refused before.
    const written = earlier?.records[this.#passed];
    if (written?.id === id) this.#passed += 1;
    const now = written?.id === id ? written.record : record;
    if (refusal === null) this.#written.add({ id, record: now && { ...now, ...shown } });
  }
}

function changedAgain(): AppError {
  return new AppError(
    "conflict",
    "The record, or a record that the hooks read, was changed by others again and again. Try again later.",
    { retryAfter: 1 },
  );
}

/**
 * Changes of the same values are the same to hooks: a record that the write has made or changed has other times in each
 * transaction.
 */
function seenOf({ operation, record, previous }: Attempted): string {
  return JSON.stringify([operation, { ...record, ...noTimes }, previous && { ...previous, ...noTimes }]);
}
