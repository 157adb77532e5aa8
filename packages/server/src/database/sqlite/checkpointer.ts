/**
 * The checkpointer: keeps the write-ahead log short, without a long stop of the writes.
 *
 * SQLite can start the log over only in a moment in which (1) all of it has been copied into the database file and
 * (2) nobody reads a state that is older than its end. The worker copies while writes go on. Once little is left, the
 * writer waits for that little; until then, short pauses of the writer keep the worker ahead of it. Where a reader is
 * in the way, all readers of this service make a gap. A reader of another process only makes the log grow; it stops no
 * write.
 */
import { fdatasync, statSync } from "node:fs";
import { AppError } from "../../kernel/index.ts";
import type { Logger } from "../../logging/index.ts";
import type { PausableReads } from "../store.ts";
import { CheckpointThread } from "./checkpoint-thread.ts";
import type { CheckpointResult } from "./checkpoint-worker.ts";
import type { Connection } from "./connection.ts";

/** From so many pages on, the worker copies the log. */
const startPages = 2_000;
/** With no more pages left to copy than these, the writer waits for them. */
const fewPages = 1_000;
const lookEveryMs = 25;
/** The longest pause of the writer. Then writes go on, and another moment is tried. */
const pauseMs = 100;
/** While the log is over its bound, the worker copies so many times as fast as the writer may write. */
const lead = 4;
/** While a reader holds the log, it is tried again after this time. */
const retryEveryMs = 250;
/** How long a read of ours may go on while the log is over its bound and waits for it. */
const readMs = 2_000;
/** With a log of so many times its bound, reads of ours are ended earlier. */
const largestGrowth = 3;
/** How long reads wait for the next write, with which the log starts over. */
const gapMs = 500;
/** The time between two gaps: doubled after each that was in vain, because another process reads. */
const betweenGapsMs = { shortest: 2_000, longest: 30_000 };
/** By so many bytes, at most, the file of the log shrinks when it starts over. */
const largestCut = 16 * 1024 ** 2;
/** A log that is over its bound for longer is warned of. */
const warnAfterMs = 1_000;
const warnEveryMs = 60_000;
/** How long `close` waits for the thread. A log that is not copied by then stays, and is read at the next start. */
const closeMs = 2_000;

/** While reads make room for the log; the timer ends its present step. */
interface Gap {
  timer: Timer;
  /** The reads have been cut off, or have ended by themselves. */
  hasEnded: boolean;
}

/** Resolves after a time, whatever becomes of `work`. */
async function atMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: Timer | undefined;
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}

export interface CheckpointerOptions {
  /** Of the database file. */
  path: string;
  /** A descriptor of the database file, open for writing: copied pages are flushed through it. */
  file: number;
  writer: Connection;
  /** Bytes of the log from which writes wait for it (`limits.wal`). */
  limit: number;
  logger: Logger;
  /** Replaces the start of the thread, for a test of its failure. */
  startWorker?: () => Worker;
}

