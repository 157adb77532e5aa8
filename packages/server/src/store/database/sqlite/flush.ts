/** Flush: makes commits durable by an `fdatasync` of the write-ahead log, one at a time; and the measurements of the disk. */
import { fdatasync, fstatSync, readlinkSync } from "node:fs";
import { Histogram } from "../../../base/logging/index.ts";
import { asUnavailable, refusalCause, refusalCauses } from "./errors.ts";
import { lostFile } from "./open-file.ts";

/** The measurements of the database, for the metrics. */
export class SqliteMeter {
  /** Durations of successful flushes. */
  readonly flushes = new Histogram();
  flushFailures = 0;
  readonly #refused = new Map(refusalCauses.map((cause) => [cause, 0]));

  /** The error for the caller of a failed transaction; counts the refusals of the disk. */
  asRefusal(thrown: unknown): unknown {
    const cause = refusalCause(thrown);
    if (cause !== null) this.#refused.set(cause, (this.#refused.get(cause) ?? 0) + 1);
    return asUnavailable(thrown);
  }

  refused(): readonly (readonly [cause: string, writes: number])[] {
    return [...this.#refused];
  }
}

/** The name of an open file as Linux tells it; null on other systems, and without /proc. */
function nameOf(file: number): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${file}`);
  } catch {
    return null;
  }
}

/**
 * Flushes the write-ahead log of a database. A log that was deleted would disappear with this process, so each flush looks at
 * the name of the log: a deleted or moved log has another name. `fstat` would do, but makes Linux give each later write of the
 * log its own time (multigrain timestamps). On ext4 without a journal, a flush then writes the inode, too.
 * @param file a descriptor of the log.
 */
export function flushOf(path: string, file: number): () => Promise<void> {
  const opened = nameOf(file);
  const isLost = (): boolean => {
    const name = nameOf(file);
    return name === null ? fstatSync(file).nlink === 0 : name !== opened;
  };
  return () =>
    new Promise((resolve, reject) => {
      fdatasync(file, (error) => {
        if (error !== null && error !== undefined) reject(error);
        else if (isLost()) reject(lostFile(`${path}-wal`));
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
