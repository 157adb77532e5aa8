/**
 * The checkpointer: keeps the write-ahead log short, without a long stop of the writes.
 *
 * SQLite can start the log over only when (1) the whole log has been copied into the database file and (2) no reader
 * uses a state older than the end of the log. The worker thread copies while writes go on. When few pages are left, the
 * writer waits for these pages; before that, short pauses of the writer keep the worker ahead. If a reader prevents the
 * restart of the log, all readers of this service pause together (a gap). A reader of another process only makes the log
 * grow; that reader stops no write.
 */
import { fdatasync, statSync } from "node:fs";
import { AppError, messageOf } from "../../../base/kernel/index.ts";
import type { Logger } from "../../../base/logging/index.ts";
import type { PausableReads } from "../store.ts";
import type { Connection } from "./connection.ts";
import { stopping } from "./errors.ts";
import { ThreadConnection } from "./thread-connection.ts";
import type { CheckpointResult } from "./thread-server.ts";

/** The worker begins to copy the log at this number of pages. */
const startPages = 2_000;
/** When at most this number of pages is left to copy, the writer waits for the copy. */
const fewPages = 1_000;
const lookEveryMs = 25;
/** The longest pause of the writer. After the pause, writes go on, and the checkpointer tries again later. */
const pauseMs = 100;
/** While the log is over its bound, the worker copies this many times as fast as the writer may write. */
const lead = 4;
/** While a reader holds the log, the checkpointer tries again after this time. */
const retryEveryMs = 250;
/** How long a read of this service may go on while the log is over its bound and waits for the read. */
const readMs = 2_000;
/** When the log has this many times the bound, reads of this service end earlier. */
const largestGrowth = 3;
/** How long reads wait for the next write, which starts the log over. */
const gapMs = 500;
/** The time between two gaps: doubled after each useless gap, because another process reads. */
const betweenGapsMs = { shortest: 2_000, longest: 30_000 };
/** The most bytes by which the file of the log shrinks when the log starts over. */
const largestCut = 16 * 1024 ** 2;
/** The time over the bound after which the log causes a warning. */
const warnAfterMs = 1_000;
const warnEveryMs = 60_000;
/** How long `close` waits for the thread. A log that is not copied by then stays, and the next start reads the log. */
const closeMs = 2_000;

/** A pause of the reads so that the log can start over; the timer ends the present step. */
interface Gap {
  timer: Timer;
  /** The reads have been cut off, or have ended normally. */
  hasEnded: boolean;
}

/** Resolves after a time, or earlier when `work` ends. */
async function atMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: Timer | undefined;
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}

export interface CheckpointerOptions {
  path: string;
  /** A descriptor of the database file, open for writing: used to flush copied pages. */
  file: number;
  writer: Connection;
  /** Bytes of the log at which writes begin to wait for the log (`limits.wal`). */
  limit: number;
  logger: Logger;
  /** Replaces the start of the thread, for a test of a failure. */
  openThread?: () => ThreadConnection;
}

/**
 * The databases whose last checkpoint failed, by path. An instance of a cluster opens the database again and again on a full disk, and the log has the
 * failure once.
 */
const failing = new Set<string>();

