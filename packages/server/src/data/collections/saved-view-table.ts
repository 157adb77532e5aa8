/** Saved views: the named filters, sorts and columns of the lists of records that admins share. A saved view goes with its collection. */
import type { SavedView } from "@socle/protocol";
import type { Reader, Transactor } from "../../store/database/index.ts";

export const savedViewTable =
  "CREATE TABLE _saved_views (collection TEXT NOT NULL COLLATE NOCASE, name TEXT NOT NULL, content TEXT NOT NULL, updatedAt TEXT NOT NULL, PRIMARY KEY (collection, name)) STRICT";

interface SavedViewRow {
  readonly name: string;
  readonly content: string;
  readonly updatedAt: string;
}

/** The saved views of a collection, by name. */
export function savedViews(reader: Reader, collection: string): SavedView[] {
  const sql = "SELECT name, content, updatedAt FROM _saved_views WHERE collection = ? ORDER BY name";
  const rows = reader.all<SavedViewRow>(sql, collection);
  // `putSavedView` has written the contents.
  return rows.map(
    ({ name, content, updatedAt }) => ({ name, updatedAt, ...(JSON.parse(content) as object) }) as SavedView,
  );
}

export function putSavedView(tx: Transactor, collection: string, { name, updatedAt, ...content }: SavedView): void {
  const sql = "INSERT OR REPLACE INTO _saved_views (collection, name, content, updatedAt) VALUES (?, ?, ?, ?)";
  tx.run(sql, collection, name, JSON.stringify(content), updatedAt);
}

/** Answers whether there was such a view. */
export function deleteSavedView(tx: Transactor, collection: string, name: string): boolean {
  return tx.run("DELETE FROM _saved_views WHERE collection = ? AND name = ?", collection, name) > 0;
}

export function forgetSavedViews(tx: Transactor, collection: string): void {
  tx.run("DELETE FROM _saved_views WHERE collection = ?", collection);
}

/** Follows the rename of a collection. */
export function renameInSavedViews(tx: Transactor, { from, to }: { from: string; to: string }): void {
  tx.run("UPDATE _saved_views SET collection = ? WHERE collection = ?", to, from);
}
