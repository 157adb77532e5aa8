import { statSync } from "node:fs";
import { type Awaitable, BoundedMap, type Principal, SetupError } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { Checkpointer } from "./checkpointer.ts";
import type { Connection } from "./connection.ts";
import { Flusher } from "./flusher.ts";
import { FrugalReader, TooManyVisits, VisitBudget } from "./frugal-reader.ts";
import { addFunctions } from "./functions.ts";
import type { LongRead } from "./long-read.ts";
import { lockDatabase, openLogSync, openReader, openWriter, resolvePath } from "./open-file.ts";
import { ReaderThreads } from "./reader-threads.ts";
import { SnapshotReader } from "./snapshot-reader.ts";
import { ThreadConnection } from "./thread-connection.ts";
import type { CallerGuard, Reader, Transactor } from "./types.ts";
import { type MigrationPlace, Writer } from "./writer.ts";

export interface DatabaseOptions {
  /** Absolute path of the database file. */
  path: string;
  logger: Logger;
  /** Called once when a flush has failed: everything is refused from then on, and the process should end. */
  onFatal: (error: unknown) => void;
  /** Refuse when another service has the database open; a command beside a running service says false. Default true. */
  exclusive?: boolean;
  /** How long a query may run on a thread, in milliseconds. Default ten seconds. */
  threadLimitMs?: number;
  /** In place of flushing the log, for a test of what happens when that fails. */
  sync?: () => Promise<void>;
}

/** One module's tables: each step is run once, in order; its count is the version of the module's schema. */
export interface ModuleSchema {
  module: string;
  steps: readonly string[];
}

type CallersWork<T> = (tx: Transactor, caller: Principal) => Awaitable<T>;

/** So long a kind of query that was too much for the event loop goes to a thread at once. Then it is tried again. */
const heavyMs = 1_000;

/** The embedded database: `reader` for what is committed, `transact` for every change. */
export class Database {
  readonly path: string;
  readonly #writer: Writer;
  readonly #writeConnection: Connection;
  readonly #reader: SnapshotReader;
  readonly #lock: Connection | null;
  readonly #checkpointer: Checkpointer;
  readonly #closeLog: () => void;
  /** Looks at what admins ask for, as long as that takes. */
  readonly #threads: ReaderThreads;
  /** Looks at what everybody asks for, for a limited time. */
  readonly #queryThreads: ReaderThreads;
  readonly #frugalReader: FrugalReader;
  /** Kinds of queries that were too much for the event loop, and until when that counts. */
  readonly #heavy = new BoundedMap<string, number>(1_000);
  #callerGuard: CallerGuard | null = null;

