/** Jobs of the writer: the transactions that wait, with the turns of their callers; their flush; and the answers after the flush. */
import { fdatasync, fstatSync, readlinkSync } from "node:fs";
import { nextTurn } from "../../../base/kernel/index.ts";
import { Histogram, type Logger } from "../../../base/logging/index.ts";
import type { MigrationSite } from "../entry.ts";
import type { JobTransactor, Migration, Transactor } from "../transaction.ts";
import type { Connection } from "./connection.ts";
import { asUnavailable, refusalCause, refusalCauses } from "./errors.ts";
import { lostFile } from "./open-file.ts";

/** The longest time for which effects of flushed transactions hold the event loop; the other effects run in the next turn. */
const effectsMs = 5;

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
  /** The id of the entry of the journal that the transaction is: the commit is decided already. Absent for any other transaction. */
  readonly replayed?: string | null;
}

export interface LongJob extends Asked, LongOptions {
  readonly work: (tx: Migration) => unknown;
}

class TurnQueue<T> {
  /** The items by caller, in the order of turns. */
  readonly #waiting = new Map<string, T[]>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** The item that `next` takes. */
  get first(): T | undefined {
    const [own] = this.#waiting.values();
    return own?.[0];
  }

  add(caller: string, item: T): void {
    this.#waiting.getOrInsertComputed(caller, () => []).push(item);
  }

  /** Puts back `item`, which was taken: the item becomes the first of its caller. */
  putBack(caller: string, item: T): void {
    this.#waiting.set(caller, [item, ...(this.#waiting.get(caller) ?? [])]);
  }

  /** Takes the first item of the caller whose turn has come, and puts the caller last; null if no item waits. */
  next(): T | null {
    const [entry] = this.#waiting;
    if (entry === undefined) return null;
    const [caller, [item, ...rest]] = entry;
    this.#waiting.delete(caller);
    if (rest.length > 0) this.#waiting.set(caller, rest);
    return item ?? null;
  }

  /** Takes all items. */
  clear(): T[] {
    const all = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    return all;
  }
}

/** Queues of the writer: short transactions, long transactions in turns of their callers, and migrations. */
export class JobQueues {
  readonly short: ShortJob[] = [];
  readonly long = new TurnQueue<LongJob>();
  readonly #migrations: LongJob[] = [];

  get isEmpty(): boolean {
    return this.short.length + this.#migrations.length === 0 && this.long.isEmpty;
  }

  addLong(job: LongJob): void {
    if (job.site === null) this.long.add(job.caller, job);
    else this.#migrations.push(job);
  }

  /** How many short transactions may run now, `most` at most: the transactions requested before the next migration. */
  due(most: number): number {
    const end = this.#migrations[0]?.number ?? Number.POSITIVE_INFINITY;
    const behind = this.short.findIndex(({ number }) => number > end);
    return Math.min(most, behind < 0 ? this.short.length : behind);
  }

  /** The next migration, if all transactions requested before have run; otherwise the next long transaction. */
  nextLong(): LongJob | null {
    const [migration] = this.#migrations;
    const isNext =
      migration !== undefined && this.due(1) === 0 && !(Number(this.long.first?.number) < migration.number);
    return (isNext ? this.#migrations.shift() : undefined) ?? this.long.next();
  }

  /** Empties the queues. */
  clear(): Asked[] {
    return [...this.short.splice(0), ...this.#migrations.splice(0), ...this.long.clear()];
  }
}

export function rejectAll(jobs: readonly Asked[], reason: unknown): void {
  for (const { reject } of jobs) reject(reason);
}

/** Rolls an open transaction back. @throws an error if the transaction stays open. */
export function rollBack(connection: Connection): void {
  try {
    if (connection.inTransaction) connection.run("ROLLBACK");
  } catch (error) {
    // Damage ends a transaction, and the statement reports damage again. An open transaction would take in the next one.
    if (connection.inTransaction) throw error;
  }
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
  const failed = (error: unknown): void => logger.error("An effect after a change failed", { error });
  try {
    const running = effect();
    return running === undefined ? undefined : Promise.resolve(running).then(() => undefined, failed);
  } catch (error) {
    failed(error);
    return undefined;
  }
}

/** The measurements of the database, for the metrics. */
export class SqliteMeter {
  /** Durations of successful flushes. */
  readonly flushes = new Histogram();
  flushFailures = 0;
  readonly #refused = new Map(refusalCauses.map((cause) => [cause, 0]));

  /** The error for the caller of a failed transaction; counts the refusals of the disk. */
  asRefusal(thrown: unknown): unknown {
    const cause = refusalCause(thrown);
    if (cause !== null) this.#refused.set(cause, (this.#refused.get(cause) ?? 0) + 1);
    return asUnavailable(thrown);
  }

  refused(): readonly (readonly [cause: string, writes: number])[] {
    return [...this.#refused];
  }
}

/** The name of an open file as Linux tells it; null on other systems, and without /proc. */
function nameOf(file: number): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${file}`);
  } catch {
    return null;
  }
}

/**
 * Flushes the write-ahead log of a database. A log that was deleted would disappear with this process, so each flush looks at
 * the name of the log: a deleted or moved log has another name. `fstat` would do, but makes Linux give each later write of the
 * log its own time (multigrain timestamps). On ext4 without a journal, a flush then writes the inode, too.
 * @param file a descriptor of the log.
 */
export function flushOf(path: string, file: number): () => Promise<void> {
  const opened = nameOf(file);
  const isLost = (): boolean => {
    const name = nameOf(file);
    return name === null ? fstatSync(file).nlink === 0 : name !== opened;
  };
  return () =>
    new Promise((resolve, reject) => {
      fdatasync(file, (error) => {
        if (error !== null && error !== undefined) reject(error);
        else if (isLost()) reject(lostFile(`${path}-wal`));
        else resolve();
      });
    });
}

/**
 * Makes commits durable. One flush runs at a time. A call during a flush waits for the next flush, because the running
 * flush may have started before the caller's commit was written.
 */
export class Flusher {
  readonly #sync: () => Promise<void>;
  readonly #meter: SqliteMeter;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  /** `sync` resolves when all earlier writes to the log are on disk. */
  constructor(sync: () => Promise<void>, meter: SqliteMeter = new SqliteMeter()) {
    this.#sync = sync;
    this.#meter = meter;
  }

  /** Resolves when all earlier commits are on disk. After a failure, every flush fails. */
  flush(): Promise<void> {
    if (this.#running === null) return this.#start();
    // A failed flush is final: fsync reports an error once and then forgets the lost pages.
    this.#next ??= this.#running.then(() => this.#start());
    return this.#next;
  }

  #start(): Promise<void> {
    this.#next = null;
    const start = performance.now();
    const flush = this.#sync();
    this.#running = flush;
    flush.then(
      () => {
        this.#meter.flushes.observe(performance.now() - start);
        if (this.#running === flush) this.#running = null;
      },
      () => {
        this.#meter.flushFailures += 1;
      },
    );
    return flush;
  }
}
