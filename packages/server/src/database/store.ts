/**
 * The store: the interface of the database to the modules, and the guarantees of an engine. `sqlite/` is the one
 * engine.
 *
 * 1. **Transactions are serial.** Their functions run one after the other, in the order in which they were asked for,
 * and their
 *    commits are in that order; so what a transaction has read stays so until its end, and numbers that are given inside
 *    of one (positions of the event log) grow with the commits. A function is called once, unless it
 *    says that it may be called again (`isRepeatable`).
 * 2. **A transaction is whole or not at all**; an error rolls it back, without the others that share its commit. After
 * a
 *    violated unique index it may go on.
 * 3. **Effects follow the data.** `onCommit` is called in the moment in which readers begin to see the change: between
 * the two,
 *    no other code runs. `onDurable`, and the answer of `transact`, come when the change is on disk, in the order of commits.
 * 4. **Reads of one turn of the event loop are of one snapshot**, which is that of the last commit; a read is of the
 * moment in
 *    which it is asked for. Reads do not wait for the writer, nor the writer for them.
 * 5. **Tables change for everybody in one moment**, with the effects of `migrate`. `longRead` goes on reading the
 * former ones.
 * 6. **An acknowledged write survives** a kill of the process and a cut of the power. A flush that fails is final.
 *
 * The suite in `test/store-suite.ts` holds an engine to that.
 */
import type { Awaitable, Principal, SignedIn } from "../kernel/index.ts";
import type { Histogram } from "../logging/index.ts";

/** A value of a column or of a parameter. */
export type Value = string | number | null;

/** Values for `?`, or by name for `:name`. */
export type QueryParameters = readonly Value[] | { readonly [name: string]: Value };

/**
 * Reads committed data. `T` is the row's shape, which the author of the SQL text knows; names of tables and columns
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

/** The reader of the event loop. */
export interface LoopReader extends RowReader {
  /** Runs reads, and answers null when their stop probes (`stopProbe`) have met more than `most` rows: then they are for a thread. */
  within<T>(most: number, work: () => T): T | null;
}

/** A reader over many turns of the event loop; see `Database.longRead`. */
export interface LongRead extends RowReader {
  /** To be called once nothing more is read. */
  end(): void;
}

/** A connection of its own that reads the database and writes temporary tables. */
export interface ScratchConnection extends RowReader {
  /** Only for temporary tables. */
  run(sql: string, ...values: Value[]): number;
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
   * `effect` is called in the moment of the commit, in which readers find both the data and the state in memory
   * changed. Transactions that share the commit have run before it.
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
  /** Checked again when the read begins; absent for reads of the service itself. */
  readonly principal?: Principal;
  /** A user id or an address: the caller's share counts by it. */
  readonly caller: string;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** One module's tables: each step is run once, in order; its count is the version of the module's schema. */
export interface ModuleSchema {
  readonly module: string;
  readonly steps: readonly string[];
}

/**
 * A table as hand-written SQL (`db.query`) may read it. Every other table of the service's own is closed; those of
 * collections are open.
 */
export interface QueryTable {
  readonly table: string;
  /**
   * The name and columns of a view, where not all columns may be read. The other columns are closed in the table, too.
   */
  readonly view?: { readonly name: string; readonly columns: readonly string[] };
  /** Further names of columns: those of fields whose columns have other names. */
  readonly aliases?: { readonly [name: string]: string };
}

/** The site of a migration: the event loop, or a thread of its own, so that requests go on. */
export type MigrationSite = "event-loop" | "thread";

/** Work in a transaction for somebody, with the role of this moment. */
export type CallersWork<T> = (tx: Transactor, caller: Principal) => Awaitable<T>;

export interface TransactOptions {
  /** Whether the transaction may use the reserve on a full disk. */
  readonly makesRoom?: boolean;
  /**
   * Whether the function may be called again, because it changes nothing but the database and by its effects. For a transaction
   * that seldom fails after it has written: it costs less, and more where it fails then.
   */
  readonly isRepeatable?: boolean;
  /** How many changes it makes, about; 1 without it. A heavy transaction shares its commit with few others. */
  readonly weight?: number;
}

/** Reads of another module or process that can hold an old state of the database, and with it the write-ahead log. */
export interface PausableReads {
  /** From now on none begins. Resolves once none runs. */
  drain(): Promise<void>;
  /** From now on they may begin again. */
  resume(): void;
  /** Ends those that run: each fails with the reason. */
  cutOff(reason: Error): void;
}

/** Bytes of a file that the database has opened: they are read through its descriptor, which stays open. */
interface HeldBytes {
  /** A descriptor. */
  readonly file: number;
  readonly size: number;
}

/** The database of one moment, to be copied. */
export interface HeldState {
  readonly database: HeldBytes;
  /**
   * Null where the file alone is the state. `pages` is how many of them the bytes hold; one may be there many times.
   */
  readonly log: (HeldBytes & { readonly pages: number }) | null;
  /** The file may change again. A second call does nothing. */
  release(): void;
}

/** A reason why the disk did not take a write. */
export type RefusalCause = "full" | "read-only" | "io-error" | "other";

/** Measurements of a database, for the metrics. */
export interface DatabaseMeter {
  /** Durations of flushes that worked. */
  readonly flushes: Histogram;
  readonly flushFailures: number;
  /** Writes that were refused, by cause. */
  refused(): readonly (readonly [cause: RefusalCause, writes: number])[];
}

/** The embedded database: `reader` for committed data, `transact` for every change. */
export interface Database {
  readonly path: string;
  readonly meter: DatabaseMeter;
  readonly reader: Reader;
  /** Reads on the event loop, for reads that an index answers in a moment. */
  readonly rows: LoopReader;
  /** Whether a migration runs or waits: writes may have to wait for long then. */
  readonly isMigrating: boolean;
  /** Bytes of the log that no checkpoint has copied into the database file yet. */
  readonly uncopiedLog: number;

