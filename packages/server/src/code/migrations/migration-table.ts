/** Table of the migrations of data: the files that have run, and the position of a file that has begun. */
import type { ModuleSchema, Reader, Transactor } from "../../store/database/index.ts";

export const migrationSchema: ModuleSchema = {
  module: "migrations",
  steps: [
    // `position`: JSON. `finishedAt`: null until the migration is over.
    "CREATE TABLE _migrations (path TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, position TEXT NOT NULL, finishedAt TEXT) STRICT",
  ],
};

export interface MigrationRow {
  /** Relative to the project: `migrations/001-slugs.ts`. */
  readonly path: string;
  /** The fingerprint of the file that ran, or runs. */
  readonly fingerprint: string;
  /** JSON of the position that was saved last; `null` before. */
  readonly position: string;
  /** ISO 8601; null for a migration that is not over. */
  readonly finishedAt: string | null;
}

export function migrationRows(reader: Reader): MigrationRow[] {
  return reader.all<MigrationRow>("SELECT path, fingerprint, position, finishedAt FROM _migrations");
}

/** A migration begins, or goes on with a file that may have changed. */
export function putBegun(tx: Transactor, path: string, fingerprint: string): void {
  const sql = `INSERT INTO _migrations (path, fingerprint, position) VALUES (?, ?, 'null')
     ON CONFLICT (path) DO UPDATE SET fingerprint = excluded.fingerprint`;
  tx.run(sql, path, fingerprint);
}

/** @param position JSON. */
export function putPosition(tx: Transactor, path: string, position: string): void {
  tx.run("UPDATE _migrations SET position = ? WHERE path = ?", position, path);
}

export function putFinished(tx: Transactor, path: string, finishedAt: string): void {
  tx.run("UPDATE _migrations SET finishedAt = ? WHERE path = ?", finishedAt, path);
}
