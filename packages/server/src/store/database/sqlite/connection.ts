/**
 * Connection: a SQLite connection with its prepared statements, and the snapshot reader, through which the event loop reads.
 * Only the module `database` uses `Connection`.
 */
import { Database as Driver, SQLiteError, type Statement } from "bun:sqlite";
import { dirname } from "node:path";
import type { AppError } from "../../../base/kernel/index.ts";
import { literal, type PausableReads, type QueryParameters, type Reader, type Value } from "../store.ts";
import { damageOf, stopping } from "./errors.ts";
import { OldState, SqliteLongRead } from "./long-read.ts";

/** More than enough for all statements of hundreds of collections, but still a bound. */
const maxStatements = 4_000;
/** A prepared statement takes memory with its text, and many filters make texts that never occur again. */
const maxCharacters = 1_000_000;

let hasTemporaryFolder = false;

/**
 * Puts SQLite's temporary files (large sorts, new indexes) beside the database: a container may have no /tmp. The setting
 * belongs to the process, and no thread may read the setting during a change. So only the process's first connection sets the folder.
 */
function placeTemporaryFiles(driver: Driver, path: string): void {
  if (hasTemporaryFolder || !Bun.isMainThread || path === ":memory:") return;
  hasTemporaryFolder = true;
  try {
    driver.run(`PRAGMA temp_store_directory = ${literal(dirname(path))}`);
  } catch {
    // The folder is not writable, for example for a read-only copy: SQLite then chooses the place of the temporary files.
  }
}

type Binding = Value | { [name: string]: Value };
type AnyStatement = Statement<unknown, Binding[]>;

export class Connection implements Reader {
  readonly #path: string;
  readonly #driver: Driver;
  readonly #statements = new Map<string, AnyStatement>();
  #characters = 0;

