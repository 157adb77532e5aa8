/**
 * Unread files: the files that a record points to although the writer could not read the file. Such a record gives its readers
 * no right to the file. A row may stay after the record points elsewhere, until the record is deleted.
 */
import type { Transactor } from "../../store/database/index.ts";
import { type SqlPart, sqlPart } from "../expressions/index.ts";

export const unreadFileTable =
  "CREATE TABLE _unread_files (record TEXT NOT NULL, file TEXT NOT NULL, PRIMARY KEY (record, file)) STRICT, WITHOUT ROWID";

/** Notes whether the writer could read a file that a record points to from now on. */
export function noteRead(tx: Transactor, record: string, { file, isRead }: { file: string; isRead: boolean }): void {
  if (isRead) tx.run("DELETE FROM _unread_files WHERE record = ? AND file = ?", record, file);
  else tx.run("INSERT OR IGNORE INTO _unread_files (record, file) VALUES (?, ?)", record, file);
}

/** Forgets a record that is deleted. */
export function forgetUnread(tx: Transactor, record: string): void {
  tx.run("DELETE FROM _unread_files WHERE record = ?", record);
}

/** The records of a table that give a right to a file, if they point to the file. */
export function givesRight(table: string, file: string): SqlPart {
  return sqlPart`NOT EXISTS (SELECT 1 FROM _unread_files WHERE record = ${table}.id AND file = ${{ text: "?", values: [file] }})`;
}
