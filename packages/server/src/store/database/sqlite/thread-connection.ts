/** A connection on a thread: the side of the event loop. */
import { AppError, canStartThread, threadEntry } from "../../../base/kernel/index.ts";
import { SchemaChanged, type SlowReader, type Value } from "../store.ts";
import type { SlowTransactor, TransactionConnection } from "../transaction.ts";
import { SqliteFailure } from "./errors.ts";
import type {
  BlockingAnswer,
  CheckpointResult,
  StatementRequest,
  ThreadReply,
  ThreadRequest,
  ThreadTarget,
} from "./thread-server.ts";

/** The entry of a thread that runs statements and no tasks. */
export function statementThread(): string {
  return threadEntry("store/database/sqlite/thread-worker");
}

/** Longer than any statement for which the event loop may block; only a dead thread takes this long. */
const longestMs = 10_000;

/** @throws the error of the request. */
function resultOf(reply: ThreadReply): unknown {
  if ("result" in reply) return reply.result;
  if ("isStale" in reply) throw new SchemaChanged();
  if ("refusal" in reply) throw new AppError(reply.refusal.code, reply.refusal.message);
  throw new SqliteFailure(reply.error.message, reply.error.code);
}

/** A connection on a separate thread, for work that would block the event loop. One request runs at a time. */
export class ThreadConnection implements SlowTransactor {
  readonly #target: ThreadTarget;
  readonly #worker: Worker;
  #waiting: PromiseWithResolvers<unknown> | null = null;
  #failure: Error | null = null;
  /** Not 0 if the running statement should end: a busy thread receives no message. */
  readonly #stop = new Int32Array(new SharedArrayBuffer(4));
  readonly #ended = Promise.withResolvers<void>();
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
    this.#target = { path, stop: this.#stop };
    this.#worker = new Worker(entry);
    this.#worker.unref();
    this.#worker.onmessage = ({ data }: MessageEvent<ThreadReply>) => this.#replied(data);
    this.#worker.addEventListener("close", () => {
      this.#ended.resolve();
      // A thread can also end without an error.
      this.#fail(new Error("The database thread has ended"));
    });
    this.#worker.onerror = ({ message }) => this.#fail(new Error(`The database thread failed: ${message}`));
  }

  /** False after the connection was abandoned or has failed. */
  get isUsable(): boolean {
    return this.#failure === null;
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
    // The thread answers a checkpoint with the result.
    return this.#send({ ...this.#target, do: "checkpoint", file }) as Promise<CheckpointResult | null>;
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

  task<T>(input: unknown, schemaVersion: number): Promise<T> {
    // The author of the task knows the shape of the result.
    return this.#send({ ...this.#target, do: "task", input, schemaVersion }) as Promise<T>;
  }

  /**
   * Ends the connection during the work, which fails with `reason`; uncommitted changes are rolled back. A statement
   * with a `stopProbe` ends at once; any other statement runs to the end.
   */
  abandon(reason: AppError): void {
    this.#fail(reason);
    this.stop();
    this.#worker.terminate();
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
    await this.#send(null).catch(() => undefined);
    this.#fail(new Error("The database thread has ended"));
    // Before `terminate`: an ended worker cannot keep the process alive until the end is told.
    this.#worker.ref();
    this.#worker.terminate();
    await this.#ended.promise;
  }

  #ask<T>(action: StatementRequest["do"], sql: string, values: Value[]): Promise<T> {
    // The author of the SQL text knows the shape of the rows.
    return this.#send({ ...this.#target, do: action, sql, values }) as Promise<T>;
  }

  #askNow<T>(action: StatementRequest["do"], sql: string, values: Value[]): T {
    if (this.#failure !== null) throw this.#failure;
    if (this.#waiting !== null) throw new Error("A database thread runs a single statement at a time");
    // Loaded on demand: only migrations and long transactions wait in this way.
    const { MessageChannel, receiveMessageOnPort } = process.getBuiltinModule("node:worker_threads");
    const { port1, port2 } = new MessageChannel();
    const answer: BlockingAnswer = { port: port2, sent: new Int32Array(new SharedArrayBuffer(4)) };
    const request: StatementRequest = { ...this.#target, do: action, sql, values, answer };
    this.#worker.postMessage(request, [port2]);
    Atomics.wait(answer.sent, 0, 0, longestMs);
    // Only the thread writes into the channel, and the author of the SQL text knows the shape of the rows.
    const received = receiveMessageOnPort(port1) as { message: ThreadReply } | undefined;
    port1.close();
    if (received === undefined) throw new Error("The database thread does not answer");
    return resultOf(received.message) as T;
  }

  #send(request: ThreadRequest | null): Promise<unknown> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#waiting !== null) return Promise.reject(new Error("A database thread runs a single statement at a time"));
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting = waiting;
    // While a caller waits for this answer, only the thread may keep the process alive, as at a start after a crash.
    this.#worker.ref();
    try {
      this.#worker.postMessage(request);
    } catch (thrown) {
      this.#fail(new Error("The database thread takes no request", { cause: thrown }));
    }
    return waiting.promise;
  }

  #replied(reply: ThreadReply): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    this.#worker.unref();
    try {
      waiting?.resolve(resultOf(reply));
    } catch (error) {
      waiting?.reject(error);
    }
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#waiting?.reject(error);
    this.#waiting = null;
    this.#worker.unref();
  }
}
