/** A connection on a thread: the side of the event loop. */
import { AppError, canStartThread, threadEntry } from "../../kernel/index.ts";
import { type Reader, SchemaChanged, type Value } from "../store.ts";
import { SqliteFailure } from "./damage.ts";
import type { StatementRequest, TaskRequest, ThreadReply } from "./thread-server.ts";

/** The entry of a thread that runs statements and no tasks. */
export function statementThread(): string {
  return threadEntry("database/sqlite/thread-worker");
}

/** A connection on a thread of its own, for work that would hold up the event loop. One request runs at a time. */
export class ThreadConnection implements Reader {
  readonly #path: string;
  readonly #worker: Worker;
  #waiting: PromiseWithResolvers<unknown> | null = null;
  #failure: Error | null = null;
  /** Not 0 once the statement that runs should end: a thread that is busy hears no message. */
  readonly #stop = new Int32Array(new SharedArrayBuffer(4));
  readonly #ended = Promise.withResolvers<void>();

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
    this.#path = path;
    this.#worker = new Worker(entry);
    this.#worker.onmessage = ({ data }: MessageEvent<ThreadReply>) => this.#replied(data);
    this.#worker.addEventListener("close", () => this.#ended.resolve());
    this.#worker.onerror = ({ message }) => this.#fail(new Error(`The database thread failed: ${message}`));
  }

  /** False once it was abandoned or has failed. */
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

  task<T>(input: unknown, schemaVersion: number): Promise<T> {
    // The shape of the result is that of the task, whose author names it.
    return this.#send({ path: this.#path, stop: this.#stop, do: "task", input, schemaVersion }) as Promise<T>;
  }

  /**
   * Ends it in the middle of its work, which fails with `reason`; uncommitted changes are rolled back. A statement
   * with a `stopProbe` ends at once, any other when it is done.
   */
  abandon(reason: AppError): void {
    this.#fail(reason);
    Atomics.store(this.#stop, 0, 1);
    this.#worker.terminate();
  }

  /** Resolves when the thread is gone, which is not before its statement has ended. Never rejects. */
  async close(): Promise<void> {
    await this.#send(null).catch(() => undefined);
    this.#worker.terminate();
    this.#fail(new Error("The database thread has ended"));
    await this.#ended.promise;
  }

  #ask<T>(action: StatementRequest["do"], sql: string, values: Value[]): Promise<T> {
    // The author of the SQL text names the shape of its rows.
    return this.#send({ path: this.#path, stop: this.#stop, do: action, sql, values }) as Promise<T>;
  }

  #send(request: StatementRequest | TaskRequest | null): Promise<unknown> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#waiting !== null) return Promise.reject(new Error("A database thread takes one statement at a time"));
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting = waiting;
    this.#worker.postMessage(request);
    return waiting.promise;
  }

  #replied(reply: ThreadReply): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    if ("result" in reply) waiting?.resolve(reply.result);
    else if ("isStale" in reply) waiting?.reject(new SchemaChanged());
    else if ("refusal" in reply) waiting?.reject(new AppError(reply.refusal.code, reply.refusal.message));
    else waiting?.reject(new SqliteFailure(reply.error.message, reply.error.code));
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#waiting?.reject(error);
    this.#waiting = null;
  }
}