  /** A connection that only reads waits for locks; any other connection sets its own pragmas. */
  constructor(path: string, options: { readonly: boolean }) {
    this.#path = path;
    this.#driver = options.readonly
      ? new Driver(path, { readonly: true, strict: true })
      : new Driver(path, { readwrite: true, create: true });
    placeTemporaryFiles(this.#driver, path);
    if (!options.readonly) return;
    this.execute("PRAGMA busy_timeout = 5000");
    this.execute("PRAGMA cache_size = -8000");
  }

  get inTransaction(): boolean {
    return this.#driver.inTransaction;
  }

  get<T>(sql: string, ...values: Value[]): T | null {
    // Each method has its own `try`: a closure for each statement would cost as much as a short statement.
    try {
      // The author of the SQL text names the shape of its rows.
      return this.#prepare(sql).get(...values) as T | null;
    } catch (thrown) {
      throw this.#explained(thrown, sql);
    }
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    // Bun's `all` leaves an EXPLAIN running and so keeps its snapshot open: the connection would see no newer
    // commits.
    if (sql.startsWith("EXPLAIN ")) return [...this.iterate<T>(sql, values)];
    try {
      return this.#prepare(sql).all(...values) as T[];
    } catch (thrown) {
      throw this.#explained(thrown, sql);
    }
  }

  some<T>({ sql, values }: { sql: string; values: readonly Value[] }, isLast: (row: T) => boolean): T[] {
    const rows: T[] = [];
    try {
      for (const row of this.#prepare(sql).iterate(...values) as IterableIterator<T>) {
        rows.push(row);
        if (isLast(row)) break;
      }
    } catch (thrown) {
      throw this.#explained(thrown, sql);
    }
    return rows;
  }

  /** Iterates over the rows. `parameters` are values for `?`, or by name for `:name`. */
  *iterate<T>(sql: string, parameters: QueryParameters): IterableIterator<T> {
    const bindings: Binding[] = isList(parameters) ? [...parameters] : [{ ...parameters }];
    try {
      yield* this.#prepare(sql).iterate(...bindings) as IterableIterator<T>;
    } catch (thrown) {
      throw this.#explained(thrown, sql);
    }
  }

  /** The names of the columns of a statement, in order; a name can stand twice. */
  columnsOf(sql: string): readonly string[] {
    return this.#prepare(sql).columnNames;
  }

  run(sql: string, ...values: Value[]): number {
    try {
      return this.#prepare(sql).run(...values).changes;
    } catch (thrown) {
      throw this.#explained(thrown, sql);
    }
  }

  /** For statements that run once: pragmas, DDL. */
  execute(sql: string): void {
    try {
      this.#driver.run(sql);
    } catch (thrown) {
      throw this.#explained(thrown, sql);
    }
  }

  /**
   * Adds a function with as many arguments as `work` has parameters; with any number for a `work` of rest parameters alone. An error of
   * `work` becomes an error of the statement.
   */
  define(name: string, work: (...values: Value[]) => Value): void {
    this.#driver.function(name, { varargs: work.length === 0 }, work);
  }

  close(): void {
    this.#forgetStatements();
    this.#driver.close();
  }

  /** The error of a statement; an error about damage names the file, the tables, and the next step. */
  #explained(thrown: unknown, sql: string): unknown {
    if (!(thrown instanceof SQLiteError)) return thrown;
    return damageOf(thrown, { path: this.#path, sql }) ?? thrown;
  }

  #prepare(sql: string): AnyStatement {
    let statement = this.#statements.get(sql);
    // An EXPLAIN does not run its program, and so does not notice that the schema has changed.
    if (statement !== undefined && sql.startsWith("EXPLAIN ")) {
      statement.finalize();
      this.#characters -= sql.length;
      statement = undefined;
    }
    if (statement === undefined) {
      if (this.#statements.size >= maxStatements || this.#characters > maxCharacters) this.#forgetStatements();
      statement = this.#driver.prepare<unknown, Binding[]>(sql);
      this.#statements.set(sql, statement);
      this.#characters += sql.length;
    }
    return statement;
  }

  #forgetStatements(): void {
    for (const statement of this.#statements.values()) statement.finalize();
    this.#statements.clear();
    this.#characters = 0;
  }
}

function isList(parameters: QueryParameters): parameters is readonly Value[] {
  return Array.isArray(parameters);
}

/** Ends the transaction of a connection. Answers whether the connection is without a transaction. */
function endedIn(connection: Connection): boolean {
  try {
    if (connection.inTransaction) connection.run("COMMIT");
  } catch {
    // The COMMIT after a read of a damaged page fails with the error of the read.
  }
  return !connection.inTransaction;
}

/** Reads within a bound give up when they have taken this time, and then this time of the processor. */
const withinMs = 2;
/** Reads that have met more than a few rows give up at the latest after this time more, as the disk may be slow. */
const fewProbes = 50;
const waitMs = 8;

/**
 * Reads on a separate connection. All reads of one turn of the event loop share a snapshot, because opening a snapshot
 * costs more than most reads. The snapshot ends with the turn, and with each commit of the writer: a read sees all
 * earlier commits.
 */
export class SnapshotReader implements Reader, PausableReads {
  readonly #openConnection: () => Connection;
  /** The rows that stop probes may still meet; the time from which on, after the first few rows, no row may be met. */
  #probesLeft = Number.POSITIVE_INFINITY;
  #probes = 0;
  #probesUntil = Number.POSITIVE_INFINITY;
  /** The processor time of this thread when the time of the reads was over, in microseconds; 0 before. */
  #overdueSince = 0;
  #isTooMuch = false;
  readonly #longReads = new Set<SqliteLongRead>();
  readonly #oldStates = new Set<OldState>();
  readonly #endTurn = (): void => this.end();
  #connection: Connection;
  #isOpen = false;
  /** Whether the transaction could not be ended: the next read then takes another connection. */
  #isBroken = false;
  #isHeld = false;
  #isClosed = false;
  /** A connection for the reads after a migration, opened by `hold`; while the reader follows, for the next state. */
  #next: Connection | null = null;
  /** Whether the snapshot stays until `step`, and whether the next connection has the next snapshot. */
  #follows = false;
  #hasLookedAhead = false;

  /** @param openConnection gets the function that stop probes call for each row. */
  constructor(openConnection: (onProbe: () => void) => Connection) {
    this.#openConnection = () => openConnection(() => this.#probe());
    this.#connection = this.#openConnection();
  }

  get<T>(sql: string, ...values: Value[]): T | null {
    return this.#begin().get<T>(sql, ...values);
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    return this.#begin().all<T>(sql, ...values);
  }

  some<T>(statement: { sql: string; values: readonly Value[] }, isLast: (row: T) => boolean): T[] {
    return this.#begin().some(statement, isLast);
  }

  /**
   * Runs reads. Answers null when their stop probes (`stopProbe`) have met more than `most` rows, or when the rows have taken a few
   * milliseconds: a thread must run the reads then.
   */
  within<T>(most: number, work: () => T): T | null {
    this.#probesLeft = most;
    this.#probes = 0;
    this.#probesUntil = performance.now() + withinMs;
    this.#overdueSince = 0;
    this.#isTooMuch = false;
    try {
      return work();
    } catch (thrown) {
      // The driver wraps the error of a probe.
      if (!this.#isTooMuch) throw thrown;
      return null;
    } finally {
      this.#probesLeft = Number.POSITIVE_INFINITY;
      this.#probesUntil = Number.POSITIVE_INFINITY;
    }
  }

  longRead(): SqliteLongRead {
    const read = new SqliteLongRead(
      () => this,
      (ended) => this.#longReads.delete(ended),
    );
    this.#longReads.add(read);
    return read;
  }

  /** From now on all reads see the present state, until `step`. */
  follow(): void {
    this.hold();
    this.#follows = true;
  }

  /** Reads from the next state, which `step` makes the state of all reads. The first call since the last `step` takes the state. */
  ahead<T>(read: (next: Reader) => T): T {
    this.#next ??= this.#openConnection();
    if (!this.#hasLookedAhead) this.#next.run("BEGIN");
    this.#hasLookedAhead = true;
    return read(this.#next);
  }

  /** From now on all reads see the state that `ahead` has read. After a migration, earlier long reads go on with their old state. */
  step(isMigration: boolean): void {
    const before = this.#connection;
    this.#connection = this.#next ?? before;
    this.#next = null;
    this.#hasLookedAhead = false;
    if (isMigration && this.#longReads.size > 0) {
      this.#keepFor(before);
      return;
    }
    // After a read that has met damage, the transaction has ended, or cannot be ended.
    if (endedIn(before)) this.#next = before;
    else before.close();
  }

  /** Takes the present state anew: an earlier snapshot of the same state may hold the write-ahead log. */
  renew(): void {
    if (!this.#follows || this.#hasLookedAhead) return;
    this.ahead((next) => next.get("SELECT 1 FROM sqlite_schema LIMIT 1"));
    this.step(false);
  }

  /** Ends the snapshot: the next read sees all commits up to its call. */
  end(): void {
    if (!this.#isOpen || this.#isHeld) return;
    this.#isOpen = false;
    // An error may have ended the transaction already.
    this.#isBroken = !endedIn(this.#connection);
  }

  /** Keeps the present state for all reads until `release`. */
  hold(): void {
    this.end();
    // The first read of a transaction takes its snapshot.
    this.get("SELECT 1 FROM sqlite_schema LIMIT 1");
    this.#isHeld = true;
    // Opened now, when a failure still rolls the migration back: `release` may need the connection after the commit.
    this.#next ??= this.#openConnection();
  }

  /** Ends `hold`. After a migration, earlier long reads go on with their old state. */
  release({ isMigrated }: { isMigrated: boolean }): void {
    this.#isHeld = false;
    if (!isMigrated || this.#longReads.size === 0) {
      this.end();
      this.#next?.close();
      this.#next = null;
      return;
    }
    this.#keepFor(this.#connection);
    this.#isOpen = false;
    this.#connection = this.#next ?? this.#openConnection();
    this.#next = null;
  }

  /** Keeps an old state for the long reads that have begun. */
  #keepFor(connection: Connection): void {
    const state = new OldState(connection, this.#longReads, (closed) => this.#oldStates.delete(closed));
    this.#oldStates.add(state);
    this.#longReads.clear();
  }

  /** Resolves when no long read uses a state older than a migration; other reads hold their state for a turn at most. */
  async drain(): Promise<void> {
    await Promise.all([...this.#oldStates].map(({ closed }) => closed));
  }

  resume(): void {
    // A new long read uses the present state, so `drain` has stopped no reads.
  }

  cutOff(reason: AppError): void {
    for (const state of this.#oldStates) state.close(reason);
  }

  /** Ends the reads: a request that goes on is told that the service is stopping. */
  close(): void {
    this.end();
    this.#isClosed = true;
    this.#connection.close();
    this.#next?.close();
    for (const state of this.#oldStates) state.close();
  }

  /** The connection, in the snapshot of this turn. */
  #begin(): Connection {
    if (this.#isOpen) return this.#connection;
    if (this.#isClosed) throw stopping();
    if (this.#isBroken) {
      const broken = this.#connection;
      this.#connection = this.#openConnection();
      this.#isBroken = false;
      broken.close();
    }
    this.#connection.run("BEGIN");
    this.#isOpen = true;
    setImmediate(this.#endTurn);
    return this.#connection;
  }

  #probe(): void {
    this.#probesLeft -= 1;
    this.#probes += 1;
    // Rows may be long, and a condition may take long for each row.
    this.#isTooMuch = this.#probesLeft < 0 || this.#isLate(performance.now() - this.#probesUntil);
    if (this.#isTooMuch) throw new Error("Reads on the event loop take too long");
  }

  /** Whether reads must give up. Reads may have waited for the processor: then, their own time counts. @param over the time since `withinMs`. */
  #isLate(over: number): boolean {
    if (over <= 0) return false;
    if (over > waitMs && this.#probes > fewProbes) return true;
    const { user, system } = process.threadCpuUsage();
    this.#overdueSince ||= user + system;
    return user + system - this.#overdueSince > withinMs * 1_000;
  }
}