export class Checkpointer {
  readonly #options: CheckpointerOptions;
  readonly #reads = new Set<PausableReads>();
  readonly #pageSize: number;
  readonly #limit: number;
  readonly #start: number;
  /** Starts with the first checkpoint, because a thread costs memory, and starts again after an end. */
  #thread: ThreadConnection | null = null;
  #running: Promise<void> | null = null;
  /** The length of the log at the last look, in pages. */
  #seen = 0;
  #uncopied = 0;
  /** The average time of the worker for a page, including the flush, over recent checkpoints; a guess at first. */
  #pageMs = 0.02;
  /** Whether the last checkpoint copied all pages, except pages written during the checkpoint. */
  #isCopied = true;
  #nextLook = 0;
  /** Until this time, the checkpointer assumes that a reader holds the log. */
  #heldUntil = 0;
  /** The writer has waited for the last pages; the next write shows whether the log has started over. */
  #isDue = false;
  /** The time since which the log is over its bound; null while the log is within the bound. */
  #overSince: number | null = null;
  #isFlushing = false;
  /** Callers that hold a state of the database. Meanwhile the log may grow: no write waits for the log, no read pauses. */
  #resting = 0;
  #gap: Gap | null = null;
  #nextGap = 0;
  #betweenGaps = betweenGapsMs.shortest;
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
    this.#pageSize = options.writer.get<{ page_size: number }>("PRAGMA page_size")?.page_size ?? 4_096;
    this.#limit = Math.ceil(options.limit / this.#pageSize);
    this.#start = Math.min(startPages, Math.ceil(this.#limit / 4));
    this.#shrink();
  }

  /** From now on, the reads pause when the log waits for a gap. */
  add(reads: PausableReads): void {
    this.#reads.add(reads);
  }

  /** Called between transactions. Answers null, or a short pause that the writer must make. */
  catchUp(now: number): Promise<void> | null {
    if (this.#resting > 0 || now < this.#nextLook) return null;
    this.#nextLook = now + lookEveryMs;
    const state = this.#look();
    if (state === null) return null;
    const { log } = state;
    const written = Math.max(0, log - this.#seen);
    if (log >= this.#limit || log < this.#seen) this.#shrink();
    this.#seen = log;
    if (log >= this.#start && state.checkpointed < log && now >= this.#heldUntil) this.#begin();
    if (log >= this.#limit) return this.#over({ ...state, written }, now);
    this.#within();
    return null;
  }

  /** Called after a large write: the copy takes some time, and the writer need not wait meanwhile. */
  catchUpSoon(): void {
    this.#nextLook = performance.now() + retryEveryMs;
    this.#begin();
  }

  /** From now on the log may grow; the caller limits the growth. */
  rest(): void {
    this.#resting += 1;
    this.#resume();
  }

  /** Ends a rest. After the last rest, the log is kept short again. */
  leave(): void {
    this.#resting -= 1;
    if (this.#resting > 0) return;
    this.#overSince = null;
    this.#nextLook = 0;
    this.#heldUntil = 0;
    this.#isCopied = true;
  }

  /** Runs a checkpoint, after a running checkpoint has ended. A failure is logged. */
  async checkpoint(): Promise<void> {
    await this.#running;
    // A transaction may be under way; the writer cannot look at the log then.
    this.#begin(null);
    await this.#running;
  }

  async close(): Promise<void> {
    this.#resume();
    const close = async (): Promise<void> => {
      await this.#running;
      await this.#thread?.close();
    };
    await atMost(closeMs, close());
    this.#thread?.abandon(stopping());
  }

  /** @throws Error at once when the thread cannot start. */
  #checkpoint(): Promise<CheckpointResult | null> {
    const { path, file, openThread = () => new ThreadConnection(path) } = this.#options;
    if (this.#thread?.isUsable !== true) {
      void this.#thread?.close();
      this.#thread = null;
      this.#thread = openThread();
    }
    return this.#thread.checkpoint(file);
  }

  /** A "noop" checkpoint copies nothing and tells the length of the log. Writes need no answer to this question. */
  #look(): CheckpointResult | null {
    try {
      return this.#options.writer.get<CheckpointResult>("PRAGMA wal_checkpoint(NOOP)");
    } catch (error) {
      this.#failed("The state of the write-ahead log could not be read", error);
      return null;
    }
  }

  /** The bytes of the log that are not copied; during a transaction, at the last question: SQLite refuses the question then ("database table is locked"). */
  get uncopied(): number {
    const state = this.#options.writer.inTransaction ? null : this.#look();
    if (state !== null) this.#uncopied = (state.log - state.checkpointed) * this.#pageSize;
    return this.#uncopied;
  }

  #over(state: CheckpointResult & { written: number }, now: number): Promise<void> | null {
    const left = state.log - state.checkpointed;
    this.#overSince ??= now;
    if (left === 0) this.#isCopied = true;
    if (this.#isDue) this.#heldUntil = now + retryEveryMs;
    this.#isDue = false;
    this.#warn(state, now);
    if (this.#running !== null) this.#flushCopied();
    if (this.#isCopied && now >= this.#heldUntil) {
      if (left <= fewPages) return this.#lastPages();
      // The writer pauses in proportion to the pages written since the last look, so that the worker catches up.
      return this.#pause(Bun.sleep(Math.min(pauseMs, lead * state.written * this.#pageMs)));
    }
    this.#makeGap(state, now);
    return null;
  }

  /** Flushes the copied pages in steps: a single large flush at the end would delay the flushes of the log. */
  #flushCopied(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    // SQLite's own descriptor reports an error too: the flush before the log starts over fails.
    fdatasync(this.#options.file, () => {
      this.#isFlushing = false;
    });
  }

  async #lastPages(): Promise<void> {
    let isWhole = false;
    const copy = async (): Promise<void> => {
      await this.#running;
      this.#begin();
      await this.#running;
      isWhole = this.#isCopied;
    };
    await this.#pause(copy());
    if (!isWhole) return;
    // The next write starts the log over, unless a reader uses the log; the write after that shows the result.
    this.#isDue = true;
    this.#nextLook = 0;
  }

  /** SQLite cuts the file of the log when the log starts over: by little at a time, because a write waits for the cut. */
  #shrink(): void {
    const { path, writer, limit } = this.#options;
    try {
      const size = statSync(`${path}-wal`).size;
      writer.execute(`PRAGMA journal_size_limit = ${Math.max(limit, size - largestCut)}`);
    } catch (error) {
      this.#failed("The size of the write-ahead log could not be looked at", error);
    }
  }

  async #pause(work: Promise<unknown>): Promise<void> {
    await atMost(pauseMs, work);
    // The writer has some time between two pauses.
    this.#nextLook = performance.now() + lookEveryMs;
  }

  /** The log has started over, or was never long. */
  #within(): void {
    this.#isDue = false;
    if (this.#overSince === null) return;
    if (this.#warnedAt > this.#overSince) {
      const seconds = Math.round((performance.now() - this.#overSince) / 1_000);
      this.#options.logger.info("The write-ahead log is within its bound again", { seconds });
    }
    this.#overSince = null;
    this.#heldUntil = 0;
    this.#nextGap = 0;
    this.#betweenGaps = betweenGapsMs.shortest;
    this.#resume();
  }

  /** Reads that follow each other without a gap prevent the log from starting over, so the reads pause. */
  #makeGap({ log }: CheckpointResult, now: number): void {
    if (this.#gap !== null) {
      const isFirst = this.#betweenGaps === betweenGapsMs.shortest;
      if (isFirst && log > this.#limit * largestGrowth) this.#endReads();
      return;
    }
    if (now < this.#nextGap || this.#reads.size === 0) return;
    const gap: Gap = { timer: setTimeout(() => this.#endReads(), readMs).unref(), hasEnded: false };
    this.#gap = gap;
    void Promise.all([...this.#reads].map((reads) => reads.drain())).then(() => {
      if (this.#gap !== gap) return;
      clearTimeout(gap.timer);
      gap.hasEnded = true;
      // The next transaction tries again. Without a transaction, the log does not grow.
      this.#nextLook = 0;
      this.#heldUntil = 0;
      this.#isCopied = true;
      gap.timer = setTimeout(() => this.#endGap(gap), gapMs).unref();
    });
  }

  #endReads(): void {
    const gap = this.#gap;
    if (gap === null || gap.hasEnded) return;
    gap.hasEnded = true;
    clearTimeout(gap.timer);
    // A statement that cannot be stopped runs to the end: the other reads do not wait for that statement.
    gap.timer = setTimeout(() => this.#endGap(gap), readMs).unref();
    const message = "The write-ahead log waits for this read to end; try again in a moment, or read less at once.";
    for (const reads of this.#reads) reads.cutOff(new AppError("unavailable", message, { retryAfter: 1 }));
  }

  /** The log has not started over in the gap: no write came, or another process reads. */
  #endGap(gap: Gap): void {
    if (this.#gap !== gap) return;
    // A fully copied log waits only for a write; transactions that write nothing never start the log over.
    const state = this.#look();
    const isLeft = state !== null && state.checkpointed < state.log;
    if (this.#isCopied && this.#running !== null && isLeft) {
      gap.timer = setTimeout(() => this.#endGap(gap), gapMs).unref();
      return;
    }
    this.#nextGap = performance.now() + this.#betweenGaps;
    this.#betweenGaps = Math.min(betweenGapsMs.longest, this.#betweenGaps * 2);
    this.#resume();
  }

  #resume(): void {
    if (this.#gap === null) return;
    clearTimeout(this.#gap.timer);
    this.#gap = null;
    for (const reads of this.#reads) reads.resume();
  }

  #warn({ log, checkpointed }: CheckpointResult, now: number): void {
    const since = this.#overSince ?? now;
    if (now - since < warnAfterMs || now - this.#warnedAt < warnEveryMs) return;
    this.#warnedAt = now;
    const cause = this.#isCopied
      ? "the log is being copied into the database file"
      : "an old state of the database is read, perhaps by another process such as a backup";
    this.#options.logger.warn("The write-ahead log is over its bound and has not started over", {
      bytes: log * this.#pageSize,
      bound: this.#options.limit,
      pages: log,
      pagesToCopy: log - checkpointed,
      seconds: Math.round((now - since) / 1_000),
      cause,
    });
  }

  #failed(message: string, error: unknown): void {
    const { path, logger } = this.#options;
    this.#heldUntil = performance.now() + retryEveryMs;
    if (!failing.has(path)) logger.error(`${message}; the write-ahead log grows meanwhile: ${messageOf(error)}`);
    failing.add(path);
  }

  /**
   * Begins a checkpoint unless a checkpoint runs. If the thread cannot start, a later look tries again.
   * @param before pages that were copied before this checkpoint; null when the number is unknown.
   */
  #begin(before: number | null = this.#look()?.checkpointed ?? 0): void {
    if (this.#running !== null) return;
    const start = performance.now();
    let work: Promise<CheckpointResult | null>;
    try {
      work = this.#checkpoint();
    } catch (error) {
      this.#isCopied = false;
      this.#failed("A checkpoint waits: its thread cannot start", error);
      return;
    }
    const ended = work.catch((error: unknown) => {
      this.#failed("A checkpoint failed", error);
      return null;
    });
    this.#running = ended.then((result) => {
      this.#running = null;
      if (result !== null && failing.delete(this.#options.path)) this.#options.logger.info("Checkpoints succeed again");
      // `result.log` is the length of the log when the checkpoint began: later writes do not count.
      this.#isCopied = result !== null && result.checkpointed >= result.log;
      const copied = (result?.checkpointed ?? 0) - (before ?? Number.POSITIVE_INFINITY);
      if (copied >= fewPages) this.#pageMs = (this.#pageMs + (performance.now() - start) / copied) / 2;
      if (!this.#isCopied) this.#heldUntil = performance.now() + retryEveryMs;
    });
  }
}
