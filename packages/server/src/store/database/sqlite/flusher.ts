/** Flusher: makes commits durable with as few flushes as possible. */
import { fdatasync, fstatSync } from "node:fs";
import { SqliteMeter } from "./meter.ts";
import { lostFile } from "./open-file.ts";

/** Flushes the write-ahead log of a database. @param file a descriptor of the log. */
export function flushOf(path: string, file: number): () => Promise<void> {
  return () =>
    new Promise((resolve, reject) => {
      fdatasync(file, (error) => {
        if (error !== null && error !== undefined) reject(error);
        // A log without a name disappears with this process.
        else if (fstatSync(file).nlink === 0) reject(lostFile(`${path}-wal`));
        else resolve();
      });
    });
}

/**
 * Makes commits durable. One flush runs at a time. A call during a flush waits for the next flush, because the running
 * flush may have started before the caller's commit was written.
 */
export class Flusher {
  readonly #sync: () => Promise<void>;
  readonly #meter: SqliteMeter;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  /** `sync` resolves when all earlier writes to the log are on disk. */
  constructor(sync: () => Promise<void>, meter: SqliteMeter = new SqliteMeter()) {
    this.#sync = sync;
    this.#meter = meter;
  }

  /** Resolves when all earlier commits are on disk. After a failure, every flush fails. */
  flush(): Promise<void> {
    if (this.#running === null) return this.#start();
    // A failed flush is final: fsync reports an error once and then forgets the lost pages.
    this.#next ??= this.#running.then(() => this.#start());
    return this.#next;
  }

  #start(): Promise<void> {
    this.#next = null;
    const start = performance.now();
    const flush = this.#sync();
    this.#running = flush;
    flush.then(
      () => {
        this.#meter.flushes.observe(performance.now() - start);
        if (this.#running === flush) this.#running = null;
      },
      () => {
        this.#meter.flushFailures += 1;
      },
    );
    return flush;
  }
}
