import { AppError, type Awaitable } from "../kernel/index.ts";
import type { Checkpointer } from "./checkpointer.ts";
import type { Connection } from "./connection.ts";
import { asUnavailable } from "./errors.ts";
import type { Flusher } from "./flusher.ts";
import type { Transactor, Value } from "./types.ts";

/** So that one commit never holds the event loop for long. */
const maxBatch = 256;

const lost = "The database could not be written to disk; the service is stopping.";

/** The handle that one transaction's function gets. It is dead once the function has ended. */
class JobTransactor implements Transactor {
  readonly #connection: Connection;
  readonly atCommit: (() => void)[] = [];
  readonly atFlush: (() => void)[] = [];
  #open = true;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get<T>(sql: string, ...values: Value[]): T | null {
    return this.#live().get<T>(sql, ...values);
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    return this.#live().all<T>(sql, ...values);
  }

  run(sql: string, ...values: Value[]): number {
    return this.#live().run(sql, ...values);
  }

  afterCommit(effect: () => void): void {
    this.atCommit.push(effect);
  }

  afterFlush(effect: () => void): void {
    this.atFlush.push(effect);
  }

  end(): void {
    this.#open = false;
  }

  #live(): Connection {
    if (!this.#open) throw new Error("A transaction was used after its end");
    return this.#connection;
  }
}

/** One transaction that waits, runs or has ended; `settle` answers whoever asked for it. */
interface Job {
  readonly work: (tx: Transactor) => Awaitable<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
  outcome: { value: unknown; tx: JobTransactor } | { error: unknown } | null;
}

/**
 * The one writer. Transactions that arrive while the event loop turns share one `BEGIN IMMEDIATE … COMMIT`; each has a
 * savepoint, so that one that fails takes only itself back. Nobody is answered before the commit is on disk.
 */
export class Writer {
  readonly #connection: Connection;
  readonly #flusher: Flusher;
  readonly #checkpointer: Checkpointer;
  readonly #onCommit: () => void;
  readonly #onFatal: (error: unknown) => void;
  #queue: Job[] = [];
  #turning: Promise<void> | null = null;
  #unsettled = 0;
  #refusal: AppError | null = null;
  #hasFailed = false;

  constructor(options: {
    connection: Connection;
    flusher: Flusher;
    checkpointer: Checkpointer;
    /** Called at each commit, before anything that depends on it. */
    onCommit: () => void;
    /** Called once, when a flush has failed and nothing can be promised any more. */
    onFatal: (error: unknown) => void;
  }) {
    this.#connection = options.connection;
    this.#flusher = options.flusher;
    this.#checkpointer = options.checkpointer;
    this.#onCommit = options.onCommit;
    this.#onFatal = options.onFatal;
  }

  transact<T>(work: (tx: Transactor) => Awaitable<T>): Promise<T> {
    if (this.#refusal !== null) return Promise.reject(this.#refusal);
    return new Promise<T>((resolve, reject) => {
      // `resolve` is only ever called with what `work` answered.
      this.#queue.push({ work, resolve: resolve as (value: unknown) => void, reject, outcome: null });
      this.#turning ??= this.#nextTurn();
    });
  }

  /** Refuses what comes from now on and waits for what was accepted. */
  async close(): Promise<void> {
    this.#refusal ??= new AppError("unavailable", "The service is stopping.");
    while (this.#turning !== null || this.#unsettled > 0) {
      await (this.#turning ?? new Promise((resolve) => setTimeout(resolve, 1)));
    }
  }

  /** Everything that the sockets have to say in this turn of the loop gets into the batch. */
  #nextTurn(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => {
        this.#turn().then(() => {
          this.#turning = this.#queue.length > 0 ? this.#nextTurn() : null;
          resolve();
        });
      });
    });
  }

  async #turn(): Promise<void> {
    const batch = this.#queue.splice(0, maxBatch);
    let done = 0;
    try {
      const pause = this.#checkpointer.catchUp(performance.now());
      if (pause !== null) await pause;
      this.#connection.run("BEGIN IMMEDIATE");
      for (const job of batch) {
        done += 1;
        // What changes with the commit (definitions, sessions) must be in force for whoever comes next.
        if (await this.#attempt(job)) break;
      }
      this.#connection.run("COMMIT");
      this.#queue.unshift(...batch.splice(done));
    } catch (thrown) {
      this.#takeBack();
      for (const job of batch) job.reject(asUnavailable(thrown));
      return;
    }
    this.#unsettled += batch.length;
    this.#onCommit();
    for (const { outcome } of batch) {
      if (outcome !== null && "tx" in outcome) for (const effect of outcome.tx.atCommit) effect();
    }
    this.#flusher.flush().then(
      () => this.#settle(batch),
      (error) => this.#fail(batch, error),
    );
  }

  /** Answers whether the commit has effects that the next transaction depends on. */
  async #attempt(job: Job): Promise<boolean> {
    const tx = new JobTransactor(this.#connection);
    this.#connection.run("SAVEPOINT job");
    try {
      const result = job.work(tx);
      const value = result instanceof Promise ? await result : result;
      this.#connection.run("RELEASE job");
      job.outcome = { value, tx };
      return tx.atCommit.length > 0;
    } catch (thrown) {
      // Some errors (a full disk) end the whole transaction; then nothing of this batch was written.
      if (!this.#connection.inTransaction) throw thrown;
      this.#connection.run("ROLLBACK TO job");
      this.#connection.run("RELEASE job");
      job.outcome = { error: asUnavailable(thrown) };
      return false;
    } finally {
      tx.end();
    }
  }

  #takeBack(): void {
    if (this.#connection.inTransaction) this.#connection.run("ROLLBACK");
  }

  #settle(batch: Job[]): void {
    for (const { outcome, resolve, reject } of batch) {
      if (outcome === null) continue;
      if ("error" in outcome) {
        reject(outcome.error);
      } else {
        for (const effect of outcome.tx.atFlush) effect();
        resolve(outcome.value);
      }
    }
    this.#unsettled -= batch.length;
  }

  #fail(batch: Job[], error: unknown): void {
    const isFirst = !this.#hasFailed;
    this.#hasFailed = true;
    this.#refusal = new AppError("unavailable", lost, { cause: error });
    for (const job of [...batch, ...this.#queue]) job.reject(this.#refusal);
    this.#queue = [];
    this.#unsettled -= batch.length;
    if (isFirst) this.#onFatal(error);
  }
}
