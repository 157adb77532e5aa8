/** Writer: runs all transactions and migrations, one after another, with group commit. */
import { AppError } from "../../../base/kernel/index.ts";
import type { CommitEntry, Note } from "../entry.ts";
import {
  asSlowTransactor,
  JobTransactor,
  type Lead,
  loggedSlow,
  type Migration,
  type TransactOptions,
  type Transactor,
} from "../transaction.ts";
import { hasMetDamage, outcomeUnknown, refusalCause, stopping } from "./errors.ts";
import {
  type Asked,
  JobQueues,
  type LongJob,
  type LongOptions,
  rejectAll,
  rollBack,
  type ShortJob,
  settle,
} from "./jobs.ts";
import { type Numbered, Numbering } from "./numbering.ts";
import { placeOf } from "./position-table.ts";
import { replayIn } from "./replay.ts";
import type { ThreadConnection } from "./thread-connection.ts";
import type { WriterParts } from "./writer-parts.ts";

/** The bounds of a shared commit: the number of short transactions, and their time on the event loop. */
const maxShared = 256;
const sharedMs = 8;

/** Interval of flushes while a migration runs on a thread. */
const flushEveryMs = 50;

/** After a transaction: the next transaction of the commit, the commit, or the commit from its start. */
type Next = "go on" | "commit" | "begin anew";

/**
 * The only writer of the database, with queues for short and for long transactions.
 *
 * Short transactions are functions without promises. Transactions that arrive during one turn of the event loop share a
 * `BEGIN IMMEDIATE … COMMIT`. Each has a savepoint, so a failure rolls back only the failed transaction. If all of the
 * transactions are repeatable, the writer sets no savepoints; a failure after a write then rolls the whole commit back, and
 * the writer runs the commit again with savepoints.
 *
 * Long transactions (batches, cascades, imports, migrations) let the event loop do other work between their steps; no other
 * transaction runs meanwhile. After each long transaction, the waiting short transactions run in one commit within its bounds
 * (`maxShared`, `sharedMs`); then the long transaction of the next caller. So a short transaction that fits in the next commit
 * waits for at most one long transaction, and for the migrations that were requested earlier.
 *
 * No caller gets an answer before the commit is on disk.
 */
export class Writer {
  readonly #parts: WriterParts;
  readonly #jobs = new JobQueues();
  /** The number of transactions requested so far. */
  #asked = 0;
  /** The thread of the running migration. */
  #thread: ThreadConnection | null = null;
  #isOutOfTime = false;
  readonly #closing = new Set<Promise<void>>();
  #turning: Promise<void> | null = null;
  #unsettled = 0;
  /** The effects of all batches that are on disk, in commit order; resolves after the last. */
  #settling: Promise<void> = Promise.resolve();
  #refusal: AppError | null = null;
  #hasFailed = false;
  /** The number of the last short transaction in a commit that runs again with savepoints. */
  #again = -1;
  readonly numbering = new Numbering();

  constructor(parts: WriterParts) {
    this.#parts = parts;
  }

  /** Queues a short transaction: its changes are complete when `work` returns. */
  transact<T>(work: (tx: Transactor) => T, { makesRoom = false, isRepeatable = false }: TransactOptions): Promise<T> {
    return this.#ask((asked) => this.#jobs.short.push({ ...asked, work, makesRoom, isRepeatable }));
  }

