/** Queue of the writer: short transactions in the order of the requests, long transactions in turns of their callers, and migrations. */
import type { MigrationSite } from "../entry.ts";
import type { Migration, TransactOptions } from "../transaction.ts";

export interface JobOptions extends TransactOptions {
  /** The caller in whose turn a long transaction runs; absent for a short transaction. */
  readonly caller?: string;
  /** The site of a migration; null or absent for any other transaction. */
  readonly site?: MigrationSite | null;
  /** The id of the entry of the journal that the transaction is: the commit is decided already. Absent for any other transaction. */
  readonly replayed?: string | null;
}

/** A transaction that waits, runs or has ended. */
export interface Job {
  /** The position in the order of requests. */
  readonly number: number;
  readonly work: (tx: Migration) => unknown;
  readonly options: JobOptions;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
  /** The caller gets the outcome when the commit is on disk. */
  outcome: { value: unknown; effects: readonly (() => unknown)[] } | { error: unknown } | null;
}

export class WriterQueue {
  readonly #short: Job[] = [];
  /** The long transactions by caller, in the order of turns. */
  readonly #turns = new Map<string, Job[]>();
  readonly #migrations: Job[] = [];

  get hasShort(): boolean {
    return this.#short.length > 0;
  }

  get isEmpty(): boolean {
    return this.#short.length + this.#migrations.length + this.#turns.size === 0;
  }

  add(job: Job): void {
    const { caller, site = null, replayed } = job.options;
    if (caller === undefined) this.#short.push(job);
    else if (site !== null && replayed === undefined) this.#migrations.push(job);
    else this.#turns.getOrInsertComputed(caller, () => []).push(job);
  }

  /** Puts back transactions that were taken together: the transactions run again before the others, or before the others of the caller. */
  putBack(jobs: readonly Job[]): void {
    for (const job of jobs) job.outcome = null;
    const caller = jobs[0]?.options.caller;
    if (caller === undefined) this.#short.unshift(...jobs);
    else this.#turns.set(caller, [...jobs, ...(this.#turns.get(caller) ?? [])]);
  }

  /** Takes the short transactions that may run now, `most` at most: the transactions requested before the next migration. */
  takeShort(most: number): Job[] {
    const [migration] = this.#migrations;
    const behind = migration === undefined ? -1 : this.#short.findIndex(({ number }) => number > migration.number);
    return this.#short.splice(0, behind < 0 ? most : Math.min(most, behind));
  }

  /** Takes the next migration, if all transactions requested before have run; otherwise the long transaction of the caller with the turn. */
  takeLong(): Job | null {
    const [migration] = this.#migrations;
    const [turn] = this.#turns;
    const earliest = Math.min(this.#short[0]?.number ?? Infinity, turn?.[1][0]?.number ?? Infinity);
    if (migration !== undefined && migration.number < earliest) return this.#migrations.shift() ?? null;
    if (turn === undefined) return null;
    const [caller, [job, ...rest]] = turn;
    // The caller comes last.
    this.#turns.delete(caller);
    if (rest.length > 0) this.#turns.set(caller, rest);
    return job ?? null;
  }

  /** Takes all transactions. */
  clear(): Job[] {
    const all = [...this.#short.splice(0), ...this.#migrations.splice(0), ...this.#turns.values()].flat();
    this.#turns.clear();
    return all;
  }
}