  /** @throws SetupError with one readable line when the file cannot be used. */
  constructor(options: DatabaseOptions) {
    const path = resolvePath(options.path);
    this.path = path;
    this.#lock = (options.exclusive ?? true) ? lockDatabase(path) : null;
    this.#writeConnection = openWriter(path);
    const budget = new VisitBudget();
    this.#reader = new SnapshotReader(() => {
      const connection = openReader(path);
      addFunctions(connection, budget.visit);
      return connection;
    });
    this.#frugalReader = new FrugalReader(this.#reader, budget);
    this.#threads = new ReaderThreads({ path, maxReads: 32, limitMs: Number.POSITIVE_INFINITY });
    this.#queryThreads = new ReaderThreads({ path, maxReads: 256, limitMs: options.threadLimitMs ?? 10_000 });
    const log = openLogSync(path);
    this.#closeLog = log.close;
    this.#checkpointer = new Checkpointer({
      path,
      writer: this.#writeConnection,
      queries: this.#queryThreads,
      logger: options.logger,
    });
    this.#writer = new Writer({
      connection: this.#writeConnection,
      flusher: new Flusher(options.sync ?? log.sync),
      checkpointer: this.#checkpointer,
      reader: this.#reader,
      openThread: () => new ThreadConnection(path),
      onFatal: options.onFatal,
    });
  }

  get reader(): Reader {
    return this.#reader;
  }

  /**
   * Runs `work` in a transaction of its own and resolves with its answer once that is on disk. What it throws takes the
   * transaction back and is thrown here. `work` must not wait for another transaction.
   * @throws AppError `unavailable` when the disk does not take the change, or while the service stops.
   */
  transact<T>(work: (tx: Transactor) => Awaitable<T>): Promise<T> {
    return this.#writer.transact(work);
  }

  /** Has `guard` look again at the callers of `transactFor` and `migrateFor`. Auth registers it. */
  guardCallers(guard: CallerGuard): void {
    this.#callerGuard = guard;
  }

  /**
   * Like `transact`, for a change that somebody asked for: whether their session is still in force, and with which role,
   * is looked at inside the transaction, after everything that was committed before it.
   * @param work gets the caller with the role of this moment.
   * @throws AppError `unauthorized` when the session has ended.
   */
  transactFor<T>(principal: Principal, work: CallersWork<T>): Promise<T> {
    return this.transact(this.#guarded(principal, work));
  }

  /** Like `migrate`, for a change that somebody asked for; see `transactFor`. */
  migrateFor<T>(principal: Principal, work: CallersWork<T>, place: MigrationPlace): Promise<T> {
    return this.migrate(this.#guarded(principal, work), place);
  }

  /**
   * Like `transact`, for a change of tables. On a "thread", requests go on meanwhile: reads find what was there before
   * until the commit, writes wait.
   */
  migrate<T>(work: (tx: Transactor) => Awaitable<T>, place: MigrationPlace): Promise<T> {
    return this.#writer.transact(work, place);
  }

  /**
   * Reads that belong together over many turns of the event loop: a migration that comes in between is not seen. Whoever
   * asks for them ends them.
   */
  longRead(): LongRead {
    return this.#reader.longRead();
  }

  /**
   * Reads that would hold up the event loop, on a thread, all of them of one moment. Two at a time; some others wait.
   * @param signal aborted when nobody waits for the answer any more.
   * @throws AppError `unavailable` when too many wait, or the disk cannot be read.
   */
  readOnThread<T>(work: (reader: Reader) => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#threads.run(work, signal);
  }

  /**
   * Reads that belong together and may look at many rows: on the event loop as long as they look at few, else once more
   * on a thread, for a limited time. Their statements say what they look at, see `visited`.
   * @param kind the same for queries of which one is probably as much as another.
   * @param signal aborted when nobody waits any more; asked for with a thread alone, as asking takes its time.
   * @throws AppError as `readOnThread`, also when it takes too long.
   */
  async query<T>(
    kind: string,
    work: (reader: Reader, place: MigrationPlace) => Awaitable<T>,
    signal: () => AbortSignal,
  ): Promise<T> {
    if (performance.now() >= (this.#heavy.get(kind) ?? 0)) {
      try {
        return await work(this.#frugalReader, "here");
      } catch (thrown) {
        if (!(thrown instanceof TooManyVisits)) throw thrown;
        this.#heavy.set(kind, performance.now() + heavyMs);
      }
    }
    return this.#queryThreads.run(async (reader) => work(reader, "thread"), signal());
  }

  /** Bytes of the database file and of its log. */
  sizes(): { database: number; log: number } {
    return { database: statSync(this.path).size, log: statSync(`${this.path}-wal`).size };
  }

  /** A number that changes when another process has written, so that what is kept in memory can be read again. */
  get outsideVersion(): number {
    return this.#writeConnection.get<{ data_version: number }>("PRAGMA data_version")?.data_version ?? 0;
  }

  /** Brings the tables of the modules to what this version needs, in one transaction. */
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

  #guarded<T>(principal: Principal, work: CallersWork<T>): (tx: Transactor) => Awaitable<T> {
    return (tx) => {
      const isSession = principal !== null && "sessionId" in principal;
      if (!isSession) return work(tx, principal);
      if (this.#callerGuard === null) throw new Error("Nobody looks at callers");
      const caller = this.#callerGuard(tx, principal);
      return caller instanceof Promise ? caller.then((current) => work(tx, current)) : work(tx, caller);
    };
  }

  /** Refuses what was accepted and is not done, and what comes from now on: who waits for it is answered. */
  giveUp(): void {
    this.#writer.giveUp();
    this.#threads.giveUp();
    this.#queryThreads.giveUp();
  }

  /**
   * Waits for what was accepted, copies the log into the file and closes it. What takes longer than `graceMs` is
   * given up: a migration is taken back.
   */
  async close(graceMs = 10_000): Promise<void> {
    const timer = setTimeout(() => this.giveUp(), graceMs);
    await Promise.all([this.#writer.close(graceMs), this.#threads.close(), this.#queryThreads.close()]);
    clearTimeout(timer);
    await this.#checkpointer.close();
    this.#reader.close();
    this.#closeLog();
    this.#writeConnection.close();
    this.#lock?.close();
  }
}
