/** SQLite database: the engine behind the store, put together from the other files of this folder. */
import { statSync } from "node:fs";
import { AppError, type Awaitable, isAdmin, type Principal, SetupError } from "../../kernel/index.ts";
import type { Logger } from "../../logging/index.ts";
import type {
  CallerGuard,
  CallersWork,
  Database,
  HeldState,
  LongRead,
  LoopReader,
  MigrationSite,
  ModuleSchema,
  PausableReads,
  Reader,
  ScratchConnection,
  TransactOptions,
  Transactor,
  Waiter,
} from "../store.ts";
import { Checkpointer } from "./checkpointer.ts";
import type { Connection } from "./connection.ts";
import { Flusher } from "./flusher.ts";
import { addFunctions } from "./functions.ts";
import { holdState } from "./held-state.ts";
import { DatabaseLock } from "./lock.ts";
import { SqliteMeter } from "./meter.ts";
import { asSetupError, openDatabaseFile, openLog, openReader, openWriter, resolvePath } from "./open-file.ts";
import { ReaderThreads } from "./reader-threads.ts";
import { Reserve } from "./reserve.ts";
import { SnapshotReader } from "./snapshot-reader.ts";
import { statementThread, ThreadConnection } from "./thread-connection.ts";
import { schemaVersionOf } from "./thread-server.ts";
import { Writer } from "./writer.ts";

export interface SqliteOptions {
  /** Absolute path of the database file. */
  path: string;
  logger: Logger;
  /**
   * Called once when a flush has failed, or when the file is not this service's any more: everything is refused from
   * then on, and the process should end.
   */
  onFatal: (error: unknown) => void;
  /**
   * Called once the lock is held and before the file is opened: the leftovers of an interrupted command are repaired
   * here.
   */
  onLocked?: () => void;
  /** Bytes of the write-ahead log from which writes wait for it (`limits.wal`). Default 64 MiB. */
  logLimit?: number;
  /** The module of the threads for `query`, which calls `serveThread` with the tasks that it knows. */
  queryThread?: string;
  /** How many queries of one caller may wait for a thread (`limits.queries`). Default 256. */
  maxQueries?: number;
  /** How long a query may run on a thread, in milliseconds (`limits.queryTime`). Default ten seconds. */
  threadLimitMs?: number;
  /** Whether room on the disk is reserved for admins who make room. Default false. */
  hasReserve?: boolean;
  /** Replaces the flush of the log, for a test of its failure. */
  sync?: () => Promise<void>;
}

type ThreadWork<T> = (thread: ThreadConnection) => Promise<T>;

/** Statements of one snapshot. */
function inSnapshot<T>(work: (reader: Reader) => Promise<T>): ThreadWork<T> {
  return async (thread) => {
    await thread.run("BEGIN");
    try {
      return await work(thread);
    } finally {
      // Damage, and whoever abandons the thread, end the transaction by themselves.
      await thread.run("ROLLBACK").catch(() => undefined);
    }
  };
}

/** Queries that wait for a thread: so many times those of one caller. */
const callersAtOnce = 4;
/** Admins read without a limit of time, so few of their reads may wait. */
const adminReads = { maxWaiting: 30, waitingShare: 15, limitMs: Number.POSITIVE_INFINITY };

/** The engine on SQLite: a file with a write-ahead log, one writer, readers on the event loop and on threads. */
export class SqliteDatabase implements Database {
  readonly path: string;
  readonly meter = new SqliteMeter();
  readonly #logger: Logger;
  readonly #writer: Writer;
  readonly #writeConnection: Connection;
  readonly #reader: SnapshotReader;
  readonly #lock: DatabaseLock;
  readonly #checkpointer: Checkpointer;
  readonly #file: number;
  readonly #logFile: number;
  readonly #reserve: Reserve | null;
  /** The parts that `close` closes at its end, the last first. */
  readonly #closers: (() => void)[] = [];
  /** Threads for reads of admins, without a time limit. */
  readonly #threads: ReaderThreads;
  /** Threads for reads of all callers, with a time limit. */
  readonly #queryThreads: ReaderThreads;
  #callerGuard: CallerGuard | null = null;
  /** Those that run or wait. */
  #migrations = 0;

