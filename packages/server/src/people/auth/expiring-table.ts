/** SQL of rows that expire: how the sweep finds the rows of a table that are over, and removes each. */
import type { Reader, Transactor } from "../../store/database/index.ts";

/** The rows of a table that expire. */
export interface ExpiringRows {
  /** The keys of up to `most` rows that are over at `now`. */
  over(reader: Reader, now: number, most: number): string[];
  /** Removes a row, unless the row has been renewed since. */
  remove(tx: Transactor, key: string, now: number): void;
}

/** How to find the rows of a table whose `expiresAt` has come. */
export function expiredIn(table: string, key: "hash" | "id"): ExpiringRows["over"] {
  const sql = `SELECT ${key} AS key FROM ${table} WHERE expiresAt <= ? LIMIT ?`;
  return (reader, now, most) => reader.all<{ key: string }>(sql, now, most).map((row) => row.key);
}

/** The rows of a table by their hash. Nothing follows from the end of a row. */
export function expiringHashes(table: string): ExpiringRows {
  return {
    over: expiredIn(table, "hash"),
    remove: (tx, hash) => tx.run(`DELETE FROM ${table} WHERE hash = ?`, hash),
  };
}
