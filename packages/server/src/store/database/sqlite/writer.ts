/** Writer: runs all transactions and migrations, one after another, with group commit. */
import { AppError, nextTurn } from "../../../base/kernel/index.ts";
import type { Logger } from "../../../base/logging/index.ts";
import { beginning, type ChainPlace } from "../../journal/index.ts";
import { type MigrationSite, type Note, StatementLog } from "../entry.ts";
import type { ReadOnly } from "../read-only.ts";
import { type CommitParts, JobTransactor, type Lead, type Migration, type Projection } from "../transaction.ts";
import type { Checkpointer } from "./checkpointer.ts";
import type { Connection, SnapshotReader } from "./connection.ts";
import { hasMetDamage, outcomeUnknown, refusalCause, stopping } from "./errors.ts";
import type { Flusher, SqliteMeter } from "./flush.ts";
import { NumberedCommit, roleIn } from "./numbering.ts";
import { placeOf } from "./position-table.ts";
import { type Job, type JobOptions, WriterQueue } from "./queue.ts";
import type { Reserve } from "./reserve.ts";
import type { ThreadConnection } from "./thread-connection.ts";

/** The bounds of a shared commit: the number of short transactions, and their time on the event loop. */
const maxShared = 256;
const sharedMs = 8;

/** Interval of flushes while a migration runs on a thread. */
const flushEveryMs = 50;

/** The longest time for which effects of flushed transactions hold the event loop; the other effects run in the next turn. */
const effectsMs = 5;

interface WriterParts {
  readonly connection: Connection;
  readonly flusher: Flusher;
  readonly checkpointer: Checkpointer;
  readonly reader: SnapshotReader;
  /** Opens a connection for a long migration. */
  readonly openThread: () => ThreadConnection;
  /** Called once, when a flush has failed and the writer can no longer promise durability. */
  readonly onFatal: (error: unknown) => void;
  readonly meter: SqliteMeter;
  readonly projection: Projection;
  readonly logger: Logger;
  readonly reserve: Reserve | null;
  readonly readOnly: Pick<ReadOnly, "refusal">;
}

/** After a short transaction: the next transaction of the commit, the commit, or the commit from the start, perhaps without the transaction. */
type Next = "go on" | "commit" | "begin anew" | "leave out";

