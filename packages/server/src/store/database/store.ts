/**
 * The store: the types by which modules read the database, and the guarantees of the database.
 *
 * 0. **The store is embedded SQLite.** A read returns rows directly, without a promise, and so does each statement of a
 *    transaction. To serve more reads, add processes, or replicas with copies of the file; another engine is not needed.
 *    Only `SlowReader` and `Migration.slow` answer promises, because their statements may run on a thread.
 * 1. **Transactions are serial.** Their functions run one after another, and the commits keep that order. Short
 *    transactions (`transact`) run in the order of the calls. Long transactions (`transactLong`) take turns by caller, and
 *    migrations (`migrate`) run in the order of the calls; a short transaction that fits in the next commit waits for at most
 *    one long transaction, and for the migrations before. So a value that a transaction has read does not change before the transaction ends, and
 *    numbers that transactions assign (positions of the event log) rise in commit order. A function is called again only
 *    when the options allow that (`isRepeatable`), or when the writer had to roll back the whole commit: for a full disk,
 *    or for a damaged page that another function met.
 * 2. **A transaction is whole or not at all.** An error rolls back only this transaction; the others of the same commit
 *    stay. If a statement violates a unique index, only that statement fails, and the transaction may continue.
 * 3. **State follows the data.** The projection applies the notes of a transaction (`note`) at the moment when readers
 *    begin to see the change: no code sees one without the other. `onDurable`, and the answer of `transact`, come when
 *    the change is on disk, in commit order.
 * 4. **Reads of one turn of the event loop share a snapshot**, the state of the last commit. A read sees the state at
 *    the moment of the call. Reads on the event loop do not wait for the writer, and the writer does not wait for reads.
 * 5. **A migration changes the tables for all modules at the same moment** as the state in memory. A `longRead` that
 *    began earlier still reads the former tables.
 * 6. **An acknowledged write survives** a kill of the process and a cut of the power. A flush that fails is final.
 *
 * `transactions.test.ts` and `isolation.test.ts` check these guarantees.
 */
import type { Principal } from "../../base/kernel/index.ts";

/** A value of a column or of a parameter. */
export type Value = string | number | null;

/** Values for `?`, or by name for `:name`. */
export type QueryParameters = readonly Value[] | { readonly [name: string]: Value };

/**
 * Reads committed data and answers at once. `T` is the shape of a row, known to the author of the SQL text. `identifier`
 * quotes the names of tables and columns in a text; values are always parameters.
 */
export interface Reader {
  get<T>(sql: string, ...values: Value[]): T | null;
  all<T>(sql: string, ...values: Value[]): T[];
  /** The rows up to and including the first row for which `isLast` is true. Later rows are not read. */
  some<T>(statement: { sql: string; values: readonly Value[] }, isLast: (row: T) => boolean): T[];
}

/** A reader for statements that may take long: on a thread, or on the event loop when the database is small. */
export interface SlowReader {
  get<T>(sql: string, ...values: Value[]): Promise<T | null>;
  all<T>(sql: string, ...values: Value[]): Promise<T[]>;
}

/** A reader on the event loop, for work that can also run on a thread. */
export function asSlowReader(reader: Reader): SlowReader {
  return {
    get: async (sql, ...values) => reader.get(sql, ...values),
    all: async (sql, ...values) => reader.all(sql, ...values),
  };
}

/** A reader over many turns of the event loop; see `Database.longRead`. */
export interface LongRead extends Reader {
  /** Call `end` after the last read. */
  end(): void;
}

/** A separate connection that reads the database and writes temporary tables. */
export interface ScratchConnection extends Reader {
  /** Only for temporary tables. */
  run(sql: string, ...values: Value[]): number;
}

/** A migration ran between the creation of a task and the snapshot. */
export class SchemaChanged extends Error {
  override readonly name = "SchemaChanged";
}

/** The caller of a read that may wait for a thread. */
export interface Waiter {
  /** Checked again when the read begins; absent for reads of the service. */
  readonly principal?: Principal;
  /** A user id or an address: identifies the caller for a share of the threads. */
  readonly caller: string;
  /** Aborted when the caller no longer waits for the answer. */
  readonly signal: AbortSignal;
}

/** A table of the service that `db.query` may read. Other tables of the service are closed; tables of collections are open. */
export interface QueryTable {
  readonly table: string;
  /** A view with columns, if some columns must not be read. The other columns are closed in the table, too. */
  readonly view?: { readonly name: string; readonly columns: readonly string[] };
  /** More names for columns, used when the name of a field differs from the name of the column. */
  readonly aliases?: { readonly [name: string]: string };
}

/** Reads of another module or process that may hold an old state of the database, and with that state the write-ahead log. */
export interface PausableReads {
  /** From now on no read begins. Resolves when no read runs. */
  drain(): Promise<void>;
  /** From now on reads may begin again. */
  resume(): void;
  /** Ends the running reads: each read fails with the reason. */
  cutOff(reason: Error): void;
}

/** A text, quoted for SQL. For places in a statement that accept no parameter: the definition of a table. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A name, quoted for SQL. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
