/** Snapshot reader: the reads of the event loop; all reads of a turn share a snapshot. */
import type { AppError } from "../../../base/kernel/index.ts";
import type { LoopReader, PausableReads, Value } from "../store.ts";
import type { Connection } from "./connection.ts";
import { OldState, SqliteLongRead } from "./long-read.ts";

/** Reads within a bound that have met more rows than these give up after some milliseconds: a thread goes on instead. */
const fewProbes = 50;
const withinMs = 8;

/**
 * Reads on a separate connection. All reads of one turn of the event loop share a snapshot, because opening a snapshot
 * costs more than most reads. The snapshot ends with the turn, and with each commit of the writer: a read sees all
 * earlier commits.
 */
export class SnapshotReader implements LoopReader, PausableReads {
  readonly #openConnection: () => Connection;
  /** The rows that stop probes may still meet; the time from which on, after the first few rows, no row may be met. */
  #probesLeft = Number.POSITIVE_INFINITY;
  #probes = 0;
  #probesUntil = Number.POSITIVE_INFINITY;
  #isTooMuch = false;
  readonly #longReads = new Set<SqliteLongRead>();
  readonly #oldStates = new Set<OldState>();
  readonly #endTurn = (): void => this.end();
  #connection: Connection;
  #isOpen = false;
  /** Whether the transaction could not be ended: the next read then takes another connection. */
  #isBroken = false;
  #isHeld = false;
  /** A connection for the reads after a migration, opened by `hold`. */
  #next: Connection | null = null;

  /** @param openConnection gets the function that stop probes call for each row. */
  constructor(openConnection: (onProbe: () => void) => Connection) {
    this.#openConnection = () => openConnection(() => this.#probe());
    this.#connection = this.#openConnection();
  }

  get<T>(sql: string, ...values: Value[]): T | null {
    this.#begin();
    return this.#connection.get<T>(sql, ...values);
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    this.#begin();
    return this.#connection.all<T>(sql, ...values);
  }

  some<T>(statement: { sql: string; values: readonly Value[] }, isLast: (row: T) => boolean): T[] {
    this.#begin();
    return this.#connection.some(statement, isLast);
  }

  within<T>(most: number, work: () => T): T | null {
    this.#probesLeft = most;
    this.#probes = 0;
    this.#probesUntil = performance.now() + withinMs;
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

  /** Begins reads that belong together over many turns. */
  longRead(): SqliteLongRead {
    const read = new SqliteLongRead(this, (ended) => this.#longReads.delete(ended));
    this.#longReads.add(read);
    return read;
  }

  /** Ends the snapshot: the next read sees all commits up to its call. */
  end(): void {
    if (!this.#isOpen || this.#isHeld) return;
    this.#isOpen = false;
    try {
      // An error may have ended the transaction already.
      if (this.#connection.inTransaction) this.#connection.run("COMMIT");
    } catch {
      // After a read that has met damage, the COMMIT fails with the same error, but the transaction has ended.
      this.#isBroken = this.#connection.inTransaction;
    }
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
    const state = new OldState(this.#connection, this.#longReads, (closed) => this.#oldStates.delete(closed));
    this.#oldStates.add(state);
    this.#longReads.clear();
    this.#isOpen = false;
    this.#connection = this.#next ?? this.#openConnection();
    this.#next = null;
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

  close(): void {
    this.end();
    this.#connection.close();
    for (const state of this.#oldStates) state.close();
  }

  #begin(): void {
    if (this.#isOpen) return;
    if (this.#isBroken) this.#replace();
    this.#connection.run("BEGIN");
    this.#isOpen = true;
    setImmediate(this.#endTurn);
  }

  #probe(): void {
    this.#probesLeft -= 1;
    this.#probes += 1;
    // Rows may be long, and a condition may take long for each row.
    this.#isTooMuch = this.#probesLeft < 0 || (this.#probes > fewProbes && performance.now() > this.#probesUntil);
    if (this.#isTooMuch) throw new Error("Reads on the event loop take too long");
  }

  #replace(): void {
    const broken = this.#connection;
    this.#connection = this.#openConnection();
    this.#isBroken = false;
    broken.close();
  }
}
