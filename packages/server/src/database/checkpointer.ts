import { canStartThread, threadEntry } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import type { CheckpointRequest, CheckpointResult } from "./checkpoint-worker.ts";
import type { Connection } from "./connection.ts";

/** Pages of 4 KiB. From `start` on the worker copies the log; at `limit` the writer waits until it has caught up. */
const pages = { start: 2_000, limit: 16_384 };
const lookEveryMs = 25;
/** While somebody reads an old state, the log cannot start over, and waiting for it again at once is no use. */
const retryEveryMs = 2_000;

/** How long reads make room for the log. */
const pauseMs = 500;

/** Reads that keep an old state of the database, each for a limited time. */
interface PausableReads {
  /** From now on none begins. Resolves once none runs. */
  drain(): Promise<void>;
  resume(): void;
}

/**
 * Keeps the write-ahead log short. Copying it is the worker's work; the log only starts over when a checkpoint has
 * copied all of it, which under steady writes needs a moment without them: `catchUp` is that moment.
 */
export class Checkpointer {
  readonly #path: string;
  readonly #writer: Connection;
  readonly #queries: PausableReads;
  readonly #logger: Logger;
  #isDraining = false;
  #worker: Worker | null = null;
  #running: Promise<CheckpointResult | null> | null = null;
  #nextLook = 0;
  #hasWarned = false;

  constructor(options: { path: string; writer: Connection; queries: PausableReads; logger: Logger }) {
    this.#path = options.path;
    this.#queries = options.queries;
    this.#writer = options.writer;
    this.#logger = options.logger;
  }

  /** To be called between transactions. Resolves at once unless the log has reached its limit. */
  catchUp(now: number): Promise<void> | null {
    if (now < this.#nextLook) return null;
    this.#nextLook = now + lookEveryMs;
    // A "noop" checkpoint copies nothing and tells how long the log is.
    const state = this.#writer.get<CheckpointResult>("PRAGMA wal_checkpoint(NOOP)");
    if (state === null || state.log < pages.start) return null;
    if (state.log < pages.limit) {
      if (state.checkpointed < state.log) this.#running ??= this.#checkpoint();
      return null;
    }
    return this.#pause(now);
  }

  /** After much was written at once: copying it takes a while, in which the writer need not wait. */
  catchUpSoon(): void {
    this.#nextLook = performance.now() + retryEveryMs;
    this.#running ??= this.#checkpoint();
  }

  async close(): Promise<void> {
    await this.#running;
    const worker = this.#worker;
    this.#worker = null;
    if (worker === null) return;
    await new Promise<void>((resolve) => {
      worker.onmessage = () => resolve();
      worker.onerror = () => resolve();
      worker.ref();
      worker.postMessage(null);
    });
    worker.terminate();
  }

  async #pause(now: number): Promise<void> {
    await this.#running;
    const result = await this.#checkpoint();
    const isWhole = result !== null && result.checkpointed === result.log;
    if (isWhole) this.#resume();
    else {
      this.#nextLook = now + retryEveryMs;
      void this.#drain();
    }
    if (!isWhole && !this.#hasWarned)
      this.#logger.warn("The write-ahead log cannot start over while an old state of the database is read; it grows", {
        pages: result?.log,
      });
    this.#hasWarned = !isWhole;
  }

  /** Reads that follow each other without a gap keep the log from starting over: they make room for it once. */
  async #drain(): Promise<void> {
    if (this.#isDraining) return;
    this.#isDraining = true;
    await this.#queries.drain();
    // The next transaction waits for the log. Without one, nothing makes it longer.
    this.#nextLook = 0;
    setTimeout(() => this.#resume(), pauseMs).unref();
  }

  #resume(): void {
    this.#isDraining = false;
    this.#queries.resume();
  }

  #checkpoint(): Promise<CheckpointResult | null> {
    if (this.#worker === null && !canStartThread()) {
      this.#logger.error("Checkpoint failed: too few file descriptors are left to start a thread");
      return Promise.resolve(null).finally(() => {
        this.#running = null;
      });
    }
    const worker = this.#start();
    const running = new Promise<CheckpointResult | null>((resolve) => {
      worker.onmessage = (event: MessageEvent<CheckpointResult | Error>) => {
        if (event.data instanceof Error) this.#logger.error("Checkpoint failed", { error: event.data });
        resolve(event.data instanceof Error ? null : event.data);
      };
      worker.onerror = (event) => {
        this.#logger.error("The checkpoint thread failed", { error: event.message });
        this.#worker = null;
        resolve(null);
      };
      // Nothing else may keep the process alive while the writer waits for this, as at a start after a crash.
      worker.ref();
      worker.postMessage({ path: this.#path } satisfies CheckpointRequest);
    }).finally(() => {
      worker.unref();
      this.#running = null;
    });
    this.#running = running;
    return running;
  }

  /** The thread costs memory, so it starts with the first checkpoint. */
  #start(): Worker {
    if (this.#worker === null) {
      this.#worker = new Worker(threadEntry("database/checkpoint-worker"));
      this.#worker.unref();
    }
    return this.#worker;
  }
}
