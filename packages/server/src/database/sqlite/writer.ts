/** Writer: runs all transactions and migrations, one after the other, with group commit. */
import { AppError, type Awaitable } from "../../kernel/index.ts";
import type { Logger } from "../../logging/index.ts";
import type { MigrationSite, TransactOptions, Transactor } from "../store.ts";
import type { Checkpointer } from "./checkpointer.ts";
import type { Connection } from "./connection.ts";
import { asUnavailable, hasMetDamage, refusalCause, stopping } from "./errors.ts";
import type { Flusher } from "./flusher.ts";
import { type Job, settle } from "./job.ts";
import { JobTransactor, type TransactionConnection } from "./job-transactor.ts";
import type { SqliteMeter } from "./meter.ts";
import type { Reserve } from "./reserve.ts";
import type { SnapshotReader } from "./snapshot-reader.ts";
import type { ThreadConnection } from "./thread-connection.ts";

/** The weight of the transactions of one commit, so that it never holds the event loop for long. */
const maxWeight = 256;

/** While a migration runs on a thread. */
const flushEveryMs = 50;

const lost = "The database could not be written to disk; the service is stopping.";

/** Rolls a transaction back, if the error that ended it, or its thread, has not done so already. */
async function takeBack(connection: TransactionConnection): Promise<void> {
  try {
    await connection.run("ROLLBACK");
  } catch {
    // There is nothing to take back.
  }
}

/** The kind of a transaction that is no plain change. */
interface TransactionOptions extends TransactOptions {
  /** The site of a migration, which runs alone. */
  readonly migration?: MigrationSite;
}

/** The step after a transaction: the next one of its commit, the commit itself, or the commit from its beginning. */
type Next = "go on" | "commit" | "begin anew";

/**
 * The one writer. Transactions that arrive while the event loop turns share one `BEGIN IMMEDIATE … COMMIT`; each has a
 * savepoint, so that one that fails takes only itself back. Where all may be called again, they have none: one that fails
 * after it has written takes the whole commit back, which is made again with savepoints. Nobody is answered before the
 * commit is on disk.
 */
export class Writer {
  readonly #connection: Connection;
  readonly #flusher: Flusher;
  readonly #checkpointer: Checkpointer;
  readonly #reader: SnapshotReader;
  readonly #openThread: () => ThreadConnection;
  readonly #onFatal: (error: unknown) => void;
  readonly #meter: SqliteMeter;
  readonly #logger: Logger;
  readonly #reserve: Reserve | null;
  /** Why the reserve was released. */
  #full: unknown = null;
  #queue: Job[] = [];
  /** Those in the queue. */
  #migrations = 0;
  /** The thread of the running migration. */
  #thread: ThreadConnection | null = null;
  #isOutOfTime = false;
  readonly #closing = new Set<Promise<void>>();
  #turning: Promise<void> | null = null;
  #unsettled = 0;
  /** Ends with the effects of all batches that are on disk: they run in the order of commits. */
  #settling: Promise<void> = Promise.resolve();
  #refusal: AppError | null = null;
  #hasFailed = false;
  /** Whether the next commit is one that is made again. */
  #isAgain = false;

  constructor(options: {
    connection: Connection;
    flusher: Flusher;
    checkpointer: Checkpointer;
    reader: SnapshotReader;
    /** A connection for a migration that takes long. */
    openThread: () => ThreadConnection;
    /** Called once, when a flush has failed and nothing can be promised any more. */
    onFatal: (error: unknown) => void;
    meter: SqliteMeter;
    logger: Logger;
    reserve: Reserve | null;
  }) {
    this.#connection = options.connection;
    this.#flusher = options.flusher;
    this.#checkpointer = options.checkpointer;
    this.#reader = options.reader;
    this.#openThread = options.openThread;
    this.#onFatal = options.onFatal;
    this.#meter = options.meter;
    this.#logger = options.logger;
    this.#reserve = options.reserve;
  }