/**
 * The only writer of the database. Each commit goes through the same states, one commit after the other up to the notes:
 *
 *     collect ──► begin ──► run ──► decide ──► commit ──► notes ──► flush ──► answers
 *        ▲                   │        │ the journal of a cluster refuses, or the disk
 *        └── run again ◄─────┴────────┘
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
  readonly #queue = new WriterQueue();
  /** The number of transactions requested so far. */
  #asked = 0;
  /** The turns of the waiting transactions; null if no transaction waits. */
  #turning: Promise<void> | null = null;
  /** The answers of all commits, in commit order; resolves after the last. */
  #answering: Promise<void> = Promise.resolve();
  /** The thread of the running migration. */
  #thread: ThreadConnection | null = null;
  #flushing: Timer | undefined;
  readonly #closing = new Set<Promise<void>>();
  #isOutOfTime = false;
  #refusal: AppError | null = null;
  #hasFailed = false;
  /** The number of the last short transaction in a commit that runs again with savepoints. */
  #again = -1;
  #lead: Lead | null = null;
  #place: ChainPlace = beginning;

  constructor(parts: WriterParts) {
    this.#parts = parts;
  }

  /** Queues a transaction: a long one if the options name a caller; the changes of a short one are complete when `work` returns. */
  transact<T>(work: (tx: Migration) => T | Promise<T>, options: JobOptions): Promise<T> {
    const refused = options.replayed === undefined ? this.#lead?.commitPoint?.refusal : null;
    const refusal = this.#refusal ?? refused ?? null;
    if (refusal !== null) return Promise.reject(refusal);
    return new Promise<T>((resolve, reject) => {
      const number = this.#asked++;
      // `resolve` is only called with the value that `work` returned.
      this.#queue.add({ number, work, options, resolve: resolve as (value: unknown) => void, reject, outcome: null });
      this.#turning ??= this.#turns();
    });
  }

  /** Changes parts of the numbering. No long transaction runs. */
  lead(lead: Partial<Lead>): void {
    this.#lead = { followers: null, commitPoint: null, copies: null, ...this.#lead, ...lead };
    this.#place = placeOf(this.#parts.connection);
  }

  /** The place of the last commit. */
  get place(): ChainPlace {
    return this.#place;
  }

  /** Refuses new transactions and waits for the accepted ones. After `graceMs`, the rest is refused, too. */
  async close(graceMs: number): Promise<void> {
    this.#refusal ??= stopping();
    const timer = setTimeout(() => this.giveUp(), graceMs);
    while (this.#turning !== null) await this.#turning;
    await this.#answering;
    clearTimeout(timer);
    // An abandoned thread ends with its statement; the process may end before.
    if (!this.#isOutOfTime) await Promise.all(this.#closing);
  }

  /** Whether all further transactions are refused. */
  get isOver(): boolean {
    return this.#refusal !== null;
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

  /** Each turn begins after the sockets have delivered the requests of the turn before, so that a commit contains these requests. */
  async #turns(): Promise<void> {
    try {
      do {
        await nextTurn();
        await this.#turn();
      } while (!this.#queue.isEmpty);
    } catch (error) {
      // The state in memory and the database may differ now.
      this.#fail([], error);
    }
    this.#turning = null;
  }

  /** Collects the waiting short transactions, then the next long ones. */
  async #turn(): Promise<void> {
    if (this.#isOutOfTime) {
      // An abandoned thread may hold the lock until its statement has ended, so no transaction begins.
      rejectAll(this.#queue.clear(), this.#refusal);
      return;
    }
    if (this.#queue.hasShort) {
      await this.#catchUp();
      await this.#commit(this.#queue.takeShort(maxShared));
    }
    // Quick long transactions share a turn; after a slower one, newly arrived short transactions go first.
    const until = performance.now() + sharedMs;
    do {
      const long = this.#queue.takeLong();
      if (long === null) return;
      await this.#catchUp();
      await this.#commit([long]);
    } while (!this.#queue.hasShort && performance.now() < until);
  }

  /** Waits for as long as the checkpointer asks. */
  async #catchUp(): Promise<void> {
    const pause = this.#parts.checkpointer.catchUp(performance.now());
    if (pause === null) return;
    await pause;
    // The log starts over with the next write, unless a snapshot reads from the log.
    this.#parts.reader.end();
    await this.#lead?.followers?.renew();
  }

  /**
   * Before a migration. Tables change for all readers at one moment: reads see the old tables until the commit, and after the commit the
   * new tables together with the matching state in memory.
   */
  async #hold(site: MigrationSite): Promise<void> {
    const { reader, flusher, openThread } = this.#parts;
    // Events are told by the definitions of their commit.
    await this.#answering;
    reader.hold();
    if (site === "event-loop") return;
    this.#thread = openThread();
    // Flushes during the migration leave less to flush at its commit.
    this.#flushing = setInterval(() => void flusher.flush().catch(() => undefined), flushEveryMs);
  }

  #endThread(): void {
    const thread = this.#thread;
    if (thread === null) return;
    const { connection, checkpointer, logger } = this.#parts;
    this.#thread = null;
    clearInterval(this.#flushing);
    const closing = thread.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
    try {
      // This connection reads the new tables now, rather than when a statement does not match the schema.
      connection.get("SELECT 1 FROM sqlite_schema LIMIT 1");
    } catch (error) {
      logger.error("The tables could not be looked at after a migration", { error });
    }
    checkpointer.catchUpSoon();
  }

  /** Takes transactions through the states of a commit: short transactions together, or a long transaction alone. */
  async #commit(asked: readonly Job[]): Promise<void> {
    const jobs = this.#admitted(asked);
    const [first] = jobs;
    if (first === undefined) return;
    const { caller, site = null, replayed } = first.options;
    const { connection, projection, reader } = this.#parts;
    let numbered: NumberedCommit | null = null;
    let notes: readonly Note[];
    try {
      if (site !== null) await this.#hold(site);
      const thread = this.#thread;
      const log = replayed === undefined && roleIn(this.#lead) !== null ? new StatementLog() : null;
      const commit: CommitParts = { connection: thread?.now ?? connection, thread, notes: [], log };
      if (thread === null) connection.run("BEGIN IMMEDIATE");
      else await thread.run("BEGIN IMMEDIATE");
      if (caller !== undefined) await runLong(first, commit);
      else if (!this.#runShort(jobs, commit)) return;
      notes = projection.joined(commit.notes);
      // The transaction may have begun to lead.
      if (this.#lead !== null) {
        numbered = new NumberedCommit(this.#lead, this.#place, { log, replayed: replayed ?? null });
        await numbered.decide(commit.connection, notes, { site, giveUp: (reason) => this.#giveUpOn(jobs, reason) });
      }
      if (thread === null) connection.run("COMMIT");
      else await thread.run("COMMIT");
    } catch (thrown) {
      if (numbered?.isDecided === true) {
        // The journal has the commit, and this database does not: another instance will have the changes.
        rejectAll(jobs, outcomeUnknown(thrown));
        this.#fail([], thrown);
      } else await this.#takeBack(jobs, thrown);
      if (site !== null) reader.release({ isMigrated: false });
      this.#endThread();
      return;
    }
    this.#committed(jobs, notes, { numbered, isMigration: site !== null });
    this.#endThread();
  }

  /** The transactions that may run: on a full disk, only the ones that make room; while the service is read-only, only the ones that say so. */
  #admitted(jobs: readonly Job[]): Job[] {
    const full = this.#parts.reserve?.releasedFor ?? null;
    const refusal = full ?? this.#parts.readOnly.refusal;
    if (refusal === null) return [...jobs];
    const mayRun = ({ options: { makesRoom, whileReadOnly } }: Job): boolean =>
      (full === null ? whileReadOnly : makesRoom) === true;
    this.#refuse(
      jobs.filter((job) => !mayRun(job)),
      refusal,
    );
    return jobs.filter(mayRun);
  }

  #refuse(jobs: readonly Job[], thrown: unknown): void {
    for (const { reject } of jobs) reject(this.#parts.meter.asRefusal(thrown));
  }

  /** While the outcome of a commit is unknown, neither the commit nor the transactions behind wait. */
  #giveUpOn(jobs: readonly Job[], reason: AppError): void {
    rejectAll(jobs, reason);
    rejectAll(this.#queue.clear(), this.#lead?.commitPoint?.refusal ?? reason);
  }

  /** Whether the transactions did not fit on the disk, and run again with the room of the reserve, as far as they make room. */
  #makesRoomFor(jobs: readonly Job[], thrown: unknown): boolean {
    const wantsRoom = refusalCause(thrown) === "full" && jobs.some(({ options }) => options.makesRoom === true);
    return wantsRoom && this.#parts.reserve?.release(thrown) === true;
  }

  /** Takes a commit back that has failed. */
  async #takeBack(jobs: readonly Job[], thrown: unknown): Promise<void> {
    const runsAgain = this.#makesRoomFor(jobs, thrown);
    // The error, or the end of the thread, may have rolled the transaction back already.
    if (this.#thread !== null) await this.#thread.run("ROLLBACK").catch(() => undefined);
    try {
      if (this.#thread === null) this.#rollBack();
    } catch (error) {
      this.#refuse(jobs, thrown);
      throw error;
    }
    if (runsAgain) this.#queue.putBack(jobs);
    else this.#refuse(jobs, thrown);
  }

  /** Rolls an open transaction back. @throws an error if the transaction stays open. */
  #rollBack(): void {
    const { connection } = this.#parts;
    try {
      if (connection.inTransaction) connection.run("ROLLBACK");
    } catch (error) {
      // Damage ends a transaction, and the statement reports damage again. An open transaction would take in the next one.
      if (connection.inTransaction) throw error;
    }
  }

  /**
   * Runs short transactions. Transactions that exceed the time go back to the queue, and are removed from `jobs`.
   * @returns false if the transactions were rolled back, and run again in another commit.
   */
  #runShort(jobs: Job[], commit: CommitParts): boolean {
    const hasSavepoints = jobs.some(({ number, options }) => number <= this.#again || options.isRepeatable !== true);
    const until = performance.now() + sharedMs;
    for (const [i, job] of jobs.entries()) {
      const next = this.#attempt(job, commit, hasSavepoints);
      if (next === "begin anew" || next === "leave out") {
        if (next === "begin anew") this.#again = jobs.at(-1)?.number ?? this.#again;
        const others = next === "leave out" ? jobs.filter((other) => other !== job) : jobs;
        // A transaction that could not be rolled back is refused, and must not be in the queue, too.
        this.#rollBack();
        this.#queue.putBack(others);
        return false;
      }
      // State that changes with the commit (definitions, sessions) must be in force for the next transaction.
      if (next === "commit" || performance.now() > until) this.#queue.putBack(jobs.splice(i + 1));
    }
    return true;
  }

  /** @param hasSavepoint whether a failure can be rolled back without the other transactions of the commit. */
  #attempt(job: Job, commit: CommitParts, hasSavepoint: boolean): Next {
    const { connection, meter } = this.#parts;
    const { notes, log } = commit;
    const before = notes.length;
    const logged = log?.length ?? 0;
    const tx = new JobTransactor(commit);
    if (hasSavepoint) connection.run("SAVEPOINT job");
    try {
      const value = job.work(tx);
      if (value instanceof Promise) throw new Error("A short transaction must not answer a promise");
      if (hasSavepoint) connection.run("RELEASE job");
      job.outcome = { value, effects: tx.effects };
      return tx.endsBatch ? "commit" : "go on";
    } catch (thrown) {
      notes.length = before;
      log?.cut(logged);
      const error = meter.asRefusal(thrown);
      job.outcome = { error };
      if (hasMetDamage(thrown)) {
        // A transaction in which a statement has met damage cannot be committed. The job fails alone.
        job.reject(error);
        return "leave out";
      }
      // Some errors (a full disk) end the whole transaction: no part of this batch was written.
      if (!connection.inTransaction || this.#makesRoomFor([job], thrown)) throw thrown;
      if (!hasSavepoint) return tx.hasWritten ? "begin anew" : "go on";
      connection.run("ROLLBACK TO job");
      connection.run("RELEASE job");
      return "go on";
    } finally {
      tx.end();
    }
  }

  /** The commit has happened: state in memory and the other processes follow, then the flush, then the answers. */
  #committed(
    jobs: readonly Job[],
    notes: readonly Note[],
    { numbered, isMigration }: { numbered: NumberedCommit | null; isMigration: boolean },
  ): void {
    const { reader, projection } = this.#parts;
    try {
      if (isMigration) reader.release({ isMigrated: true });
      else reader.end();
      projection.apply(notes);
      this.#place = numbered?.place ?? this.#place;
      this.#answering = this.#answer(jobs, numbered, numbered?.tell(notes, isMigration) ?? null);
    } catch (error) {
      // The state in memory and the database differ.
      this.#fail(jobs, error);
    }
  }

  /** @param followed resolves when the other processes have the commit. */
  async #answer(jobs: readonly Job[], numbered: NumberedCommit | null, followed: Promise<void> | null): Promise<void> {
    const earlier = this.#answering;
    try {
      await this.#parts.flusher.flush();
    } catch (error) {
      this.#fail(jobs, error);
      return;
    }
    await earlier;
    await followed;
    numbered?.keep();
    await answerAll(jobs, this.#parts.logger);
  }

  #fail(jobs: readonly Job[], error: unknown): void {
    const isFirst = !this.#hasFailed;
    this.#hasFailed = true;
    const message = "The database could not be written to disk; the service is stopping.";
    this.#refusal = new AppError("unavailable", message, { cause: error });
    rejectAll([...jobs, ...this.#queue.clear()], this.#refusal);
    if (isFirst) this.#parts.onFatal(error);
  }
}

function rejectAll(jobs: readonly Job[], reason: unknown): void {
  for (const { reject } of jobs) reject(reason);
}

async function runLong(job: Job, commit: CommitParts): Promise<void> {
  const tx = new JobTransactor(commit);
  try {
    job.outcome = { value: await job.work(tx), effects: tx.effects };
  } finally {
    tx.end();
  }
}

/**
 * Answers each transaction of a commit after its effects. If the effects of a transaction are slow, the transaction is answered at once, and
 * the effects and the answer of the next wait for the slow effects.
 */
async function answerAll(jobs: readonly Job[], logger: Logger): Promise<void> {
  let until = performance.now() + effectsMs;
  for (const { outcome, resolve, reject } of jobs) {
    if (outcome === null) continue;
    if ("error" in outcome) {
      reject(outcome.error);
      continue;
    }
    for (const effect of outcome.effects) {
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