  /**
   * Runs `work` in a transaction of its own and resolves with its answer once that is on disk. Its error rolls the
   * transaction back and is thrown here. `work` must not wait for another transaction.
   * @throws AppError `unavailable` when the disk does not take the change, or while the service stops.
   */
  transact<T>(work: (tx: Transactor) => Awaitable<T>, options?: TransactOptions): Promise<T>;
  /**
   * Like `transact`, for a change that somebody asked for: whether their session is still in force, and with which
   * role, is looked at inside the transaction, after everything that was committed before it.
   * @param work gets the caller with the role of this moment.
   * @param options `makesRoom` counts for admins alone.
   * @throws AppError `unauthorized` when the session has ended.
   */
  transactFor<T>(principal: Principal, work: CallersWork<T>, options?: TransactOptions): Promise<T>;
  /**
   * Like `transact`, for a change of tables. On a "thread", requests go on meanwhile: reads see the old tables
   * until the commit, writes wait.
   */
  migrate<T>(work: (tx: Transactor) => Awaitable<T>, site: MigrationSite): Promise<T>;
  /** Like `migrate`, for a change that somebody asked for; see `transactFor`. */
  migrateFor<T>(principal: Principal, work: CallersWork<T>, site: MigrationSite): Promise<T>;
  /**
   * A write that changes nothing, through log and flush: it proves that the disk takes one. @throws AppError as
   * `transact`.
   */
  probe(): Promise<void>;

  /** Has `guard` look again at callers when their right is used. Auth registers it. */
  guardCallers(guard: CallerGuard): void;
  /**
   * A caller with the role of this moment.
   * @throws AppError `unauthorized` when the session has ended.
   */
  recheck(principal: Principal, reader?: Reader): Awaitable<Principal>;

  /**
   * Reads that belong together over many turns of the event loop: a migration in between is not seen. The caller
   * ends them.
   */
  longRead(): LongRead;
  /**
   * Reads without a limit of time, on a thread, all of one snapshot: for admins. Two run at a time; some others wait.
   * @throws AppError `unavailable` when too many wait, the write-ahead log needs room, or the disk cannot be read.
   */
  readOnThread<T>(work: (reader: Reader) => Promise<T>, waiter: Waiter): Promise<T>;
  /**
   * Reads with a limit of time, on a thread, all of one snapshot. Their statements carry a `stopProbe`.
   * @throws AppError as `readOnThread`, also when it takes too long.
   */
  query<T>(work: (reader: Reader) => Promise<T>, waiter: Waiter): Promise<T>;
  /**
   * Like `query`, for a task of the module of these threads.
   * @param makeInput is called when the turn of the task has come, and sees the definitions of that moment.
   * @throws SchemaChanged when a migration has changed the tables in the moment between that and the snapshot.
   */
  task<T>(makeInput: () => unknown, waiter: Waiter): Promise<T>;
  /**
   * A connection that reads and has temporary tables. Each statement sees the commits so far. Closed with the
   * database.
   * @param onProbe is called for each row that a `stopProbe` meets; its error ends the statement.
   */
  openScratch(onProbe: () => void): ScratchConnection;
  /** Has reads of another module or process make a gap when the write-ahead log waits for one. */
  joinGaps(reads: PausableReads): void;

  /**
   * Holds the database file and its log in the state of the last commit, to be copied, while writes go on. The log
   * grows meanwhile: the caller has a bound for that, and releases it.
   */
  holdState(): Promise<HeldState>;
  /** Bytes of the database file and of its log. */
  sizes(): { readonly database: number; readonly log: number };

  /** Upgrades the tables of the modules to this version, in one transaction. */
  prepare(schemas: readonly ModuleSchema[]): Promise<void>;
  /** Refuses accepted transactions that are not done, and all new ones: their callers are answered. */
  giveUp(): void;
  /**
   * Waits for accepted transactions, copies the log into the file and closes it. After `graceMs` (8 s) the rest is
   * given up: a migration is rolled back.
   */
  close(graceMs?: number): Promise<void>;
}

/** A text as SQL quotes it, where no parameter can stand: in the definition of a table. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A name as SQL quotes it. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
