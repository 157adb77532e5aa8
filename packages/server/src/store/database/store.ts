/**
 * The store: the vocabulary between the modules and the database, and the guarantees of the database.
 *
 * 0. **The store is embedded SQLite.** A read, and a statement of a transaction, answers at once, on the event loop
 *    of the thread that asks. More reads need more processes, or replicas with copies of the file, not another engine. Only
 *    `SlowReader` answers promises, because its statements run on a thread.
 * 1. **Transactions are serial.** Their functions run one after another, and the commits keep that order. Short
 *    transactions (`transact`) run in the order of the calls. Long transactions (`transactLong`, `migrate`) take turns by
 *    caller; a short transaction waits for at most one long transaction. So a value that a transaction has read stays
 *    true until its end, and numbers that transactions assign (positions of the event log) rise in commit order. A
 *    function is called once, unless its options allow a second call (`isRepeatable`).
 * 2. **A transaction is whole or not at all.** An error rolls the transaction back, without the other transactions of
 *    the same commit. After a violated unique index the transaction may go on.
 * 3. **State follows the data.** The projection applies the notes of a transaction (`note`) at the moment when readers
 *    begin to see the change: no other code runs between the two. `onDurable`, and the answer of `transact`, come when
 *    the change is on disk, in commit order.
 * 4. **Reads of one turn of the event loop share a snapshot**, the state of the last commit. A read sees the state at
 *    the moment of its call. Readers do not wait for the writer, and the writer does not wait for readers.
 * 5. **Tables change for all modules at one moment**, together with the notes of `migrate`. `longRead` goes on
 *    reading the former tables.
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

/** A migration ran between the creation of a task and its snapshot. */
export class SchemaChanged extends Error {
  override readonly name = "SchemaChanged";
}

/** The caller of a read that may wait for a thread. */
export interface Waiter {
  /** Checked again when the read begins; absent for reads of the service itself. */
  readonly principal?: Principal;
  /** A user id or an address: identifies the caller whose share of the threads is counted. */
  readonly caller: string;
  /** Aborted when the caller no longer waits for the answer. */
  readonly signal: AbortSignal;
}

/** A table of the service that `db.query` may read. Other tables of the service are closed; tables of collections are open. */
export interface QueryTable {
  readonly table: string;
  /** A view with its columns, if some columns must not be read. The other columns are closed in the table, too. */
  readonly view?: { readonly name: string; readonly columns: readonly string[] };
  /** More names for columns, used when the name of a field differs from the name of its column. */
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
