/** Long reads: reads over many turns of the event loop, which keep the tables from before a migration for a while. */
import { AppError } from "../../kernel/index.ts";
import type { LongRead, RowReader, Value } from "../store.ts";
import type { Connection } from "./connection.ts";

/** How long an old state is kept for its readers; meanwhile the log cannot start over. */
const keepMs = 60_000;

/**
 * Reads that belong together over many turns of the event loop, as those of a list that is streamed. Each sees the
 * commits so far; after a migration, the later ones still see the tables from before it.
 */
export class SqliteLongRead implements LongRead {
  #source: RowReader;
  #onEnd: (read: SqliteLongRead) => void;

  constructor(source: RowReader, onEnd: (read: SqliteLongRead) => void) {
    this.#source = source;
    this.#onEnd = onEnd;
  }

  get<T>(sql: string, ...values: Value[]): T | null {
    return this.#source.get<T>(sql, ...values);
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    return this.#source.all<T>(sql, ...values);
  }

  some<T>(statement: { sql: string; values: readonly Value[] }, isLast: (row: T) => boolean): T[] {
    return this.#source.some(statement, isLast);
  }

  /** To be called once nothing more is read. */
  end(): void {
    this.#onEnd(this);
  }

  /** Goes on with another source. */
  moveTo(source: RowReader, onEnd: (read: SqliteLongRead) => void): void {
    this.#source = source;
    this.#onEnd = onEnd;
  }
}

/** A connection whose snapshot is older than a migration, until all that read it have ended. */
export class OldState implements RowReader {
  readonly #connection: Connection;
  readonly #reads = new Set<SqliteLongRead>();
  readonly #timer: Timer;
  readonly #onClose: (state: OldState) => void;
  readonly #closed = Promise.withResolvers<void>();
  #isClosed = false;
  #reason = new AppError("unavailable", "The collection was migrated meanwhile, and reading it took too long.");

  /** @param connection in a transaction, which has read already. */
  constructor(connection: Connection, reads: Iterable<SqliteLongRead>, onClose: (state: OldState) => void) {
    this.#connection = connection;
    this.#onClose = onClose;
    for (const read of reads) {
      this.#reads.add(read);
      read.moveTo(this, (ended) => this.#ended(ended));
    }
    this.#timer = setTimeout(() => this.close(), keepMs).unref();
  }

  get<T>(sql: string, ...values: Value[]): T | null {
    return this.#live().get<T>(sql, ...values);
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    return this.#live().all<T>(sql, ...values);
  }

  some<T>(statement: { sql: string; values: readonly Value[] }, isLast: (row: T) => boolean): T[] {
    return this.#live().some(statement, isLast);
  }

  /** Resolves once it is closed. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** @param reason for those that still read. */
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

  #live(): Connection {
    if (this.#isClosed) throw this.#reason;
    return this.#connection;
  }
}
