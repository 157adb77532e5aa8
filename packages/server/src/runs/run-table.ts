/**
 * The shape of a table of runs, and the statements on it. Every run that is not over, or has failed for good, is a row:
 *
 *     id         INTEGER PRIMARY KEY
 *     handler    the number of its handler (handler-table.ts)
 *     failures   attempts that have failed
 *     notBefore  the time of the next attempt, in milliseconds since 1970; 0 for at once
 *     failedAt   the time at which the last attempt failed; null for a run that waits or is under way
 *     error      the reason, with failedAt
 *
 * A row is written before the first attempt and removed when the run has completed. A run that is under way
 * is known as such in memory alone: after a crash it waits, and is run again. Each kind of run adds columns for what
 * its runs are about.
 *
 * Kinds with a queue of a different nature have a table of their own: `_deliveries` is written in the transaction of
 * each change and read in the order of commits, `_job_queue` by the clock. One table for both costs more than it saves:
 * with the columns and indexes that runs by the clock need, a delivery takes 3.6 µs to insert and delete instead of
 * 2.2, and counting a million that wait 11 ms instead of 0.5.
 */
import type { Reader, Transactor } from "../database/index.ts";
import type { Awaitable } from "../kernel/index.ts";
import type { HandlerName } from "./handler-table.ts";
import type { Postponement } from "./retry-policy.ts";

/** The columns of a run that every kind has. */
export interface RunHead extends HandlerName, Postponement {
  readonly id: number;
}

export class RunTable {
  readonly #name: string;
  /** Kept, because a prepared statement is found by its text. */
  readonly #postpone: string;
  readonly #remove: string;
  /** SQL: the table as `r`, with the names of handlers as `h`. */
  readonly source: string;
  /** SQL: the columns of a `RunHead`. */
  readonly headColumns = "r.id, h.path, h.handler, r.failures, r.notBefore";

  constructor(name: string) {
    this.#name = name;
    this.#postpone = `UPDATE ${name} SET failures = ?, notBefore = ? WHERE id = ?`;
    this.#remove = `DELETE FROM ${name} WHERE id = ?`;
    this.source = `${name} AS r JOIN _handlers AS h ON h.id = r.handler`;
  }

  /** An attempt has failed, and another follows. */
  postpone(tx: Transactor, id: number, { failures, notBefore }: Postponement): Awaitable<unknown> {
    return tx.run(this.#postpone, failures, notBefore, id);
  }

  /** The last attempt has failed. */
  fail(tx: Transactor, id: number, { at, error }: { at: number; error: string }): Awaitable<unknown> {
    return tx.run(`UPDATE ${this.#name} SET failedAt = ?, error = ? WHERE id = ?`, at, error, id);
  }

  /** A run that has failed waits again, as if it never had. */
  reopen(tx: Transactor, id: number): Awaitable<unknown> {
    return tx.run(
      `UPDATE ${this.#name} SET failedAt = NULL, error = NULL, failures = 0, notBefore = 0 WHERE id = ?`,
      id,
    );
  }

  /** The run is over. */
  remove(tx: Transactor, id: number): Awaitable<unknown> {
    return tx.run(this.#remove, id);
  }

  /** Runs that wait or are under way, and runs that have failed. */
  async counts(reader: Reader): Promise<{ open: number; failed: number }> {
    // Without a condition, SQLite adds up the cell counts of the pages and reads no row.
    const row = await reader.get<{ n: number; failed: number }>(
      `SELECT (SELECT count(*) FROM ${this.#name}) AS n,
         (SELECT count(*) FROM ${this.#name} WHERE failedAt IS NOT NULL) AS failed`,
    );
    return { open: (row?.n ?? 0) - (row?.failed ?? 0), failed: row?.failed ?? 0 };
  }

  /** Files with runs that wait or are under way, and how many. */
  openByFile(reader: Reader): Awaitable<{ path: string; waiting: number }[]> {
    return reader.all(
      `SELECT h.path, count(*) AS waiting FROM ${this.source} WHERE r.failedAt IS NULL GROUP BY h.path`,
    );
  }
}
