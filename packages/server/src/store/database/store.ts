/**
 * The store: the interface between the modules and the database, and the guarantees of an engine. `sqlite/` is the only
 * engine.
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
 * The suite in `test/store-suite.ts` checks an engine against these guarantees.
 */
import type { Principal, SignedIn } from "../../base/kernel/index.ts";
import type { Histogram, Logger } from "../../base/logging/index.ts";
import type { Note, NoteKind, Projection } from "./projection.ts";

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

/** The statements of a transaction that may take long; see `Migration`. */
export interface SlowTransactor extends SlowReader {
  /** Answers the number of rows that changed. */
  run(sql: string, ...values: Value[]): Promise<number>;
}

/** The reader of the event loop. */
export interface LoopReader extends Reader {
  /**
   * Runs reads. Answers null when their stop probes (`stopProbe`) have met more than `most` rows, or have taken a few
   * milliseconds: a thread must run the reads then.
   */
  within<T>(most: number, work: () => T): T | null;
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

/** Reads and writes inside a transaction. The transactor ends with the function that received the transactor. */
export interface Transactor extends Reader {
  /** Answers the number of rows that changed. */
  run(sql: string, ...values: Value[]): number;
  /**
   * Notes what the commit means for the state in memory: the projection applies the note at the moment of the commit, when
   * readers find both the data and the state changed. Transactions that share the commit have run before.
   */
  note(note: Note): void;
  /**
   * The data of the newest note of a kind in this commit: of this transaction, or of an earlier one that was not rolled back.
   * Null if the state in memory is still the newest.
   */
  lastNote<T>(kind: NoteKind<T>): T | null;
  /** The next transaction begins after this commit: for a change whose notes the next transactions depend on. */
  endBatch(): void;
  /**
   * `effect` is called when the transaction is on disk, in commit order; never after a rollback. When an effect answers a
   * promise, the next effect waits for that promise.
   */
  onDurable(effect: () => unknown): void;
}

/** The transaction of a migration. Its own statements block the event loop: statements on many rows go through `slow`. */
export interface Migration extends Transactor {
  readonly slow: SlowTransactor;
}

/**
 * Checks a caller again inside the transaction of the caller's change. Answers the caller with the present role.
 * @throws AppError `unauthorized` when the session has ended.
 */
export type CallerGuard = (reader: Reader, caller: SignedIn) => SignedIn;

/** The caller of a read that may wait for a thread. */
export interface Waiter {
  /** Checked again when the read begins; absent for reads of the service itself. */
  readonly principal?: Principal;
  /** A user id or an address: identifies the caller whose share of the threads is counted. */
  readonly caller: string;
  /** Aborted when the caller no longer waits for the answer. */
  readonly signal: AbortSignal;
}

/**
 * The tables of a module: each step, a statement or a function, runs once, in order. The number of steps is the version of
 * the module's schema.
 */
export interface ModuleSchema {
  readonly module: string;
  readonly steps: readonly (string | ((tx: Transactor, logger: Logger) => void))[];
}

/**
 * A table of the service that hand-written SQL (`db.query`) may read. Other tables of the service are closed; tables of
 * collections are open.
 */
export interface QueryTable {
  readonly table: string;
  /**
   * The name and columns of a view, if some columns must not be read. The other columns are closed in the table, too.
   */
  readonly view?: { readonly name: string; readonly columns: readonly string[] };
  /** More names for columns, used when the name of a field differs from the name of its column. */
  readonly aliases?: { readonly [name: string]: string };
}

/** The site of a migration: the event loop, or a separate thread, so that requests go on. */
export type MigrationSite = "event-loop" | "thread";

/** Work in a transaction on behalf of a caller, who has the present role. */
export type CallersWork<T> = (tx: Transactor, caller: Principal) => T;

/** Work in a long transaction on behalf of a caller, who has the role of the moment when the transaction begins. */
export type CallersLongWork<T> = (tx: Transactor, caller: Principal) => Promise<T>;

/** A migration on behalf of a caller, who has the present role. */
export type CallersMigration<T> = (tx: Migration, caller: Principal) => T | Promise<T>;

export interface TransactOptions {
  /** Whether the transaction may use the reserve on a full disk. */
  readonly makesRoom?: boolean;
  /**
   * Whether the function may be called again: its only results are changes to the database and its effects. For transactions
   * that rarely fail after a write: the transaction costs less, but a failure after a write costs more.
   */
  readonly isRepeatable?: boolean;
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

/** Bytes of a file that the database has opened: read the bytes through its descriptor, which stays open. */
interface HeldBytes {
  /** A descriptor. */
  readonly file: number;
  readonly size: number;
}

/** The state of the database at one moment, for a copy. */
export interface HeldState {
  readonly database: HeldBytes;
  /**
   * Null if the file alone is the state. `pages` is the number of pages in the bytes; a page may occur several times.
   */
  readonly log: (HeldBytes & { readonly pages: number }) | null;
  /** The file may change again. A second call has no effect. */
  release(): void;
}

/** A reason why the disk refused a write. */
export type RefusalCause = "full" | "read-only" | "io-error" | "other";

/** Measurements of a database, for the metrics. */
export interface DatabaseMeter {
  /** Durations of successful flushes. */
  readonly flushes: Histogram;
  readonly flushFailures: number;
  /** Refused writes, by cause. */
  refused(): readonly (readonly [cause: RefusalCause, writes: number])[];
}

/** The embedded database: `reader` for committed data, `transact` for every change. */
export interface Database {
  readonly path: string;
  readonly meter: DatabaseMeter;
  /** The state in memory that follows the commits. */
  readonly projection: Projection;
  readonly reader: Reader;
  /** Reads on the event loop, for reads that an index answers quickly. */
  readonly rows: LoopReader;
  /** Whether a migration runs or waits: writes may then wait for a long time. */
  readonly isMigrating: boolean;
  /** Bytes of the log that no checkpoint has copied into the database file yet. */
  readonly uncopiedLog: number;