export class Checkpointer {
  readonly #options: CheckpointerOptions;
  readonly #logger: Logger;
  readonly #reads = new Set<PausableReads>();
  readonly #pageSize: number;
  readonly #limit: number;
  readonly #start: number;
  readonly #thread: CheckpointThread;
  #running: Promise<void> | null = null;
  /** The length of the log at the last look, in pages. */
  #seen = 0;
  /** How long the worker takes for a page, flushing it included: of the last checkpoints, at first a guess. */
  #pageMs = 0.02;
  /** The last checkpoint copied all pages, except those written meanwhile. */
  #isCopied = true;
  #nextLook = 0;
  /** Until then a reader is taken to hold the log. */
  #heldUntil = 0;
  /** The writer has waited for the last pages; the next write shows whether the log has started over. */
  #isDue = false;
  /** Since when the log is over its bound; null while it is not. */
  #overSince: number | null = null;
  #isFlushing = false;
  /** While a state is held on purpose, the log may grow: no write waits for it, no read makes room. */
  #isResting = false;
  #gap: Gap | null = null;
  #nextGap = 0;
  #betweenGaps = betweenGapsMs.shortest;
  #warnedAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
    this.#logger = options.logger;
    this.#thread = new CheckpointThread(options.startWorker);
    this.#pageSize = options.writer.get<{ page_size: number }>("PRAGMA page_size")?.page_size ?? 4_096;
    this.#limit = Math.ceil(options.limit / this.#pageSize);
    this.#start = Math.min(startPages, Math.ceil(this.#limit / 4));
    this.#shrink();
  }

  /** From now on these reads make a gap when the log waits for one. */
  add(reads: PausableReads): void {
    this.#reads.add(reads);
  }

  /** To be called between transactions. Null, or a short pause that the writer is to make. */
  catchUp(now: number): Promise<void> | null {
    if (this.#isResting || now < this.#nextLook) return null;
    this.#nextLook = now + lookEveryMs;
    const state = this.#look();
    if (state === null) return null;
    const { log } = state;
    const written = Math.max(0, log - this.#seen);
    if (log >= this.#limit || log < this.#seen) this.#shrink();
    this.#seen = log;
    if (log >= this.#start) this.#copy(state, now);
    if (log >= this.#limit) return this.#over({ ...state, written }, now);
    this.#within();
    return null;
  }

  /** After much was written at once: copying it takes a while, in which the writer need not wait. */
  catchUpSoon(): void {
    this.#nextLook = performance.now() + retryEveryMs;
    this.#begin();
  }

  /** From now on the log may grow; whoever asks for this has a bound of its own. */
  rest(): void {
    this.#isResting = true;
    this.#resume();
  }

  /** The rest is over: the log is kept short again. */
  leave(): void {
    this.#isResting = false;
    this.#overSince = null;
    this.#nextLook = 0;
    this.#heldUntil = 0;
    this.#isCopied = true;
  }

  /** One checkpoint, after the one that may run. A failure is logged. */
  async checkpoint(): Promise<void> {
    await this.#running;
    // A transaction may be under way, in which the writer cannot look at the log.
    this.#begin(null);
    await this.#running;
  }

  async close(): Promise<void> {
    this.#resume();
    await atMost(closeMs, this.#closeThread());
    this.#thread.terminate();
  }

  async #closeThread(): Promise<void> {
    await this.#running;
    await this.#thread.close();
  }

  /** A "noop" checkpoint copies nothing and tells how long the log is. Writes need no answer to that. */
  #look(): CheckpointResult | null {
    try {
      return this.#options.writer.get<CheckpointResult>("PRAGMA wal_checkpoint(NOOP)");
    } catch (error) {
      this.#failed("The state of the write-ahead log could not be read", error);
      return null;
    }
  }

  /** Bytes of the log that are not copied into the database file yet. */
  get uncopied(): number {
    const state = this.#look();
    return state === null ? 0 : (state.log - state.checkpointed) * this.#pageSize;
  }

  /** Has the worker copy as much as possible. */
  #copy({ log, checkpointed }: CheckpointResult, now: number): void {
    if (checkpointed < log && now >= this.#heldUntil) this.#begin();
  }

  #over(state: CheckpointResult & { written: number }, now: number): Promise<void> | null {
    const left = state.log - state.checkpointed;
    this.#overSince ??= now;
    if (left === 0) this.#isCopied = true;
    if (this.#isDue) this.#heldUntil = now + retryEveryMs;
    this.#isDue = false;
    this.#warn(state, now);
    if (this.#running !== null) this.#flushCopied();
    if (this.#isCopied && now >= this.#heldUntil)
      return left > fewPages ? this.#slowDown(state.written) : this.#lastPages();
    this.#makeGap(state, now);
    return null;
  }

  /** The more was written since the last look, the longer the writer pauses: so the worker gains on it. */
  #slowDown(written: number): Promise<void> {
    return this.#pause(Bun.sleep(Math.min(pauseMs, lead * written * this.#pageMs)));
  }

  /** Flushes the copied pages in steps: one flush of all of it at the end would hold up those of the log. */
  #flushCopied(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    // SQLite's own descriptor hears of an error too: its flush, before the log starts over, fails with it.
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
    // With the write that comes now the log starts over, unless somebody reads from it; the one after it shows that.
    this.#isDue = true;
    this.#nextLook = 0;
  }

  /** SQLite cuts the file of the log when it starts over: by little at a time, since the write that does it waits. */
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
    // Between two pauses the writer has some time.
    this.#nextLook = performance.now() + lookEveryMs;
  }

  /** The log has started over, or was never long. */
  #within(): void {
    this.#isDue = false;
    if (this.#overSince === null) return;
    if (this.#warnedAt > this.#overSince) {
      const seconds = Math.round((performance.now() - this.#overSince) / 1_000);
      this.#logger.info("The write-ahead log is within its bound again", { seconds });
    }
    this.#overSince = null;
    this.#heldUntil = 0;
    this.#nextGap = 0;
    this.#betweenGaps = betweenGapsMs.shortest;
    this.#resume();
  }

  /** Reads that follow each other without a gap keep the log from starting over: they make room for it. */
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
      // The next transaction tries again. Without one, nothing makes the log longer.
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
    // A statement that cannot be stopped ends when it is done: the others do not wait for it.
    gap.timer = setTimeout(() => this.#endGap(gap), readMs).unref();
    const message = "The write-ahead log waits for this read to end; try again in a moment, or read less at once.";
    for (const reads of this.#reads) reads.cutOff(new AppError("unavailable", message, { retryAfter: 1 }));
  }

  /** The log has not started over in the gap: nothing was written, or another process reads. */
  #endGap(gap: Gap): void {
    if (this.#gap !== gap) return;
    // A log that is all copied waits for a write alone; changes that write nothing never start it over.
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
      ? "it is being copied into the database file"
      : "an old state of the database is read, perhaps by another process such as a backup";
    this.#logger.warn("The write-ahead log is over its bound and has not started over", {
      bytes: log * this.#pageSize,
      bound: this.#options.limit,
      pages: log,
      pagesToCopy: log - checkpointed,
      seconds: Math.round((now - since) / 1_000),
      cause,
    });
  }

  #failed(message: string, error: unknown): void {
    const now = performance.now();
    this.#heldUntil = now + retryEveryMs;
    if (now - this.#failedAt < warnEveryMs) return;
    this.#failedAt = now;
    this.#logger.error(message, { error });
  }

  /**
   * Begins a checkpoint unless one runs. Where its thread cannot start, a later look tries again.
   * @param before pages that were copied before it; null when that is not known.
   */
  #begin(before: number | null = this.#look()?.checkpointed ?? 0): void {
    if (this.#running !== null) return;
    const { path, file } = this.#options;
    const start = performance.now();
    let work: Promise<CheckpointResult | null>;
    try {
      work = this.#thread.checkpoint({ path, file });
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
      // The log's length when the checkpoint began: later writes do not count.
      this.#isCopied = result !== null && result.checkpointed >= result.log;
      const copied = (result?.checkpointed ?? 0) - (before ?? Number.POSITIVE_INFINITY);
      if (copied >= fewPages) this.#pageMs = (this.#pageMs + (performance.now() - start) / copied) / 2;
      if (!this.#isCopied) this.#heldUntil = performance.now() + retryEveryMs;
    });
  }
}
