/** Database: a SQLite file with a write-ahead log, one writer, and readers on the event loop and on threads. `store.ts` has the guarantees. */
import { statSync } from "node:fs";
import { AppError, type Preview, type Principal, previewOf, shareOf } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { ChainPlace, History } from "../journal/index.ts";
import { CallerChecks, rightsOf } from "./caller-checks.ts";
import type { CommitEntry, MigrationSite } from "./entry.ts";
import { ReadOnly } from "./read-only.ts";
import { Rehearsal, type RehearsalOptions } from "./rehearsal.ts";
import { Connection, SnapshotReader } from "./sqlite/connection.ts";
import { SqliteMeter } from "./sqlite/flush.ts";
import { Following } from "./sqlite/following.ts";
import { addFunctions } from "./sqlite/functions.ts";
import { type HeldState, holdState } from "./sqlite/held-state.ts";
import { asSetupError, resolvePath, upgradeModule, upgradeTables, versionsOf } from "./sqlite/open-file.ts";
import { historyOf, type JournalPlace, placeOf } from "./sqlite/position-table.ts";
import { ReaderThreads, type ThreadWork } from "./sqlite/reader-threads.ts";
import { replayIn } from "./sqlite/replay.ts";
import { statementThread } from "./sqlite/thread-connection.ts";
import { schemaVersionOf } from "./sqlite/thread-server.ts";
import { openWriteSide, type WriteSide, type WriteSideOptions } from "./sqlite/write-side.ts";
import type { LongRead, PausableReads, Reader, ScratchConnection, SlowReader, Waiter } from "./store.ts";
import {
  type CallersMigration,
  type CallersWork,
  type CommitCopies,
  chainSchema,
  type Followers,
  type Lead,
  type Migration,
  type ModuleSchema,
  Projection,
  positionSchema,
  type TransactOptions,
  type Transactor,
} from "./transaction.ts";

export interface DatabaseOptions extends WriteSideOptions {
  path: string;
  /** The module of the threads for `query`, which calls `serveThread` with the tasks. */
  queryThread?: string;
  /** How many queries of one caller may wait for a thread (`limits.queries`). Default 256. */
  maxQueries?: number;
  /** How long a query may run on a thread, in milliseconds (`limits.queryTime`). Default ten seconds. */
  threadLimitMs?: number;
  /** Whether this process reads a database that another process writes; see `following`. Default false. */
  isReader?: boolean;
}

/** The bound of waiting queries, as a multiple of the bound of one caller. */
const callersAtOnce = 4;
/** Admins read without a limit of time, so only a few reads of admins may wait. */
const adminReads = { maxWaiting: 30, waitingShare: 15, limitMs: Number.POSITIVE_INFINITY };

/** The embedded database: `reader` for committed data, `transact` for every change. */
export class Database {
  readonly path: string;
  readonly meter = new SqliteMeter();
  readonly projection = new Projection();
  readonly readOnly = new ReadOnly(this.projection);
  readonly reader: Reader;
  /** Reads on the event loop, for reads that an index answers quickly. */
  readonly rows: Pick<SnapshotReader, keyof Reader | "within">;
  readonly callers: CallerChecks;
  readonly #logger: Logger;
  readonly #reader: SnapshotReader;
  /** Null in a reader process. */
  readonly #writeSide: WriteSide | null;
  /** Follows the commits of another process; null in the process that writes. */
  readonly following: Following | null;
  /** Closes the parts, the last first, at the end of `close`. */
  readonly #closers: (() => void)[] = [];
  /** Threads for reads of admins, without a limit of time. */
  readonly #threads: ReaderThreads;
  /** Threads for reads of all callers, with a limit of time. */
  readonly #queryThreads: ReaderThreads;
  /** The thread of `memoryTask`. */
  readonly #memoryThread: ReaderThreads;
  /** The rows that stop probes of `readOwn` may still meet. */
  #ownRowsLeft = Number.POSITIVE_INFINITY;
  /** Migrations that run or wait. */
  #migrations = 0;
  /** See `joinGaps`. */
  readonly #joined: PausableReads[] = [];
  readonly #rehearsals = new WeakMap<Preview, Rehearsal>();

