/** Runs that have failed for good, in a table of runs: kept for a look or a retry, the newest ones, bounded in number and bytes. */
import type { Reader, Transactor } from "../database/index.ts";

/** Failed runs that are kept. */
const maxFailed = 1_000;
/** Bytes of their data and errors; the newest run is kept whatever it takes. */
const maxFailedBytes = 64 * 1024 ** 2;
/** Bytes of new failures after which all are added up again. */
const recountBytes = 1024 ** 2;

export class FailedRuns {
  /** Bytes of runs that have failed since all were added up. */
  #newBytes = Number.POSITIVE_INFINITY;
  readonly #times: string;
  readonly #trimNumber: string;
  readonly #trimBytes: string;

  /** @param bytes SQL: the bytes of a row. */
  constructor({ table, bytes }: { table: string; bytes: string }) {
    this.#times = `SELECT id, failedAt FROM ${table} WHERE failedAt IS NOT NULL AND id IN (SELECT value FROM json_each(?))`;
    this.#trimNumber = `DELETE FROM ${table} WHERE failedAt IS NOT NULL AND id IN (
      SELECT id FROM ${table} WHERE failedAt IS NOT NULL ORDER BY failedAt DESC, id DESC LIMIT -1 OFFSET ?)`;
    this.#trimBytes = `DELETE FROM ${table} WHERE id IN (
      SELECT id FROM (
        SELECT id, row_number() OVER newest AS position, sum(bytes) OVER newest AS bytes FROM (
          SELECT id, failedAt, ${bytes} AS bytes FROM ${table} WHERE failedAt IS NOT NULL)
        WINDOW newest AS (ORDER BY failedAt DESC, id DESC ROWS UNBOUNDED PRECEDING))
      WHERE position > 1 AND bytes > ?)`;
  }

  /** The times of the last failure of some runs; those that have not failed are left out. */
  async timesOf(reader: Reader, ids: readonly number[]): Promise<Map<number, number>> {
    const rows = await reader.all<{ id: number; failedAt: number }>(this.#times, JSON.stringify(ids));
    return new Map(rows.map(({ id, failedAt }) => [id, failedAt]));
  }

  /** Removes the oldest failures beyond the bounds. To be called with the bytes of one that has just been written. */
  async trim(tx: Transactor, bytes: number): Promise<void> {
    await tx.run(this.#trimNumber, maxFailed);
    this.#newBytes += bytes;
    if (this.#newBytes < recountBytes) return;
    await tx.run(this.#trimBytes, maxFailedBytes - recountBytes);
    // After a rollback the table is as before, and the next failure adds up.
    tx.onCommit(() => {
      this.#newBytes = 0;
    });
  }
}
