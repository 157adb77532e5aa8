/** SQLite database: the engine behind the store, assembled from the other files of this folder. */
import { statSync } from "node:fs";
import { AppError, isAdmin, type Principal, SetupError } from "../../../base/kernel/index.ts";
import type { Logger } from "../../../base/logging/index.ts";
import { Projection } from "../projection.ts";
import type {
  CallerGuard,
  CallersLongWork,
  CallersMigration,
  CallersWork,
  Database,
  HeldState,
  LongRead,
  LoopReader,
  Migration,
  MigrationSite,
  ModuleSchema,
  PausableReads,
  Reader,
  ScratchConnection,
  SlowReader,
  TransactOptions,
  Transactor,
  Waiter,
} from "../store.ts";
import { Checkpointer } from "./checkpointer.ts";
import type { Connection } from "./connection.ts";
import { Flusher, flushOf } from "./flusher.ts";
import { addFunctions } from "./functions.ts";
import { holdState } from "./held-state.ts";
import { DatabaseLock } from "./lock.ts";
import { warnOfRemains } from "./log-remains.ts";
import { SqliteMeter } from "./meter.ts";
import { asSetupError, openDatabaseFile, openLog, openReader, openWriter, resolvePath } from "./open-file.ts";
import { ReaderThreads } from "./reader-threads.ts";
import { Reserve } from "./reserve.ts";
import { SnapshotReader } from "./snapshot-reader.ts";
import { statementThread, ThreadConnection } from "./thread-connection.ts";
import { schemaVersionOf } from "./thread-server.ts";
import { Writer } from "./writer.ts";

export interface SqliteOptions {
  path: string;
  logger: Logger;
  /**
   * Called once when a flush has failed, or when the file no longer belongs to this service: the database refuses all
   * work from then on, and the process should end.
   */
  onFatal: (error: unknown) => void;
  /**
   * Called once, after the lock is taken and before the file is opened: repairs the leftovers of an interrupted
   * command.
   */
  onLocked?: () => void;
  /** Bytes of the write-ahead log at which writes begin to wait for the log (`limits.wal`). Default 64 MiB. */
  logLimit?: number;
  /** The module of the threads for `query`, which calls `serveThread` with its tasks. */
  queryThread?: string;
  /** How many queries of one caller may wait for a thread (`limits.queries`). Default 256. */
  maxQueries?: number;
  /** How long a query may run on a thread, in milliseconds (`limits.queryTime`). Default ten seconds. */
  threadLimitMs?: number;
  /** Whether room on the disk is reserved for changes of admins that make room. Default false. */
  hasReserve?: boolean;
  /** Replaces the flush of the log, for a test of its failure. */
  sync?: () => Promise<void>;
}

type ThreadWork<T> = (thread: ThreadConnection) => Promise<T>;

/** Runs statements in one snapshot. */
function inSnapshot<T>(work: (reader: SlowReader) => Promise<T>): ThreadWork<T> {
  return async (thread) => {
    await thread.run("BEGIN");
    try {
      return await work(thread);
    } finally {
      // Damage ends the transaction, and so does a caller that abandons the thread.
      await thread.run("ROLLBACK").catch(() => undefined);
    }
  };
}

/** The bound of waiting queries, as a multiple of the bound of one caller. */
const callersAtOnce = 4;
/** Admins read without a limit of time, so only a few of their reads may wait. */
const adminReads = { maxWaiting: 30, waitingShare: 15, limitMs: Number.POSITIVE_INFINITY };

/**
 * The engine on SQLite: a file with a write-ahead log, one writer, readers on the event loop and on threads. The comments
 * of the methods are at `Database`.
 */