  /** @throws SetupError with one readable line when the file cannot be used. */
  constructor(options: DatabaseOptions) {
    const path = resolvePath(options.path);
    const { logger, maxQueries = 256, threadLimitMs = 10_000, isReader = false } = options;
    this.path = path;
    this.#logger = logger;
    try {
      const onProbe = (): void => {
        this.#ownRowsLeft -= 1;
        if (this.#ownRowsLeft < 0) throw new Error("The read of a transaction meets too many rows");
      };
      const closers = this.#closers;
      const openWriting = isReader ? null : openWriteSide({ ...options, path, onProbe, closers });
      this.#reader = new SnapshotReader((probe) => {
        const connection = new Connection(path, { readonly: true });
        addFunctions(connection, probe);
        return connection;
      });
      closers.push(() => this.#reader.close());
      this.reader = this.rows = this.#reader;
      this.callers = new CallerChecks(this.#reader);
      this.#threads = new ReaderThreads({ path, entry: statementThread(), ...adminReads });
      const maxWaiting = callersAtOnce * maxQueries;
      const entry = options.queryThread ?? statementThread();
      const share = { path, entry, maxWaiting, waitingShare: maxQueries, limitMs: threadLimitMs };
      this.#queryThreads = new ReaderThreads({ ...share, keepsShortThread: true });
      this.#memoryThread = new ReaderThreads({ ...share, isSingle: true });
      this.#writeSide = openWriting?.(this.#reader, this) ?? null;
      this.following = isReader ? new Following(this.#reader, this.projection) : null;
      for (const reads of this.pausableReads) this.#writeSide?.checkpointer.add(reads);
    } catch (thrown) {
      this.#closeAll();
      throw asSetupError(path, thrown);
    }
  }

  /** The reads for this process that may hold an old state of the database. */
  get pausableReads(): readonly PausableReads[] {
    return [this.#threads, this.#queryThreads, this.#memoryThread, this.#reader, ...this.#joined];
  }

  get #writing(): WriteSide {
    if (this.#writeSide === null) throw new Error("A reader process does not write");
    return this.#writeSide;
  }

  /** From now on, other processes follow the commits: no transaction is answered before the followers have the commit. */
  async leadBy(followers: Followers): Promise<void> {
    // The first commit that is told is the commit of this transaction.
    await this.upkeep(() => this.#writing.writer.lead({ followers }));
  }

  /**
   * In a cluster: the place in the journal, and the id of the journal, null for a database of no journal. Makes the tables; the tables
   * belong to the file, and no journal has their changes.
   */
  async placeInJournal(): Promise<JournalPlace> {
    await this.upkeep((tx) => upgradeModule(tx, this.path, positionSchema));
    return placeOf(this.reader);
  }

  /** The id of the journal that the database belongs to; null for the database of a single service. */
  get journal(): string | null {
    return (this.tableVersions().get(positionSchema.module) ?? 0) === positionSchema.steps.length
      ? placeOf(this.reader).journal
      : null;
  }

  /** The versions of the tables, by module. */
  tableVersions(): ReadonlyMap<string, number> {
    return versionsOf(this.reader);
  }

  /** In a cluster: the database belongs to a journal from now on. @param entry the id of the entry at the position, if known. */
  async joinJournal(id: string, entry: string | null): Promise<void> {
    await this.upkeep((tx) => tx.run("UPDATE _position SET journal = ?, entry = ?", id, entry));
  }

  /** The history of the database in the chain of the journal. */
  get history(): History {
    return historyOf(this.reader);
  }

  /** From now on, a journal decides the commits. To be called when no transaction runs or waits. */
  journalBy(lead: Omit<Lead, "copies">): void {
    this.#writing.writer.lead(lead);
  }

  /**
   * From now on, `copies` takes each commit. To be called when no transaction runs or waits. Answers the name of the chain of the
   * database, which is made at the first call, and the place of the last commit in the chain.
   */
  async copyTo(copies: CommitCopies): Promise<{ chain: string; place: ChainPlace }> {
    await this.placeInJournal();
    await this.upkeep((tx) => {
      upgradeModule(tx, this.path, chainSchema);
      tx.run("INSERT INTO _chain (only, name) VALUES (1, ?) ON CONFLICT DO NOTHING", crypto.randomUUID());
    });
    this.#writing.writer.lead({ copies });
    const own = this.reader.get<{ name: string }>("SELECT name FROM _chain")?.name ?? "";
    // The commits above have no copies.
    return { chain: this.journal ?? own, place: this.place };
  }

  /** The next commit has a position after `position`. */
  async skipTo(position: number): Promise<void> {
    await this.upkeep((tx) => {
      tx.run("UPDATE _position SET position = max(position, ?)", position);
      this.#writing.writer.lead({});
    });
  }

  /** Without copies, the commits are no entries of the chain: the database of a single service has no place in the chain from now on. */
  async leaveChain(): Promise<void> {
    if (!this.tableVersions().has(chainSchema.module) || this.journal !== null || placeOf(this.reader).id === null)
      return;
    await this.upkeep((tx) => tx.run("UPDATE _position SET entry = NULL"));
  }

  /** The number of the last commit; 0 in a service of a single process. */
  get position(): number {
    return this.place.position;
  }

  /** The place of the last commit in the chain of the journal. */
  get place(): ChainPlace {
    return this.#writing.writer.place;
  }

  /** Runs the entry of the next position, with the id. Resolves when reads see the commit. @throws EntryMismatch; see `replayIn`. */
  replay(entry: CommitEntry, id: string | null): Promise<void> {
    const options = { site: entry.site, caller: "", makesRoom: true, whileReadOnly: true, replayed: id };
    return this.#writing.writer.transact((tx) => replayIn(tx, entry), options);
  }

  /**
   * Runs `work` in a new transaction and resolves with the answer when the change is on disk. An error of `work` rolls
   * the transaction back and is thrown here. `work` must not wait for another transaction.
   * @throws AppError `unavailable` when the disk refuses the change, while the service is read-only, or while the service stops.
   */
  transact<T>(work: (tx: Transactor) => T, options: TransactOptions = {}): Promise<T> {
    return this.#writing.writer.transact(work, options);
  }

  /** Like `transact`, for what the service keeps for itself, such as sessions and the progress of runs: also while the service is read-only. */
  upkeep<T>(work: (tx: Transactor) => T, options: TransactOptions = {}): Promise<T> {
    return this.transact(work, { ...options, whileReadOnly: true });
  }

  /** Like `transact`, for work that takes turns with the event loop. The work runs alone, when `caller` has the turn. */
  transactLong<T>(
    caller: string,
    work: (tx: Transactor) => Promise<T>,
    options: Pick<TransactOptions, "whileReadOnly"> = {},
  ): Promise<T> {
    return this.#writing.writer.transact(work, { ...options, caller });
  }

  /** Whether all further transactions are refused: a flush has failed, or the service stops. */
  get isOver(): boolean {
    return this.#writing.writer.isOver;
  }

  /** A write without a change: a success proves that the disk accepts writes. @throws AppError as `transact`. */
  async probe(): Promise<void> {
    await this.upkeep((tx) => tx.run("UPDATE _schema SET version = version WHERE module = 'events'"));
  }

  /**
   * Like `transact`, for a change that a caller asked for. The session and the role of the caller are checked inside the
   * transaction, after all earlier commits.
   * @param work gets the caller with the present role.
   * @param options `makesRoom` takes effect only for admins; for a signed-in admin also while the service is read-only.
   * @throws AppError `unauthorized` when the session has ended.
   */
  transactFor<T>(principal: Principal, work: CallersWork<T>, options: TransactOptions = {}): Promise<T> {
    const rehearsal = this.#rehearsalOf(principal);
    if (rehearsal !== null) return rehearsal.transact((tx) => work(tx, this.callers.recheck(principal, tx)));
    const checked = { isRepeatable: options.isRepeatable === true, ...rightsOf(principal, options) };
    return this.transact((tx) => work(tx, this.callers.recheck(principal, tx)), checked);
  }

  /**
   * Like `transactLong`, for a change that a caller asked for; see `transactFor`.
   * @param options `caller` in whose turn the work runs; by default, the caller behind the principal.
   */
  transactLongFor<T>(
    principal: Principal,
    work: CallersWork<Promise<T>>,
    options: Pick<TransactOptions, "makesRoom" | "whileReadOnly"> & { readonly caller?: string | undefined } = {},
  ): Promise<T> {
    const rehearsal = this.#rehearsalOf(principal);
    if (rehearsal !== null) return rehearsal.transact((tx) => work(tx, this.callers.recheck(principal, tx)));
    const { caller = shareOf(principal) ?? "" } = options;
    const checked = { caller, ...rightsOf(principal, options) };
    return this.#writing.writer.transact((tx) => work(tx, this.callers.recheck(principal, tx)), checked);
  }

  /** Begins a rehearsal: `transactFor` and `transactLongFor` make each change of the code of a preview in the rehearsal alone. */
  rehearse(preview: Preview, options: Omit<RehearsalOptions, "transact">): Rehearsal {
    const transact: RehearsalOptions["transact"] = (work) =>
      this.#writing.writer.transact(work, { caller: "previews", whileReadOnly: true });
    const rehearsal = new Rehearsal({ ...options, transact });
    this.#rehearsals.set(preview, rehearsal);
    return rehearsal;
  }

  /** The rehearsal of the preview of a caller; null outside of previews. */
  #rehearsalOf(principal: Principal): Rehearsal | null {
    const preview = previewOf(principal);
    if (preview === null) return null;
    const rehearsal = this.#rehearsals.get(preview);
    if (rehearsal === undefined) throw new Error("A preview has no rehearsal");
    return rehearsal;
  }

  /**
   * Runs reads of an open transaction, whose statements carry a `stopProbe`, within a number of rows.
   * @throws AppError `bad_request` beyond the number.
   */
  readOwn<T>(maxRows: number, work: () => T): T {
    this.#ownRowsLeft = maxRows;
    try {
      return work();
    } catch (thrown) {
      if (this.#ownRowsLeft >= 0) throw thrown;
      throw new AppError(
        "bad_request",
        `After a write of the transaction, a read may visit ${maxRows} records at most. Make the read before the first write, or give the read an index.`,
      );
    } finally {
      this.#ownRowsLeft = Number.POSITIVE_INFINITY;
    }
  }

  /** Like `migrate`, for a change that a caller asked for; see `transactFor`. */
  migrateFor<T>(principal: Principal, work: CallersMigration<T>, site: MigrationSite): Promise<T> {
    return this.migrate((tx) => work(tx, this.callers.recheck(principal, tx)), site);
  }

  /**
   * Like `transact`, for a change of tables. On a "thread", requests go on during the migration: reads see the old tables
   * until the commit, writes wait.
   */
  async migrate<T>(
    work: (tx: Migration) => T | Promise<T>,
    site: MigrationSite,
    options: Pick<TransactOptions, "whileReadOnly"> = {},
  ): Promise<T> {
    this.#migrations += 1;
    try {
      return await this.#writing.writer.transact(work, { ...options, caller: "", site });
    } finally {
      this.#migrations -= 1;
    }
  }

  /** Whether a migration runs or waits: writes may then wait for a long time. */
  get isMigrating(): boolean {
    return this.#migrations > 0;
  }

  /** Reads over many turns of the event loop, which do not see a migration in between. The caller ends the long read. */
  longRead(): LongRead {
    return this.#reader.longRead();
  }

  /**
   * Reads on a thread, without a limit of time, all in one snapshot: for admins. Two run at a time; a few others wait.
   * @throws AppError `unavailable` when too many wait, the write-ahead log needs room, or the disk cannot be read.
   */
  readOnThread<T>(work: (reader: SlowReader) => Promise<T>, waiter: Waiter): Promise<T> {
    return this.#runFor(waiter, this.#threads, (thread) => thread.inSnapshot(work));
  }

  /** Pauses the given reads of another module or process when the write-ahead log waits for a gap between reads. */
  joinGaps(reads: PausableReads): void {
    this.#joined.push(reads);
    this.#writeSide?.checkpointer.add(reads);
  }

  /**
   * Reads on a thread, with a limit of time, all in one snapshot. The statements carry a `stopProbe`.
   * @throws AppError as `readOnThread`, also when the reads take too long.
   */
  query<T>(work: (reader: SlowReader) => Promise<T>, waiter: Waiter): Promise<T> {
    return this.#runFor(waiter, this.#queryThreads, (thread) => thread.inSnapshot(work));
  }

  /**
   * A connection that reads and has temporary tables. Each statement sees all commits so far. The connection closes with
   * the database.
   * @param onProbe is called for each row that a `stopProbe` meets; the error ends the statement.
   */
  openScratch(onProbe: () => void): ScratchConnection {
    const connection = new Connection(this.path, { readonly: true });
    addFunctions(connection, onProbe);
    this.#closers.push(() => connection.close());
    return connection;
  }

  /**
   * Like `query`, for a task of the module that these threads run.
   * @param makeInput is called when the task's turn has come, and sees the definitions of that moment.
   * @throws SchemaChanged when a migration has changed the tables between that call and the snapshot.
   */
  task<T>(makeInput: () => unknown, waiter: Waiter): Promise<T> {
    return this.#runFor(waiter, this.#queryThreads, (thread) => thread.task<T>(makeInput(), this.schemaVersion));
  }

  /** Like `task`, on the one thread whose tasks keep in memory what they have read. */
  memoryTask<T>(makeInput: () => unknown, waiter: Waiter): Promise<T> {
    return this.#runFor(waiter, this.#memoryThread, (thread) => thread.task<T>(makeInput(), this.schemaVersion));
  }

  /** Runs work for a caller that waits. */
  #runFor<T>(waiter: Waiter, threads: ReaderThreads, work: ThreadWork<T>): Promise<T> {
    return threads.run(async (thread) => {
      this.callers.refuseOtherRole(waiter.principal ?? null);
      return work(thread);
    }, waiter);
  }

  /** The version of the tables: SQLite raises the version with each change of the schema. */
  get schemaVersion(): number {
    return schemaVersionOf(this.#reader);
  }

  /**
   * Holds the database file and the log in the state of the last commit, for a copy, while writes go on. The log
   * grows meanwhile: the caller limits the growth and releases the state.
   */
  holdState(): Promise<HeldState> {
    return holdState(this.#writing.holdOptions);
  }

  /** Bytes of the database file and of its log. */
  sizes(): { database: number; log: number } {
    return { database: statSync(this.path).size, log: statSync(`${this.path}-wal`).size };
  }

  /** Bytes of the pages of the database file that hold nothing. */
  get unusedBytes(): number {
    const pages = this.reader.get<{ freelist_count: number }>("PRAGMA freelist_count")?.freelist_count ?? 0;
    return pages * (this.reader.get<{ page_size: number }>("PRAGMA page_size")?.page_size ?? 0);
  }

  /** Bytes of the log that no checkpoint has copied into the database file yet. */
  get uncopiedLog(): number {
    return this.#writing.checkpointer.uncopied;
  }

  /** Upgrades the tables of the modules to this version, in one transaction. */
  async prepare(schemas: readonly ModuleSchema[]): Promise<void> {
    await this.upkeep((tx) => upgradeTables(tx, this.path, schemas));
  }

  /** Refuses all new transactions, and the accepted transactions that are not done: the callers get an answer. */
  giveUp(): void {
    this.#writeSide?.writer.giveUp();
    this.#threads.giveUp();
    this.#queryThreads.giveUp();
    this.#memoryThread.giveUp();
  }

  /**
   * Waits for accepted transactions, copies the log into the file and closes the file. After `graceMs` (8 s), the rest
   * is given up: a migration is rolled back.
   */
  async close(graceMs = 8_000): Promise<void> {
    const timer = setTimeout(() => this.giveUp(), graceMs);
    const writing = this.#writeSide?.writer.close(graceMs);
    const threads = [this.#threads, this.#queryThreads, this.#memoryThread];
    await Promise.all([writing, ...threads.map((each) => each.close())]);
    clearTimeout(timer);
    await this.#writeSide?.close();
    this.#closeAll();
  }

  /** Closes all opened parts, whatever state the constructor or `close` has reached. */
  #closeAll(): void {
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      try {
        close();
      } catch (error) {
        this.#logger.error("The database could not be closed in good order", { error });
      }
    }
  }
}