  /** @throws SetupError with one readable line when the file cannot be used. */
  constructor(options: SqliteOptions) {
    const path = resolvePath(options.path);
    const { logger, logLimit = 64 * 1024 ** 2, maxQueries = 256, threadLimitMs = 10_000 } = options;
    this.path = path;
    this.#logger = logger;
    try {
      this.#lock = new DatabaseLock(path);
      this.#closers.push(() => this.#lock.close());
      options.onLocked?.();
      const writer = openWriter(path);
      this.#writeConnection = writer;
      this.#closers.push(() => writer.close());
      this.#reader = new SnapshotReader((onProbe) => {
        const connection = openReader(path);
        addFunctions(connection, onProbe);
        return connection;
      });
      this.#closers.push(() => this.#reader.close());
      const log = openLog(path);
      this.#logFile = log.file;
      this.#closers.push(log.close);
      const { file, close } = openDatabaseFile(path);
      this.#file = file;
      // At the very end: see `openDatabaseFile`.
      this.#closers.unshift(close);
      this.#threads = new ReaderThreads({ path, entry: statementThread(), ...adminReads });
      const maxWaiting = callersAtOnce * maxQueries;
      const entry = options.queryThread ?? statementThread();
      const share = { maxWaiting, waitingShare: maxQueries, limitMs: threadLimitMs };
      this.#queryThreads = new ReaderThreads({ path, entry, ...share });
      this.#checkpointer = new Checkpointer({ path, file, writer, limit: logLimit, logger });
      for (const reads of [this.#threads, this.#queryThreads, this.#reader]) this.#checkpointer.add(reads);
      this.#reserve = options.hasReserve === true ? this.#openReserve(logger) : null;
      this.#writer = new Writer({
        connection: writer,
        flusher: new Flusher(options.sync ?? log.sync, this.meter),
        checkpointer: this.#checkpointer,
        reader: this.#reader,
        openThread: () => new ThreadConnection(path),
        onFatal: options.onFatal,
        meter: this.meter,
        logger,
        reserve: this.#reserve,
      });
      const onLost = (error: SetupError): void => this.#writer.refuse(error);
      this.#lock.watch({ file, logger, onLost });
    } catch (thrown) {
      this.#closeAll();
      throw asSetupError(path, thrown);
    }
  }

  get reader(): Reader {
    return this.#reader;
  }

  /**
   * Reads on the event loop, for reads that an index answers in a moment. All reads of one turn are of one snapshot.
   */
  get rows(): LoopReader {
    return this.#reader;
  }

  /**
   * Runs `work` in a transaction of its own and resolves with its answer once that is on disk. Its error rolls the
   * transaction back and is thrown here. `work` must not wait for another transaction.
   * @param options `makesRoom`: on a full disk it may use the reserve. `weight`: how many changes it makes, about.
   * @throws AppError `unavailable` when the disk does not take the change, or while the service stops.
   */
  transact<T>(work: (tx: Transactor) => Awaitable<T>, options: TransactOptions = {}): Promise<T> {
    return this.#writer.transact(work, options);
  }

  /**
   * A write that changes nothing, through log and flush: it proves that the disk takes one. @throws AppError as
   * `transact`.
   */
  async probe(): Promise<void> {
    await this.transact((tx) => tx.run("UPDATE _schema SET version = version WHERE module = 'events'"));
  }

  /** Has `guard` look again at callers when their right is used. Auth registers it. */
  guardCallers(guard: CallerGuard): void {
    this.#callerGuard = guard;
  }

  /**
   * A caller with the role of this moment.
   * @throws AppError `unauthorized` when the session has ended.
   */
  recheck(principal: Principal, reader: Reader = this.reader): Awaitable<Principal> {
    if (principal === null || !("sessionId" in principal)) return principal;
    if (this.#callerGuard === null) throw new Error("Nobody looks at callers");
    return this.#callerGuard(reader, principal);
  }

  /**
   * Like `transact`, for a change that somebody asked for: whether their session is still in force, and with which
   * role, is looked at inside the transaction, after everything that was committed before it.
   * @param work gets the caller with the role of this moment.
   * @param options `makesRoom` counts for admins alone.
   * @throws AppError `unauthorized` when the session has ended.
   */
  transactFor<T>(principal: Principal, work: CallersWork<T>, options: TransactOptions = {}): Promise<T> {
    const isBound = options.makesRoom === true && !isAdmin(principal);
    return this.transact(this.#guarded(principal, work), isBound ? { ...options, makesRoom: false } : options);
  }

  /** Like `migrate`, for a change that somebody asked for; see `transactFor`. */
  migrateFor<T>(principal: Principal, work: CallersWork<T>, site: MigrationSite): Promise<T> {
    return this.migrate(this.#guarded(principal, work), site);
  }

  /**
   * Like `transact`, for a change of tables. On a "thread", requests go on meanwhile: reads find what was there before
   * until the commit, writes wait.
   */
  async migrate<T>(work: (tx: Transactor) => Awaitable<T>, site: MigrationSite): Promise<T> {
    this.#migrations += 1;
    try {
      return await this.#writer.transact(work, { migration: site });
    } finally {
      this.#migrations -= 1;
    }
  }

  /** Whether a migration runs or waits: writes may have to wait for long then. */
  get isMigrating(): boolean {
    return this.#migrations > 0;
  }

  /**
   * Reads that belong together over many turns of the event loop: a migration in between is not seen. The caller
   * ends them.
   */
  longRead(): LongRead {
    return this.#reader.longRead();
  }

  /**
   * Reads without a limit of time, on a thread, all of one snapshot: for admins. Two run at a time; some others wait.
   * @throws AppError `unavailable` when too many wait, the write-ahead log needs room, or the disk cannot be read.
   */
  readOnThread<T>(work: (reader: Reader) => Promise<T>, waiter: Waiter): Promise<T> {
    return this.#threads.run(this.#asAllowed(waiter, inSnapshot(work)), waiter);
  }

  /**
   * Reads of another module or process that can hold an old state of the database, and with it the write-ahead log:
   * they make a gap when the log waits for one.
   */
  joinGaps(reads: PausableReads): void {
    this.#checkpointer.add(reads);
  }

  /**
   * Reads with a limit of time, on a thread, all of one snapshot. Their statements carry a `stopProbe`.
   * @throws AppError as `readOnThread`, also when it takes too long.
   */
  query<T>(work: (reader: Reader) => Promise<T>, waiter: Waiter): Promise<T> {
    return this.#queryThreads.run(this.#asAllowed(waiter, inSnapshot(work)), waiter);
  }

  /**
   * A connection that reads and has temporary tables. Each statement sees the commits so far. Closed with the database.
   * @param onProbe see `addFunctions`.
   */
  openScratch(onProbe: () => void): ScratchConnection {
    const connection = openReader(this.path);
    addFunctions(connection, onProbe);
    this.#closers.push(() => connection.close());
    return connection;
  }

  /**
   * Like `query`, for a task of the module of these threads.
   * @param makeInput is called when the turn of the task has come, and sees the definitions of that moment.
   * @throws SchemaChanged when a migration has changed the tables in the moment between that and the snapshot.
   */
  task<T>(makeInput: () => unknown, waiter: Waiter): Promise<T> {
    const run: ThreadWork<T> = (thread) => thread.task<T>(makeInput(), schemaVersionOf(this.#reader));
    return this.#queryThreads.run(this.#asAllowed(waiter, run), waiter);
  }

  /**
   * Reads that were allowed to a caller who has waited since: session and role must be the same when their turn comes.
   */
  #asAllowed<T>({ principal = null }: Waiter, work: ThreadWork<T>): ThreadWork<T> {
    return async (thread) => {
      const current = await this.recheck(principal);
      if (current?.role !== principal?.role)
        throw new AppError("forbidden", "Your role has changed; send the request again.");
      return work(thread);
    };
  }

  /**
   * Holds the database file and its log in the state of the last commit, to be copied, while writes go on. The log
   * grows meanwhile: whoever asks has a bound for that, and releases it.
   */
  holdState(): Promise<HeldState> {
    const [file, logFile] = [this.#file, this.#logFile];
    return holdState({ path: this.path, file, logFile, checkpointer: this.#checkpointer });
  }

  /** Bytes of the database file and of its log. */
  sizes(): { database: number; log: number } {
    return { database: statSync(this.path).size, log: statSync(`${this.path}-wal`).size };
  }

  /** Bytes of the log that no checkpoint has copied into the database file yet. */
  get uncopiedLog(): number {
    return this.#checkpointer.uncopied;
  }

  /** Upgrades the tables of the modules to this version, in one transaction. */
  async prepare(schemas: readonly ModuleSchema[]): Promise<void> {
    await this.transact(async (tx) => {
      for (const { module, steps } of schemas) {
        const row = await tx.get<{ version: number }>("SELECT version FROM _schema WHERE module = ?", module);
        const version = row?.version ?? 0;
        if (version > steps.length)
          throw new SetupError(
            `database ${this.path}: its ${module} tables have version ${version}; this socle knows ${steps.length}: it is too old for it`,
          );
        for (const step of steps.slice(version)) await tx.run(step);
        if (version < steps.length)
          await tx.run("INSERT OR REPLACE INTO _schema (module, version) VALUES (?, ?)", module, steps.length);
      }
    });
  }

  #openReserve(logger: Logger): Reserve {
    const number = (pragma: string): number =>
      Object.values(this.#writeConnection.get<Record<string, number>>(`PRAGMA ${pragma}`) ?? {})[0] ?? 0;
    const innerRoom = (): number => number("freelist_count") * number("page_size");
    return new Reserve({ path: this.path, logger, innerRoom });
  }

  #guarded<T>(principal: Principal, work: CallersWork<T>): (tx: Transactor) => Awaitable<T> {
    return (tx) => {
      const caller = this.recheck(principal, tx);
      return caller instanceof Promise ? caller.then((current) => work(tx, current)) : work(tx, caller);
    };
  }

  /** Refuses accepted transactions that are not done, and all new ones: their callers are answered. */
  giveUp(): void {
    this.#writer.giveUp();
    this.#threads.giveUp();
    this.#queryThreads.giveUp();
  }

  /**
   * Waits for accepted transactions, copies the log into the file and closes it. After `graceMs` the rest is given
   * up: a migration is rolled back.
   */
  async close(graceMs = 8_000): Promise<void> {
    const timer = setTimeout(() => this.giveUp(), graceMs);
    await Promise.all([this.#writer.close(graceMs), this.#threads.close(), this.#queryThreads.close()]);
    clearTimeout(timer);
    await this.#reserve?.close();
    await this.#checkpointer.close();
    this.#closeAll();
  }

  /** Closes everything that was opened, in any state. */
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
