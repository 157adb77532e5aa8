import type { Awaitable, Principal, SignedIn } from "../kernel/index.ts";

/** What a column holds and a parameter may be. */
export type Value = string | number | null;

/** Values for `?`, or by name for `:name`. */
export type QueryParameters = readonly Value[] | { readonly [name: string]: Value };

/**
 * Reads what is committed. `T` is the row's shape, which the author of the SQL text knows; names of tables and columns
 * in a text are quoted by `identifier`, values are always parameters.
 */
export interface Reader {
  get<T>(sql: string, ...values: Value[]): Awaitable<T | null>;
  all<T>(sql: string, ...values: Value[]): Awaitable<T[]>;
}

/** A reader whose answers are there at once: on the event loop, or on the thread that asks. */
export interface RowReader extends Reader {
  get<T>(sql: string, ...values: Value[]): T | null;
  all<T>(sql: string, ...values: Value[]): T[];
  /** The rows up to and with the first of which `isLast` says so. The rows behind it are not read. */
  some<T>(statement: { sql: string; values: readonly Value[] }, isLast: (row: T) => boolean): T[];
}

/** A connection of its own that reads the database and writes temporary tables. */
export interface ScratchConnection extends RowReader {
  /** Only for temporary tables. */
  run(sql: string, ...values: Value[]): number;
}

/** A reader on a thread. */
export interface ThreadReader extends Reader {
  /**
   * Runs a task of the thread's module, in one snapshot.
   * @throws SchemaChanged when the tables have another version.
   */
  task<T>(input: unknown, schemaVersion: number): Promise<T>;
}

/** A migration has come between the moment in which a task was made and its snapshot. */
export class SchemaChanged extends Error {
  override readonly name = "SchemaChanged";
}

/** Reads and writes inside one transaction; it ends with the function that it was given to. */
export interface Transactor extends Reader {
  /** Answers the number of rows that changed. */
  run(sql: string, ...values: Value[]): Awaitable<number>;
  /**
   * `effect` is called in the moment of the commit, in which readers find both the data and what is kept in memory about
   * them changed. Transactions that share the commit have run before it.
   */
  onCommit(effect: () => void): void;
  /** The next transaction begins after this one's commit: for a change whose `onCommit` transactions depend on. */
  endBatch(): void;
  /**
   * `effect` is called once the transaction is on disk, in the order of commits; never when it was taken back. The next
   * effect waits for a promise that it answers.
   */
  onDurable(effect: () => unknown): void;
}

/**
 * Looks again at a caller inside the transaction of their change. Answers the caller with the role of this moment.
 * @throws AppError `unauthorized` when the session has ended.
 */
export type CallerGuard = (reader: Reader, caller: SignedIn) => Awaitable<SignedIn>;

/** The caller of a read that may have to wait for a thread. */
export interface Waiter {
  /** Looked at again when the turn comes; absent for what the service reads for itself. */
  readonly principal?: Principal;
  /** A user id or an address: the caller's share counts by it. */
  readonly caller: string;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** A text as SQL quotes it, where no parameter can stand: in the definition of a table. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A name as SQL quotes it. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