  /**
   * Runs `work` in a new transaction and resolves with its answer when the change is on disk. An error of `work` rolls
   * the transaction back and is thrown here. `work` must not wait for another transaction.
   * @throws AppError `unavailable` when the disk refuses the change, or while the service stops.
   */
  transact<T>(work: (tx: Transactor) => T, options?: TransactOptions): Promise<T>;
  /**
   * Like `transact`, for work that takes turns with the event loop: the work runs alone, when `caller` has the turn among the
   * callers whose long transactions wait.
   */
  transactLong<T>(caller: string, work: (tx: Transactor) => Promise<T>): Promise<T>;
  /**
   * Like `transact`, for a change that a caller asked for. The session and the role of the caller are checked inside the
   * transaction, after all earlier commits.
   * @param work gets the caller with the present role.
   * @param options `makesRoom` takes effect only for admins.
   * @throws AppError `unauthorized` when the session has ended.
   */
  transactFor<T>(principal: Principal, work: CallersWork<T>, options?: TransactOptions): Promise<T>;
  /** Like `transactLong`, for a change that a caller asked for; see `transactFor`. */
  transactLongFor<T>(
    principal: Principal,
    work: CallersLongWork<T>,
    options?: Pick<TransactOptions, "makesRoom">,
  ): Promise<T>;
  /**
   * Like `transact`, for a change of tables. On a "thread", requests go on during the migration: reads see the old tables
   * until the commit, writes wait.
   */
  migrate<T>(work: (tx: Migration) => T | Promise<T>, site: MigrationSite): Promise<T>;
  /** Like `migrate`, for a change that a caller asked for; see `transactFor`. */
  migrateFor<T>(principal: Principal, work: CallersMigration<T>, site: MigrationSite): Promise<T>;
  /**
   * A write without a change, through log and flush: a success proves that the disk accepts writes.
   * @throws AppError as `transact`.
   */
  probe(): Promise<void>;

  /** Registers `guard`, which checks callers again when their right is used. The module `auth` calls this method. */
  guardCallers(guard: CallerGuard): void;
  /**
   * The caller with the present role.
   * @throws AppError `unauthorized` when the session has ended.
   */
  recheck(principal: Principal, reader?: Reader): Principal;

  /**
   * Reads that belong together over many turns of the event loop: the reads do not see a migration in between. The
   * caller ends the long read.
   */
  longRead(): LongRead;
  /**
   * Reads on a thread, without a limit of time, all in one snapshot: for admins. Two run at a time; a few others wait.
   * @throws AppError `unavailable` when too many wait, the write-ahead log needs room, or the disk cannot be read.
   */
  readOnThread<T>(work: (reader: SlowReader) => Promise<T>, waiter: Waiter): Promise<T>;
  /**
   * Reads on a thread, with a limit of time, all in one snapshot. The statements carry a `stopProbe`.
   * @throws AppError as `readOnThread`, also when the reads take too long.
   */
  query<T>(work: (reader: SlowReader) => Promise<T>, waiter: Waiter): Promise<T>;
  /**
   * Like `query`, for a task of the module that these threads run.
   * @param makeInput is called when the task's turn has come, and sees the definitions of that moment.
   * @throws SchemaChanged when a migration has changed the tables between that call and the snapshot.
   */
  task<T>(makeInput: () => unknown, waiter: Waiter): Promise<T>;
  /**
   * A connection that reads and has temporary tables. Each statement sees all commits so far. The connection closes with
   * the database.
   * @param onProbe is called for each row that a `stopProbe` meets; its error ends the statement.
   */
  openScratch(onProbe: () => void): ScratchConnection;
  /** Pauses these reads of another module or process when the write-ahead log waits for a gap between reads. */
  joinGaps(reads: PausableReads): void;

  /**
   * Holds the database file and its log in the state of the last commit, for a copy, while writes go on. The log
   * grows meanwhile: the caller limits the growth and releases the state.
   */
  holdState(): Promise<HeldState>;
  /** Bytes of the database file and of its log. */
  sizes(): { readonly database: number; readonly log: number };

  /** Upgrades the tables of the modules to this version, in one transaction. */
  prepare(schemas: readonly ModuleSchema[]): Promise<void>;
  /** Refuses all new transactions, and the accepted transactions that are not done: their callers get an answer. */
  giveUp(): void;
  /**
   * Waits for accepted transactions, copies the log into the file and closes the file. After `graceMs` (8 s), the rest
   * is given up: a migration is rolled back.
   */
  close(graceMs?: number): Promise<void>;
}

/** A text, quoted for SQL. For places in a statement that accept no parameter: the definition of a table. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A name, quoted for SQL. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
