import { statSync } from "node:fs";
import { AppError, type Awaitable, Gate, SetupError } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { Checkpointer } from "./checkpointer.ts";
import type { Connection } from "./connection.ts";
import { asUnavailable, stopping } from "./errors.ts";
import { Flusher } from "./flusher.ts";
import type { LongRead } from "./long-read.ts";
import { lockDatabase, openLogSync, openReader, openWriter, resolvePath } from "./open-file.ts";
import { SnapshotReader } from "./snapshot-reader.ts";
import { ThreadConnection } from "./thread-connection.ts";
import type { Reader, Transactor } from "./types.ts";
import { type MigrationPlace, Writer } from "./writer.ts";

export interface DatabaseOptions {
  /** Absolute path of the database file. */
  path: string;
  logger: Logger;
  /** Called once when a flush has failed: everything is refused from then on, and the process should end. */
  onFatal: (error: unknown) => void;
  /** Refuse when another service has the database open; a command beside a running service says false. Default true. */
  exclusive?: boolean;
  /** In place of flushing the log, for a test of what happens when that fails. */
  sync?: () => Promise<void>;
}

/** One module's tables: each step is run once, in order; its count is the version of the module's schema. */
export interface ModuleSchema {
  module: string;
  steps: readonly string[];
}

function nobodyWaits(): AppError {
  return new AppError("bad_request", "Whoever asked for this has gone.");
}

/** Reads on threads that run or wait. */
const maxThreadReads = 32;

/** The embedded database: `reader` for what is committed, `transact` for every change. */
export class Database {
  readonly path: string;
  readonly #writer: Writer;
  readonly #writeConnection: Connection;
  readonly #reader: SnapshotReader;
  readonly #lock: Connection | null;
  readonly #checkpointer: Checkpointer;
  readonly #closeLog: () => void;
  readonly #readers = new Gate(2);
  readonly #threads = new Set<ThreadConnection>();
  readonly #threadReads = new Set<Promise<unknown>>();
  #isClosing = false;
  #isOutOfTime = false;

  /** @throws SetupError with one readable line when the file cannot be used. */
  constructor(options: DatabaseOptions) {
    const path = resolvePath(options.path);
    this.path = path;
    this.#lock = (options.exclusive ?? true) ? lockDatabase(path) : null;
    this.#writeConnection = openWriter(path);
    this.#reader = new SnapshotReader(() => openReader(path));
    const log = openLogSync(path);
    this.#closeLog = log.close;
    this.#checkpointer = new Checkpointer({
      path,
      writer: this.#writeConnection,
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
  async readOnThread<T>(work: (reader: Reader) => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#threadReads.size >= maxThreadReads)
      throw new AppError("unavailable", "Too much is being looked at already; try again in a moment.");
    const gone = Promise.withResolvers<never>();
    const leave = (): void => gone.reject(nobodyWaits());
    signal.addEventListener("abort", leave);
    const reading = this.#readers.run(() => this.#readOnThread(work, signal));
    this.#threadReads.add(reading);
    try {
      // Who has gone makes room at once; what ran for them keeps its place until its thread has ended.
      return await Promise.race([reading, gone.promise]);
    } catch (thrown) {
      throw asUnavailable(thrown);
    } finally {
      signal.removeEventListener("abort", leave);
      reading.catch(() => undefined);
      this.#threadReads.delete(reading);
    }
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

  /** Refuses what was accepted and is not done, and what comes from now on: who waits for it is answered. */
  giveUp(): void {
    this.#isClosing = true;
    this.#isOutOfTime = true;
    this.#writer.giveUp();
    for (const thread of this.#threads) thread.abandon(stopping());
  }

  /**
   * Waits for what was accepted, copies the log into the file and closes it. What takes longer than `graceMs` is
   * given up: a migration is taken back.
   */
  async close(graceMs = 10_000): Promise<void> {
    this.#isClosing = true;
    const timer = setTimeout(() => this.giveUp(), graceMs);
    await Promise.all([this.#writer.close(graceMs), Promise.allSettled(this.#threadReads)]);
    clearTimeout(timer);
    await this.#checkpointer.close();
    this.#reader.close();
    this.#closeLog();
    this.#writeConnection.close();
    this.#lock?.close();
  }

  async #readOnThread<T>(work: (reader: Reader) => Promise<T>, signal: AbortSignal): Promise<T> {
    if (signal.aborted) throw nobodyWaits();
    if (this.#isClosing) throw stopping();
    const thread = new ThreadConnection(this.path);
    this.#threads.add(thread);
    const abandon = (): void => thread.abandon(nobodyWaits());
    signal.addEventListener("abort", abandon);
    try {
      await thread.run("BEGIN");
      return await work(thread);
    } finally {
      signal.removeEventListener("abort", abandon);
      this.#threads.delete(thread);
      const closed = thread.close();
      // At the end nobody can wait for a statement that does not end.
      if (!this.#isOutOfTime) await closed;
    }
  }
}
