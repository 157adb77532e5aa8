/** Long reads: reads over many turns of the event loop, which keep the tables from before a migration for a while. */
import { AppError } from "../../../base/kernel/index.ts";
import type { LongRead, Reader, Value } from "../store.ts";

/** The connection of an old state. */
type Source = Reader & { close(): void };

/** How long an old state is kept for the readers; the log cannot start over meanwhile. */
const keepMs = 60_000;

/**
 * Reads that belong together over many turns of the event loop, for example the reads of a streamed list. Each read sees
 * all commits so far; after a migration, later reads still see the tables from before the migration.
 */
export class SqliteLongRead implements LongRead {
  /** Answers the present source of the rows; another source after a migration. */
  source: () => Reader;
  onEnd: (read: SqliteLongRead) => void;

  constructor(source: () => Reader, onEnd: (read: SqliteLongRead) => void) {
    this.source = source;
    this.onEnd = onEnd;
  }

  get<T>(sql: string, ...values: Value[]): T | null {
    return this.source().get<T>(sql, ...values);
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    return this.source().all<T>(sql, ...values);
  }

  some<T>(statement: { sql: string; values: readonly Value[] }, isLast: (row: T) => boolean): T[] {
    return this.source().some(statement, isLast);
  }

  end(): void {
    this.onEnd(this);
  }
}

/** A connection with a snapshot older than a migration; closed when all readers of the snapshot have ended. */
export class OldState {
  readonly #connection: Source;
  readonly #reads = new Set<SqliteLongRead>();
  readonly #timer: Timer;
  readonly #onClose: (state: OldState) => void;
  readonly #closed = Promise.withResolvers<void>();
  #isClosed = false;
  #reason = new AppError("unavailable", "The collection was migrated meanwhile, and the read took too long.");

  /** @param connection in a transaction that has already read. */
  constructor(connection: Source, reads: Iterable<SqliteLongRead>, onClose: (state: OldState) => void) {
    this.#connection = connection;
    this.#onClose = onClose;
    for (const read of reads) {
      this.#reads.add(read);
      read.source = () => this.#live();
      read.onEnd = (ended) => this.#ended(ended);
    }
    this.#timer = setTimeout(() => this.close(), keepMs).unref();
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** @param reason the error for later reads. */
  close(reason?: AppError): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#reason = reason ?? this.#reason;
    clearTimeout(this.#timer);
    this.#connection.close();
    this.#onClose(this);
    this.#closed.resolve();
  }

  #ended(read: SqliteLongRead): void {
    this.#reads.delete(read);
    if (this.#reads.size === 0) this.close();
  }

  #live(): Source {
    if (this.#isClosed) throw this.#reason;
    return this.#connection;
  }
}