  /** Queues a long transaction. @param caller takes turns with the other callers of long transactions. */
  transactLong<T>(work: (tx: Migration) => T | Promise<T>, options: LongOptions): Promise<T> {
    return this.#ask((asked) => {
      const job: LongJob = { ...asked, ...options, work };
      this.#jobs.addLong(job);
    });
  }

  /** See `Database.lead`. No transaction runs or waits. */
  lead(lead: Lead): void {
    this.numbering.start(lead, placeOf(this.#parts.connection));
  }

  /** Runs the entry of the next position. @throws EntryMismatch when the database differs from the database of the entry. */
  replay(entry: CommitEntry, id: string | null): Promise<void> {
    const work = (tx: Migration): Promise<void> => replayIn(tx, entry);
    const options = { site: entry.site, caller: "", makesRoom: true, replayed: id };
    return this.#queue((asked) => this.#jobs.long.add("", { ...asked, ...options, work }));
  }

  #ask<T>(put: (asked: Omit<Asked, "makesRoom">) => void): Promise<T> {
    const refusal = this.#refusal ?? this.numbering.refusal;
    return refusal === null ? this.#queue(put) : Promise.reject(refusal);
  }

  #queue<T>(put: (asked: Omit<Asked, "makesRoom">) => void): Promise<T> {
    if (this.#refusal !== null) return Promise.reject(this.#refusal);
    return new Promise<T>((resolve, reject) => {
      // `resolve` is only called with the value that `work` returned.
      put({ number: this.#asked++, resolve: resolve as (value: unknown) => void, reject, outcome: null });
      this.#turning ??= this.#nextTurn();
    });
  }

  /** Refuses new transactions and waits for the accepted ones. After `graceMs`, the rest is refused, too. */
  async close(graceMs: number): Promise<void> {
    this.#refusal ??= stopping();
    const timer = setTimeout(() => this.giveUp(), graceMs);
    while (this.#turning !== null || this.#unsettled > 0) await (this.#turning ?? Bun.sleep(1));
    clearTimeout(timer);
    // An abandoned thread ends with its statement; the process may end before.
    if (!this.#isOutOfTime) await Promise.all(this.#closing);
  }

  /** Refuses all new transactions, and the accepted transactions that are not done. */
  giveUp(): void {
    this.#refusal ??= stopping();
    this.#isOutOfTime = true;
    this.#thread?.abandon(stopping());
  }

  /** Refuses all transactions from now on: the database no longer belongs to this service. */
  refuse(error: unknown): void {
    this.giveUp();
    this.#fail([], error);
  }

  /** The next turn begins after the sockets have delivered the requests of this turn, so that the batch contains these requests. */
  #nextTurn(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => {
        this.#turn()
          // The state in memory and the database may differ now.
          .catch((error: unknown) => this.#fail([], error))
          .then(() => {
            const isDone = this.#jobs.isEmpty;
            this.#turning = isDone ? null : this.#nextTurn();
            resolve();
          });
      });
    });
  }

  /** Runs the waiting short transactions, and the next long ones. */
  async #turn(): Promise<void> {
    if (this.#isOutOfTime) {
      // An abandoned thread may hold the lock until its statement has ended, so no transaction begins.
      rejectAll(this.#jobs.clear(), this.#refusal);
      return;
    }
    const due = this.#jobs.due(maxShared);
    if (due > 0) {
      await this.#catchUp();
      await this.#commit(this.#admitted(this.#jobs.short.splice(0, due)));
    }
    // Quick long transactions share a turn; after a slower one, newly arrived short transactions go first.
    const until = performance.now() + sharedMs;
    do {
      const long = this.#jobs.nextLong();
      if (long === null) return;
      await this.#catchUp();
      for (const job of this.#admitted([long])) await this.#runAlone(job);
    } while (this.#jobs.short.length === 0 && performance.now() < until);
  }

  /** Runs short transactions in one commit. Transactions that exceed the time go back to the queue. */
  async #commit(batch: ShortJob[]): Promise<void> {
    if (batch.length === 0) return;
    const hasSavepoints = batch.some(({ number, isRepeatable }) => number <= this.#again || !isRepeatable);
    const until = performance.now() + sharedMs;
    let done = 0;
    const notes: Note[] = [];
    let joined: readonly Note[];
    const numbered = this.numbering.begin();
    try {
      this.#parts.connection.run("BEGIN IMMEDIATE");
      for (const job of batch) {
        done += 1;
        const next = this.#attempt(job, { notes, numbered, hasSavepoint: hasSavepoints });
        if (next === "begin anew") {
          this.#again = batch.at(-1)?.number ?? this.#again;
          this.#runAgain(batch);
          return;
        }
        if (job.outcome !== null && "error" in job.outcome && hasMetDamage(job.outcome.error)) {
          // A transaction in which a statement has met damage cannot be committed. The job fails alone.
          this.#runAgain(batch.filter((other) => other !== job));
          job.reject(job.outcome.error);
          return;
        }
        // State that changes with the commit (definitions, sessions) must be in force for the next transaction.
        if (next === "commit" || performance.now() > until) break;
      }
      this.#jobs.short.unshift(...batch.splice(done));
      const giveUp = (reason: AppError): void => {
        rejectAll(batch, reason);
        rejectAll(this.#jobs.clear(), this.numbering.refusal ?? reason);
      };
      joined = this.#parts.projection.joined(notes);
      const deciding = numbered.decide(this.#parts.connection, joined, { site: null, giveUp });
      if (deciding !== null) await deciding;
      this.#parts.connection.run("COMMIT");
    } catch (thrown) {
      if (numbered.isDecided) this.#failDecided(batch, thrown);
      else if (this.#makesRoomFor(batch, thrown)) this.#runAgain(batch);
      else {
        for (const job of batch) job.reject(this.#parts.meter.asRefusal(thrown));
        rollBack(this.#parts.connection);
      }
      return;
    }
    this.#parts.reader.end();
    this.#committed(batch, joined);
  }

  /** The transactions that may run: after the reserve is released, only the ones that make room. */
  #admitted<J extends Asked>(jobs: J[]): J[] {
    const full = this.#parts.reserve?.releasedFor ?? null;
    if (full === null) return jobs;
    for (const job of jobs) if (!job.makesRoom) job.reject(this.#parts.meter.asRefusal(full));
    return jobs.filter(({ makesRoom }) => makesRoom);
  }

  /** Whether the batch did not fit on the disk, and runs again with the room of the reserve, as far as the batch makes room. */
  #makesRoomFor(batch: readonly Asked[], thrown: unknown): boolean {
    const wantsRoom = refusalCause(thrown) === "full" && batch.some(({ makesRoom }) => makesRoom);
    return wantsRoom && this.#parts.reserve?.release(thrown) === true;
  }

  /** Rolls the whole commit back, and runs these transactions of the commit again. */
  #runAgain(jobs: readonly ShortJob[]): void {
    rollBack(this.#parts.connection);
    for (const job of jobs) job.outcome = null;
    this.#jobs.short.unshift(...jobs);
  }

  /** Waits for as long as the checkpointer asks. */
  async #catchUp(): Promise<void> {
    const pause = this.#parts.checkpointer.catchUp(performance.now());
    if (pause === null) return;
    await pause;
    // The log starts over with the next write, unless a snapshot reads from the log.
    this.#parts.reader.end();
    await this.numbering.renew();
  }

  /**
   * Runs a long transaction. In a migration, tables change for all readers at one moment: reads see the old tables until the
   * commit, and after the commit the new tables together with the matching state in memory.
   */
  async #runAlone(job: LongJob): Promise<void> {
    const { site } = job;
    let thread: ThreadConnection | null = null;
    let flushing: Timer | undefined;
    let notes: readonly Note[] | null = null;
    try {
      // Events are told by the definitions of their commit.
      if (site !== null && this.#unsettled > 0) await this.#parts.flusher.flush().then(() => this.#settling);
      if (site !== null) this.#parts.reader.hold();
      if (site === "thread") {
        thread = this.#parts.openThread();
        // Flushes during the migration leave less to flush at its commit.
        flushing = setInterval(() => void this.#parts.flusher.flush().catch(() => undefined), flushEveryMs);
      }
      this.#thread = thread;
      notes = await this.#runIn(thread, job);
    } catch (thrown) {
      if (this.#makesRoomFor([job], thrown)) this.#jobs.long.putBack(job.caller, job);
      else job.reject(this.#parts.meter.asRefusal(thrown));
    }
    clearInterval(flushing);
    if (site === null) this.#parts.reader.end();
    else this.#parts.reader.release({ isMigrated: notes !== null });
    if (notes !== null) this.#committed([job], notes, site !== null);
    if (thread !== null) this.#endThread(thread);
  }

  /** @param thread null for the connection of the event loop. Answers the notes of the commit. */
  async #runIn(thread: ThreadConnection | null, job: LongJob): Promise<readonly Note[]> {
    const now = thread?.now ?? this.#parts.connection;
    const slow = thread ?? asSlowTransactor(this.#parts.connection);
    await slow.run("BEGIN IMMEDIATE");
    const numbered = this.numbering.begin(job.replayed);
    const { log } = numbered;
    const tx = Object.assign(new JobTransactor(now, [], log), { slow: log === null ? slow : loggedSlow(slow, log) });
    try {
      job.outcome = { value: await job.work(tx), tx };
      const notes = this.#parts.projection.joined(tx.notes);
      await numbered.decide(now, notes, { site: job.site, giveUp: job.reject });
      await slow.run("COMMIT");
      return notes;
    } catch (thrown) {
      if (numbered.isDecided) this.#failDecided([job], thrown);
      // The error, or the end of the thread, may have rolled the transaction back already.
      await slow.run("ROLLBACK").catch(() => undefined);
      throw thrown;
    } finally {
      tx.end();
    }
  }

  #endThread(thread: ThreadConnection): void {
    this.#thread = null;
    const closing = thread.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
    try {
      // This connection reads the new tables now, rather than when a statement does not match the schema.
      this.#parts.connection.get("SELECT 1 FROM sqlite_schema LIMIT 1");
    } catch (error) {
      this.#parts.logger.error("The tables could not be looked at after a migration", { error });
    }
    this.#parts.checkpointer.catchUpSoon();
  }

  #committed(batch: readonly Asked[], notes: readonly Note[], isMigration = false): void {
    this.#unsettled += batch.length;
    let followed: Promise<void> | null = null;
    try {
      this.#parts.projection.apply(notes);
      followed = this.numbering.committed(notes, isMigration);
    } catch (error) {
      // The state in memory and the database differ.
      this.#fail(batch, error);
      return;
    }
    this.#parts.flusher.flush().then(
      () => {
        this.#settling = (followed === null ? this.#settling : this.#settling.then(() => followed))
          .then(() => settle(batch, this.#parts.logger))
          .then(() => {
            this.#unsettled -= batch.length;
          });
      },
      (error) => this.#fail(batch, error),
    );
  }

  /** @param commit `hasSavepoint`: a failure can be rolled back without the other transactions of the commit. */
  #attempt(
    job: ShortJob,
    { notes, numbered: { log }, hasSavepoint }: { notes: Note[]; numbered: Numbered; hasSavepoint: boolean },
  ): Next {
    const before = notes.length;
    const logged = log?.length ?? 0;
    const tx = new JobTransactor(this.#parts.connection, notes, log);
    if (hasSavepoint) this.#parts.connection.run("SAVEPOINT job");
    try {
      const value = job.work(tx);
      if (value instanceof Promise) throw new Error("A short transaction must not answer a promise");
      if (hasSavepoint) this.#parts.connection.run("RELEASE job");
      job.outcome = { value, tx };
      return tx.endsBatch ? "commit" : "go on";
    } catch (thrown) {
      notes.length = before;
      log?.cut(logged);
      job.outcome = { error: this.#parts.meter.asRefusal(thrown) };
      if (hasMetDamage(thrown)) return "go on";
      // Some errors (a full disk) end the whole transaction: no part of this batch was written.
      if (!this.#parts.connection.inTransaction || this.#makesRoomFor([job], thrown)) throw thrown;
      if (!hasSavepoint) return tx.hasWritten ? "begin anew" : "go on";
      this.#parts.connection.run("ROLLBACK TO job");
      this.#parts.connection.run("RELEASE job");
      return "go on";
    } finally {
      tx.end();
    }
  }

  /** The journal has the commit, and this database does not: another instance will have the changes. */
  #failDecided(batch: readonly Asked[], error: unknown): void {
    rejectAll(batch, outcomeUnknown(error));
    this.#fail([], error);
  }

  #fail(batch: readonly Asked[], error: unknown): void {
    const isFirst = !this.#hasFailed;
    this.#hasFailed = true;
    const message = "The database could not be written to disk; the service is stopping.";
    this.#refusal = new AppError("unavailable", message, { cause: error });
    rejectAll([...batch, ...this.#jobs.clear()], this.#refusal);
    this.#unsettled -= batch.length;
    if (isFirst) this.#parts.onFatal(error);
  }
}