export class SqliteDatabase implements Database {
  readonly path: string;
  readonly meter = new SqliteMeter();
  readonly projection = new Projection();
  readonly #logger: Logger;
  readonly #writer: Writer;
  readonly #writeConnection: Connection;
  readonly #reader: SnapshotReader;
  readonly #lock: DatabaseLock;
  readonly #checkpointer: Checkpointer;
  readonly #file: number;
  readonly #logFile: number;
  readonly #reserve: Reserve | null;
  /** Closes the parts, the last first, at the end of `close`. */
  readonly #closers: (() => void)[] = [];
  /** Threads for reads of admins, without a limit of time. */
  readonly #threads: ReaderThreads;
  /** Threads for reads of all callers, with a limit of time. */
  readonly #queryThreads: ReaderThreads;
  #callerGuard: CallerGuard | null = null;
  /** Migrations that run or wait. */
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
      warnOfRemains(path, logger);
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
      // The last part to close: see `openDatabaseFile`.
      this.#closers.unshift(close);
      this.#threads = new ReaderThreads({ path, entry: statementThread(), ...adminReads });
      const maxWaiting = callersAtOnce * maxQueries;
      const entry = options.queryThread ?? statementThread();
      const share = { maxWaiting, waitingShare: maxQueries, limitMs: threadLimitMs, keepsShortThread: true };
      this.#queryThreads = new ReaderThreads({ path, entry, ...share });
      this.#checkpointer = new Checkpointer({ path, file, writer, limit: logLimit, logger });
      for (const reads of [this.#threads, this.#queryThreads, this.#reader]) this.#checkpointer.add(reads);
      this.#reserve = options.hasReserve === true ? this.#openReserve(logger) : null;
      this.#writer = new Writer({
        connection: writer,
        flusher: new Flusher(options.sync ?? flushOf(path, log.file), this.meter),
        checkpointer: this.#checkpointer,
        reader: this.#reader,
        openThread: () => new ThreadConnection(path),
        onFatal: options.onFatal,
        meter: this.meter,
        projection: this.projection,
        logger,
        reserve: this.#reserve,
      });
      const onLost = (error: SetupError): void => this.#writer.refuse(error);
      this.#lock.watch({ file, log: log.file, logger, onLost });
    } catch (thrown) {
      this.#closeAll();
      throw asSetupError(path, thrown);
    }
  }

  get reader(): Reader {
    return this.#reader;
  }

  get rows(): LoopReader {
    return this.#reader;
  }

  transact<T>(work: (tx: Transactor) => T, options: TransactOptions = {}): Promise<T> {
    return this.#writer.transact(work, options);
  }

  transactLong<T>(caller: string, work: (tx: Transactor) => Promise<T>): Promise<T> {
    return this.#writer.transactLong(work, { caller });
  }

  async probe(): Promise<void> {
    await this.transact((tx) => tx.run("UPDATE _schema SET version = version WHERE module = 'events'"));
  }

  guardCallers(guard: CallerGuard): void {
    this.#callerGuard = guard;
  }

  recheck(principal: Principal, reader: Reader = this.reader): Principal {
    if (principal === null || !("sessionId" in principal)) return principal;
    if (this.#callerGuard === null) throw new Error("Nobody looks at callers");
    return this.#callerGuard(reader, principal);
  }

  transactFor<T>(principal: Principal, work: CallersWork<T>, options: TransactOptions = {}): Promise<T> {
    const makesRoom = options.makesRoom === true && isAdmin(principal);
    return this.transact((tx) => work(tx, this.recheck(principal, tx)), { ...options, makesRoom });
  }

  transactLongFor<T>(
    principal: Principal,
    work: CallersLongWork<T>,
    options: Pick<TransactOptions, "makesRoom"> = {},
  ): Promise<T> {
    const caller = principal?.userId ?? "";
    const makesRoom = options.makesRoom === true && isAdmin(principal);
    return this.#writer.transactLong((tx) => work(tx, this.recheck(principal, tx)), { caller, makesRoom });
  }

  migrateFor<T>(principal: Principal, work: CallersMigration<T>, site: MigrationSite): Promise<T> {
    return this.migrate((tx) => work(tx, this.recheck(principal, tx)), site);
  }

  async migrate<T>(work: (tx: Migration) => T | Promise<T>, site: MigrationSite): Promise<T> {
    this.#migrations += 1;
    try {
      return await this.#writer.transactLong(work, { caller: "", site });
    } finally {
      this.#migrations -= 1;
    }
  }

  get isMigrating(): boolean {
    return this.#migrations > 0;
  }

  longRead(): LongRead {
    return this.#reader.longRead();
  }

  readOnThread<T>(work: (reader: SlowReader) => Promise<T>, waiter: Waiter): Promise<T> {
    return this.#threads.run(this.#asAllowed(waiter, inSnapshot(work)), waiter);
  }

  joinGaps(reads: PausableReads): void {
    this.#checkpointer.add(reads);
  }

  query<T>(work: (reader: SlowReader) => Promise<T>, waiter: Waiter): Promise<T> {
    return this.#queryThreads.run(this.#asAllowed(waiter, inSnapshot(work)), waiter);
  }

  openScratch(onProbe: () => void): ScratchConnection {
    const connection = openReader(this.path);
    addFunctions(connection, onProbe);
    this.#closers.push(() => connection.close());
    return connection;
  }

  task<T>(makeInput: () => unknown, waiter: Waiter): Promise<T> {
    const run: ThreadWork<T> = (thread) => thread.task<T>(makeInput(), schemaVersionOf(this.#reader));
    return this.#queryThreads.run(this.#asAllowed(waiter, run), waiter);
  }

  /**
   * Work for a caller who has waited: the session and the role must still be the same when the work begins.
   */
  #asAllowed<T>({ principal = null }: Waiter, work: ThreadWork<T>): ThreadWork<T> {
    return async (thread) => {
      const current = this.recheck(principal);
      if (current?.role !== principal?.role)
        throw new AppError("forbidden", "Your role has changed; send the request again.");
      return work(thread);
    };
  }

  holdState(): Promise<HeldState> {
    const [file, logFile] = [this.#file, this.#logFile];
    return holdState({ path: this.path, file, logFile, checkpointer: this.#checkpointer });
  }

  sizes(): { database: number; log: number } {
    return { database: statSync(this.path).size, log: statSync(`${this.path}-wal`).size };
  }

  get uncopiedLog(): number {
    return this.#checkpointer.uncopied;
  }

  async prepare(schemas: readonly ModuleSchema[]): Promise<void> {
    await this.transact((tx) => {
      const known = new Set(schemas.map(({ module }) => module));
      for (const { module } of tx.all<{ module: string }>("SELECT module FROM _schema"))
        if (!known.has(module))
          throw new SetupError(
            `database ${this.path}: has tables of "${module}", which this socle does not know: it is too old for it`,
          );
      for (const { module, steps } of schemas) {
        const row = tx.get<{ version: number }>("SELECT version FROM _schema WHERE module = ?", module);
        const version = row?.version ?? 0;
        if (version > steps.length)
          throw new SetupError(
            `database ${this.path}: its ${module} tables have version ${version}; this socle knows ${steps.length}: it is too old for it`,
          );
        for (const step of steps.slice(version)) {
          if (typeof step === "string") tx.run(step);
          else step(tx, this.#logger.for(module));
        }
        if (version < steps.length)
          tx.run("INSERT OR REPLACE INTO _schema (module, version) VALUES (?, ?)", module, steps.length);
      }
    });
  }

  #openReserve(logger: Logger): Reserve {
    const number = (pragma: string): number =>
      Object.values(this.#writeConnection.get<Record<string, number>>(`PRAGMA ${pragma}`) ?? {})[0] ?? 0;
    const innerRoom = (): number => number("freelist_count") * number("page_size");
    return new Reserve({ path: this.path, logger, innerRoom });
  }

  giveUp(): void {
    this.#writer.giveUp();
    this.#threads.giveUp();
    this.#queryThreads.giveUp();
  }

  async close(graceMs = 8_000): Promise<void> {
    const timer = setTimeout(() => this.giveUp(), graceMs);
    await Promise.all([this.#writer.close(graceMs), this.#threads.close(), this.#queryThreads.close()]);
    clearTimeout(timer);
    await this.#reserve?.close();
    await this.#checkpointer.close();
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