  transact<T>(work: (tx: Transactor) => Awaitable<T>, options: TransactionOptions = {}): Promise<T> {
    if (this.#refusal !== null) return Promise.reject(this.#refusal);
    const { migration = null, makesRoom = false, isRepeatable = false, weight = 1 } = options;
    if (migration !== null) this.#migrations += 1;
    return new Promise<T>((resolve, reject) => {
      // `resolve` is only called with the answer of `work`.
      const settle = { resolve: resolve as (value: unknown) => void, reject };
      this.#queue.push({ work, ...settle, migration, makesRoom, isRepeatable, weight, outcome: null });
      this.#turning ??= this.#nextTurn();
    });
  }

  /** Refuses new transactions, and waits for the accepted ones: `graceMs` at most, then the rest is refused, too. */
  async close(graceMs: number): Promise<void> {
    this.#refusal ??= stopping();
    const timer = setTimeout(() => this.giveUp(), graceMs);
    await this.#settled();
    clearTimeout(timer);
    // A thread that was given up ends when its statement does, and the process may end before.
    if (!this.#isOutOfTime) await Promise.all(this.#closing);
  }

  /** Refuses accepted transactions that are not done, and all new ones. */
  giveUp(): void {
    this.#refusal ??= stopping();
    this.#isOutOfTime = true;
    this.#thread?.abandon(stopping());
  }

  /** Refuses everything from now on: the database is not this service's any more. */
  refuse(error: unknown): void {
    this.giveUp();
    this.#fail([], error);
  }

  async #settled(): Promise<void> {
    while (this.#turning !== null || this.#unsettled > 0) {
      await (this.#turning ?? new Promise((resolve) => setTimeout(resolve, 1)));
    }
  }

  /** Everything that the sockets have to say in this turn of the loop gets into the batch. */
  #nextTurn(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => {
        this.#turn()
          // Memory and database may differ now.
          .catch((error: unknown) => this.#fail([], error))
          .then(() => {
            this.#turning = this.#queue.length > 0 ? this.#nextTurn() : null;
            resolve();
          });
      });
    });
  }

  /** Runs the work that has waited longest: a migration, or the transactions before the next one. */
  #turn(): Promise<void> {
    if (this.#isOutOfTime) {
      // A thread that was given up may hold the lock until its statement has ended: nothing more is begun.
      for (const job of this.#queue.splice(0)) job.reject(this.#refusal);
      return Promise.resolve();
    }
    const migrationAt = this.#migrations === 0 ? -1 : this.#queue.findIndex(({ migration }) => migration !== null);
    const [first] = this.#queue;
    if (migrationAt !== 0 || first === undefined)
      return this.#commit(this.#queue.splice(0, this.#share(migrationAt < 0 ? this.#queue.length : migrationAt)));
    this.#migrations -= 1;
    this.#queue.shift();
    return this.#migrate(first);
  }

  /** How many of the first `waiting` transactions share a commit: one at least. */
  #share(waiting: number): number {
    let weight = 0;
    for (let taken = 0; taken < Math.min(waiting, maxWeight); taken++) {
      weight += this.#queue[taken]?.weight ?? 0;
      if (weight > maxWeight) return Math.max(1, taken);
    }
    return Math.min(waiting, maxWeight);
  }

  async #commit(taken: Job[]): Promise<void> {
    const batch = this.#reserve?.isReleased === true ? this.#onlyMakingRoom(taken) : taken;
    if (batch.length === 0) return;
    const hasSavepoints = this.#isAgain || batch.some(({ isRepeatable }) => !isRepeatable);
    this.#isAgain = false;
    let done = 0;
    try {
      await this.#catchUp();
      this.#connection.run("BEGIN IMMEDIATE");
      for (const job of batch) {
        done += 1;
        const next = await this.#attempt(job, hasSavepoints);
        if (next === "begin anew") {
          this.#beginAnew(batch);
          return;
        }
        // State that changes with the commit (definitions, sessions) must be in force for the next transaction.
        if (next === "commit") break;
        if (job.outcome !== null && "error" in job.outcome && hasMetDamage(job.outcome.error)) {
          this.#setApart(batch, job);
          return;
        }
      }
      this.#connection.run("COMMIT");
      this.#queue.unshift(...batch.splice(done));
    } catch (thrown) {
      if (this.#makesRoomFor(batch, thrown)) this.#queue.unshift(...batch);
      else for (const job of batch) job.reject(this.#refused(thrown));
      this.#takeBack();
      return;
    }
    this.#reader.end();
    this.#committed(batch);
  }

  /** While the reserve is used: the others would take the room. */
  #onlyMakingRoom(batch: Job[]): Job[] {
    for (const job of batch) if (!job.makesRoom) job.reject(this.#refused(this.#full));
    return batch.filter(({ makesRoom }) => makesRoom);
  }

  /** Whether the batch did not fit, and is to be done again with the room of the reserve, as far as it makes room. */
  #makesRoomFor(batch: Job[], thrown: unknown): boolean {
    if (refusalCause(thrown) !== "full" || !batch.some(({ makesRoom }) => makesRoom)) return false;
    // Already released by this very error, of the statement that it ended.
    if (this.#full !== thrown && this.#reserve?.release() !== true) return false;
    this.#full = thrown;
    for (const job of batch) job.outcome = null;
    return true;
  }

  /** Makes a commit again, so that a transaction that fails takes only itself back. */
  #beginAnew(batch: Job[]): void {
    this.#takeBack();
    for (const job of batch) job.outcome = null;
    this.#queue.unshift(...batch);
    this.#isAgain = true;
  }

  /**
   * A transaction in which a statement has met damage cannot be committed: it is taken back with all that was done in
   * it. The job that met the damage fails alone; the others are done again.
   */
  #setApart(batch: Job[], damaged: Job): void {
    this.#takeBack();
    const others = batch.filter((job) => job !== damaged);
    for (const job of others) job.outcome = null;
    this.#queue.unshift(...others);
    if (damaged.outcome !== null && "error" in damaged.outcome) damaged.reject(damaged.outcome.error);
  }

  /** Makes the pause that the log needs. */
  async #catchUp(): Promise<void> {
    const pause = this.#checkpointer.catchUp(performance.now());
    if (pause === null) return;
    await pause;
    // The log starts over with the next write, unless a snapshot reads from it.
    this.#reader.end();
  }

  /**
   * Tables change for everybody in one moment: reads see the old tables until the commit, and from then on the
   * new ones together with the state in memory about them.
   */
  async #migrate(job: Job): Promise<void> {
    let thread: ThreadConnection | null = null;
    let flushing: Timer | undefined;
    let isMigrated = false;
    try {
      await this.#catchUp();
      this.#reader.hold();
      if (job.migration === "thread") thread = this.#openThread();
      this.#thread = thread;
      // Its writes are on their way to the disk before the wait for its commit.
      if (thread !== null)
        flushing = setInterval(() => void this.#flusher.flush().catch(() => undefined), flushEveryMs);
      const connection = thread ?? this.#connection;
      await connection.run("BEGIN IMMEDIATE");
      const tx = new JobTransactor(connection);
      try {
        job.outcome = { value: await job.work(tx), tx };
        await connection.run("COMMIT");
        isMigrated = true;
      } catch (thrown) {
        await takeBack(connection);
        throw thrown;
      } finally {
        tx.end();
      }
    } catch (thrown) {
      job.reject(this.#refused(thrown));
    }
    clearInterval(flushing);
    this.#reader.release({ isMigrated });
    if (isMigrated) this.#committed([job]);
    if (thread !== null) this.#endThread(thread);
  }

  #endThread(thread: ThreadConnection): void {
    this.#thread = null;
    const closing = thread.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
    try {
      // This connection looks at the tables anew now, rather than when a statement does not fit them.
      this.#connection.get("SELECT 1 FROM sqlite_schema LIMIT 1");
    } catch (error) {
      this.#logger.error("The tables could not be looked at after a migration", { error });
    }
    this.#checkpointer.catchUpSoon();
  }

  #committed(batch: Job[]): void {
    this.#unsettled += batch.length;
    try {
      for (const { outcome } of batch) {
        if (outcome !== null && "tx" in outcome) for (const effect of outcome.tx.commitEffects) effect();
      }
    } catch (error) {
      // Memory and database differ.
      this.#fail(batch, error);
      return;
    }
    this.#flusher.flush().then(
      () => {
        this.#settling = this.#settling
          .then(() => settle(batch, this.#logger))
          .then(() => {
            this.#unsettled -= batch.length;
          });
      },
      (error) => this.#fail(batch, error),
    );
  }

  /** @param hasSavepoint so that it can be taken back without the others of its commit. */
  async #attempt(job: Job, hasSavepoint: boolean): Promise<Next> {
    const tx = new JobTransactor(this.#connection);
    if (hasSavepoint) this.#connection.run("SAVEPOINT job");
    try {
      const result = job.work(tx);
      const value = result instanceof Promise ? await result : result;
      if (hasSavepoint) this.#connection.run("RELEASE job");
      job.outcome = { value, tx };
      return tx.endsBatch ? "commit" : "go on";
    } catch (thrown) {
      job.outcome = { error: this.#refused(thrown) };
      if (hasMetDamage(thrown)) return "go on";
      // Some errors (a full disk) end the whole transaction; then nothing of this batch was written.
      if (!this.#connection.inTransaction || this.#makesRoomFor([job], thrown)) throw thrown;
      if (!hasSavepoint) return tx.hasWritten ? "begin anew" : "go on";
      this.#connection.run("ROLLBACK TO job");
      this.#connection.run("RELEASE job");
      return "go on";
    } finally {
      tx.end();
    }
  }

  /** The error as the caller gets it; a disk that did not serve is counted. */
  #refused(thrown: unknown): unknown {
    const cause = refusalCause(thrown);
    if (cause !== null) this.#meter.refuse(cause);
    return asUnavailable(thrown);
  }

  #takeBack(): void {
    try {
      if (this.#connection.inTransaction) this.#connection.run("ROLLBACK");
    } catch (error) {
      // Damage ends a transaction and is reported again. A transaction that does not end would take in the next one.
      if (this.#connection.inTransaction) throw error;
    }
  }

  #fail(batch: Job[], error: unknown): void {
    const isFirst = !this.#hasFailed;
    this.#hasFailed = true;
    this.#refusal = new AppError("unavailable", lost, { cause: error });
    for (const job of [...batch, ...this.#queue]) job.reject(this.#refusal);
    this.#queue = [];
    this.#unsettled -= batch.length;
    if (isFirst) this.#onFatal(error);
  }
}
