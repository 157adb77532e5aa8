/** A connection on a thread: the side of the event loop. */
import { type Outcome, PeerError, resultOf, Thread } from "../../../base/channel/index.ts";
import { AppError, canStartThread, threadEntry } from "../../../base/kernel/index.ts";
import { SchemaChanged, type SlowReader, type Value } from "../store.ts";
import type { SlowTransactor, TransactionConnection } from "../transaction.ts";
import { SqliteFailure } from "./errors.ts";
import type { CheckpointResult, DatabaseThread, StatementRequest } from "./thread-server.ts";

/** The entry of a thread that runs statements and no tasks. */
export function statementThread(): string {
  return threadEntry("store/database/sqlite/thread-worker");
}

/** Longer than any statement for which the event loop may block; only a dead thread takes this long. */
const longestMs = 10_000;

/** The error of a request: an error of SQLite has lost its class on the way. The code of another error is no code of SQLite. */
function errorOf(thrown: unknown): unknown {
  if (!(thrown instanceof PeerError)) return thrown;
  return new SqliteFailure(thrown.message, thrown.code?.startsWith("SQLITE_") === true ? thrown.code : null);
}

/** A connection on a separate thread, for work that would block the event loop. One request runs at a time. */
export class ThreadConnection implements SlowTransactor {
  readonly #thread: Thread<DatabaseThread>;
  /** Not 0 if the running statement should end: a busy thread receives no message. */
  readonly #stop = new Int32Array(new SharedArrayBuffer(4));
  /** The connection for answers that come at once: the event loop blocks until the statement has ended. */
  readonly now: TransactionConnection = {
    get: <T>(sql: string, ...values: Value[]) => this.#askNow<T | null>("get", sql, values),
    all: <T>(sql: string, ...values: Value[]) => this.#askNow<T[]>("all", sql, values),
    some: ({ sql, values }, isLast) => {
      const rows = this.#askNow<never[]>("all", sql, [...values]);
      const last = rows.findIndex(isLast);
      return last < 0 ? rows : rows.slice(0, last + 1);
    },
    run: (sql, ...values) => this.#askNow<number>("run", sql, values),
  };

  /**
   * @param path of the database file.
   * @param entry the module that the thread runs, which calls `serveThread`.
   * @throws AppError `unavailable` when too few file descriptors are left: the runtime would end the process.
   */
  constructor(path: string, entry: string = statementThread()) {
    if (!canStartThread())
      throw new AppError("unavailable", "The service has too many open files. Try again in a moment.", {
        limit: "connections",
        retryAfter: 1,
      });
    this.#thread = new Thread(entry, { name: "The database thread", ours: {} });
    this.#thread.tell("use", { path, stop: this.#stop });
  }

  /** False after the connection was abandoned or has failed. */
  get isUsable(): boolean {
    return this.#thread.ended === null;
  }

  get<T>(sql: string, ...values: Value[]): Promise<T | null> {
    return this.#ask<T | null>("get", sql, values);
  }

  all<T>(sql: string, ...values: Value[]): Promise<T[]> {
    return this.#ask<T[]>("all", sql, values);
  }

  run(sql: string, ...values: Value[]): Promise<number> {
    return this.#ask<number>("run", sql, values);
  }

  /**
   * Copies the log into the database file, as far as no reader prevents the copy, and flushes the copied pages.
   * @param file a descriptor of the database file, open for writing.
   */
  checkpoint(file: number): Promise<CheckpointResult | null> {
    return this.#call("checkpoint", file);
  }

  /** Reads in one snapshot. */
  async inSnapshot<T>(work: (reader: SlowReader) => Promise<T>): Promise<T> {
    await this.run("BEGIN");
    try {
      return await work(this);
    } finally {
      // Damage ends the transaction, and so does a caller that abandons the thread.
      await this.run("ROLLBACK").catch(() => undefined);
    }
  }

  async task<T>(input: unknown, schemaVersion: number): Promise<T> {
    const outcome = await this.#call("task", { input, schemaVersion });
    if (outcome === "stale") throw new SchemaChanged();
    // The author of the task knows the shape of the result.
    return outcome.result as T;
  }

  /**
   * Ends the connection during the work, which fails with `reason`; uncommitted changes are rolled back. A statement
   * with a `stopProbe` ends at once; any other statement runs to the end.
   */
  abandon(reason: AppError): void {
    this.stop();
    this.#thread.end(reason);
  }

  /** Ends the running statement, if the statement has a `stopProbe`. The connection can be used again after `resume`. */
  stop(): void {
    Atomics.store(this.#stop, 0, 1);
  }

  /** From now on statements run to the end. Call `resume` when no statement runs. */
  resume(): void {
    Atomics.store(this.#stop, 0, 0);
  }

  /** Resolves when the thread is gone, which is not before the running statement has ended. Never rejects. */
  async close(): Promise<void> {
    await this.#call("close", null).catch(() => undefined);
    await this.#thread.close();
  }

  #ask<T>(action: StatementRequest["do"], sql: string, values: Value[]): Promise<T> {
    // The author of the SQL text knows the shape of the rows.
    return this.#call("statement", { do: action, sql, values }) as Promise<T>;
  }

  #askNow<T>(action: StatementRequest["do"], sql: string, values: Value[]): T {
    this.#assertFree();
    if (this.#thread.ended !== null) throw this.#thread.ended;
    // Loaded on demand: only migrations and long transactions wait in this way.
    const { MessageChannel, receiveMessageOnPort } = process.getBuiltinModule("node:worker_threads");
    const { port1, port2 } = new MessageChannel();
    const sent = new Int32Array(new SharedArrayBuffer(4));
    this.#thread.tell("now", { do: action, sql, values, port: port2, sent }, [port2]);
    Atomics.wait(sent, 0, 0, longestMs);
    // Only the thread writes into the channel, and the author of the SQL text knows the shape of the rows.
    const received = receiveMessageOnPort(port1) as { message: Outcome } | undefined;
    port1.close();
    if (received === undefined) throw new Error("The database thread does not answer");
    try {
      return resultOf(received.message) as T;
    } catch (thrown) {
      throw errorOf(thrown);
    }
  }

  readonly #call: Thread<DatabaseThread>["call"] = async (...args) => {
    this.#assertFree();
    try {
      return await this.#thread.call(...args);
    } catch (thrown) {
      throw errorOf(thrown);
    }
  };

  #assertFree(): void {
    if (this.#thread.isBusy) throw new Error("A database thread runs a single statement at a time");
  }
}
