/** Deliveries that have failed for good: kept for a look or a retry, the newest ones, bounded in number and bytes. */
import type { Reader, Transactor } from "../database/index.ts";

/** Failed deliveries that are kept. */
const maxFailed = 1_000;
/** Bytes of their records, events and errors; the newest delivery is kept whatever it takes. */
const maxFailedBytes = 64 * 1024 ** 2;
/** Bytes of new failures after which all are added up again. */
const recountBytes = 1024 ** 2;

export class FailedDeliveries {
  /** Bytes of deliveries that have failed since all were added up. */
  #newBytes = Number.POSITIVE_INFINITY;

  /** The times of the last failure of some deliveries; those that have not failed are left out. */
  async timesOf(reader: Reader, ids: readonly number[]): Promise<Map<number, number>> {
    const rows = await reader.all<{ id: number; failedAt: number }>(
      "SELECT id, failedAt FROM _deliveries WHERE failedAt IS NOT NULL AND id IN (SELECT value FROM json_each(?))",
      JSON.stringify(ids),
    );
    return new Map(rows.map(({ id, failedAt }) => [id, failedAt]));
  }

  /** Removes the oldest failures beyond the bounds. To be called with the bytes of one that has just been written. */
  async trim(tx: Transactor, bytes: number): Promise<void> {
    await tx.run(
      "DELETE FROM _deliveries WHERE failedAt IS NOT NULL AND id IN (SELECT id FROM _deliveries WHERE failedAt IS NOT NULL ORDER BY failedAt DESC, id DESC LIMIT -1 OFFSET ?)",
      maxFailed,
    );
    this.#newBytes += bytes;
    if (this.#newBytes < recountBytes) return;
    await tx.run(
      `DELETE FROM _deliveries WHERE id IN (
         SELECT id FROM (
           SELECT id, row_number() OVER newest AS position, sum(bytes) OVER newest AS bytes FROM (
             SELECT id, failedAt, octet_length(coalesce(previous, '')) + octet_length(event) + octet_length(error) AS bytes
             FROM _deliveries WHERE failedAt IS NOT NULL)
           WINDOW newest AS (ORDER BY failedAt DESC, id DESC ROWS UNBOUNDED PRECEDING))
         WHERE position > 1 AND bytes > ?)`,
      maxFailedBytes - recountBytes,
    );
    // After a rollback the table is as before, and the next failure adds up.
    tx.onCommit(() => {
      this.#newBytes = 0;
    });
  }
}
