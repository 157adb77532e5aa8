/**
 * Jobs of the writer: the transactor that the function of a transaction gets, the transactions that wait, with the turns of
 * their callers, and the answers after the flush.
 */

import { nextTurn } from "../../../base/kernel/index.ts";
import type { Logger } from "../../../base/logging/index.ts";
import { type Note, type NoteKind, newestNote } from "../projection.ts";
import type { Migration, MigrationSite, Reader, Transactor, Value } from "../store.ts";

/** The connection of a transaction: the writer's connection, or the connection of a migration on a thread. */
export interface TransactionConnection extends Reader {
  run(sql: string, ...values: Value[]): number;
}

/** The argument of a transaction's function. The transactor is dead after the end of the function. */
export class JobTransactor implements Transactor {
  readonly #connection: TransactionConnection;
  /** The notes of the commit: those of earlier transactions, and of this transaction. */
  readonly notes: Note[];
  readonly durableEffects: (() => unknown)[] = [];
  /** Whether the next transaction begins after this commit. */
  endsBatch = false;
  /** Whether a statement has written, so that an error of the function needs a rollback. SQLite undoes a failed statement itself. */
  hasWritten = false;
  #open = true;

  constructor(connection: TransactionConnection, notes: Note[] = []) {
    this.#connection = connection;
    this.notes = notes;
  }

  get<T>(sql: string, ...values: Value[]): T | null {
    const row = this.#live().get<T>(sql, ...values);
    this.#note(sql);
    return row;
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    const rows = this.#live().all<T>(sql, ...values);
    this.#note(sql);
    return rows;
  }

  some<T>(statement: { sql: string; values: readonly Value[] }, isLast: (row: T) => boolean): T[] {
    const rows = this.#live().some(statement, isLast);
    this.#note(statement.sql);
    return rows;
  }

  run(sql: string, ...values: Value[]): number {
    const changes = this.#live().run(sql, ...values);
    this.hasWritten = true;
    return changes;
  }

  note(note: Note): void {
    this.notes.push(note);
  }

  lastNote<T>(kind: NoteKind<T>): T | null {
    return newestNote(this.notes, kind);
  }

  endBatch(): void {
    this.endsBatch = true;
  }

  onDurable(effect: () => unknown): void {
    this.durableEffects.push(effect);
  }

  end(): void {
    this.#open = false;
  }

  /** Notes a statement that has answered rows: a statement with RETURNING has written. */
  #note(sql: string): void {
    this.hasWritten ||= !sql.startsWith("SELECT ");
  }

  #live(): TransactionConnection {
    if (!this.#open) throw new Error("A transaction was used after its end");
    return this.#connection;
  }
}

/** The longest time for which effects of flushed transactions hold the event loop; the other effects run in the next turn. */
const effectsMs = 8;

/** A transaction that waits, runs or has ended; `settle` answers its caller. */
export interface Asked {
  /** The position in the order of requests. */
  readonly number: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
  /** Whether the transaction frees space, or admits a caller that does: the transaction may use the reserve of the disk. */
  readonly makesRoom: boolean;
  outcome: { value: unknown; tx: JobTransactor } | { error: unknown } | null;
}

/** A short transaction: see `Writer`. */
export interface ShortJob extends Asked {
  readonly work: (tx: Transactor) => unknown;
  /** See `TransactOptions`. */
  readonly isRepeatable: boolean;
}

export interface LongOptions {
  /** The caller in whose turn the transaction runs. */
  readonly caller: string;
  /** The site of a migration; null for any other long transaction. */
  readonly site: MigrationSite | null;
  readonly makesRoom: boolean;
}

export interface LongJob extends Asked, LongOptions {
  readonly work: (tx: Migration) => unknown;
}

/**
 * Answers each job of a batch after its effects. If the effects of a job are slow, the job is answered at once, and the next
 * job's effects and answer wait for the slow effects.
 */
export async function settle(batch: readonly Asked[], logger: Logger): Promise<void> {
  let until = performance.now() + effectsMs;
  for (const { outcome, resolve, reject } of batch) {
    if (outcome === null) continue;
    if ("error" in outcome) {
      reject(outcome.error);
      continue;
    }
    for (const effect of outcome.tx.durableEffects) {
      const running = runEffect(effect, logger);
      if (running === undefined && performance.now() < until) continue;
      resolve(outcome.value);
      await (running ?? nextTurn());
      until = performance.now() + effectsMs;
    }
    resolve(outcome.value);
  }
}

/** Runs an effect. The change is on disk, so an error of the effect does not change the answer. */
function runEffect(effect: () => unknown, logger: Logger): Promise<void> | undefined {
  const failed = (error: unknown): void => logger.error("What follows a change failed", { error });
  try {
    const running = effect();
    return running === undefined ? undefined : Promise.resolve(running).then(() => undefined, failed);
  } catch (error) {
    failed(error);
    return undefined;
  }
}

export class TurnQueue<T> {
  /** The items by caller, in the order of turns. */
  readonly #waiting = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The item that `next` takes. */
  get first(): T | undefined {
    const [own] = this.#waiting.values();
    return own?.[0];
  }

  add(caller: string, item: T): void {
    this.#size += 1;
    const own = this.#waiting.get(caller);
    if (own === undefined) this.#waiting.set(caller, [item]);
    else own.push(item);
  }

  /** Puts back `item`, which was taken: the item becomes the first of its caller. */
  putBack(caller: string, item: T): void {
    this.#size += 1;
    this.#waiting.set(caller, [item, ...(this.#waiting.get(caller) ?? [])]);
  }

  /** Takes the first item of the caller whose turn has come, and puts the caller last; null if no item waits. */
  next(): T | null {
    const [entry] = this.#waiting;
    if (entry === undefined) return null;
    const [caller, [item, ...rest]] = entry;
    this.#waiting.delete(caller);
    if (rest.length > 0) this.#waiting.set(caller, rest);
    this.#size -= 1;
    return item ?? null;
  }

  /** Takes all items. */
  clear(): T[] {
    const all = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    this.#size = 0;
    return all;
  }
}
