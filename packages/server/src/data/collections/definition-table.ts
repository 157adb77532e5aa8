/** The tables of definitions and of applied definition files. */
import type { CollectionDefinition } from "@socle/protocol";
import { wordsVersion } from "../../base/kernel/index.ts";
import type { ModuleSchema, Reader, SlowReader, Transactor } from "../../store/database/index.ts";
import { counterTable } from "./counter-table.ts";
import { droppedTables } from "./dropped-table.ts";
import { savedViewTable } from "./saved-view-table.ts";
import { trashByCollection, trashTables } from "./trash-table.ts";
import { unreadFileTable } from "./unread-file-table.ts";

export const collectionSchema: ModuleSchema = {
  module: "collections",
  steps: [
    "CREATE TABLE _collections (name TEXT PRIMARY KEY COLLATE NOCASE, definition TEXT NOT NULL, createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL) STRICT",
    "CREATE TABLE _definition_files (file TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, renames TEXT NOT NULL) STRICT",
    // JSON of `LogMarks`; null in the row of an earlier version, until the next start.
    "ALTER TABLE _collections ADD COLUMN places TEXT",
    counterTable,
    // The collection that the file described; null for a file that an earlier version applied.
    "ALTER TABLE _definition_files ADD COLUMN collection TEXT",
    // 1; null in the row of an earlier version, which read the rules that a definition does not name otherwise, until the next start.
    "ALTER TABLE _collections ADD COLUMN rules INTEGER",
    // The text that was applied last, as JSON; null for a file that an earlier version applied. The text has the renames, too.
    "ALTER TABLE _definition_files ADD COLUMN content TEXT",
    "ALTER TABLE _definition_files DROP COLUMN renames",
    // See `Collection.isChronological`; null in the row of an earlier version, until the next start.
    "ALTER TABLE _collections ADD COLUMN isChronological INTEGER",
    ...droppedTables,
    unreadFileTable,
    // The folding of the words in the search table, see `wordsVersion`; null in the row of an earlier version, until the next start.
    "ALTER TABLE _collections ADD COLUMN words INTEGER",
    ...trashTables,
    // The definitions of views, apart from the collections that have tables.
    "CREATE TABLE _views (name TEXT PRIMARY KEY COLLATE NOCASE, definition TEXT NOT NULL, createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL) STRICT",
    savedViewTable,
    ...trashByCollection,
  ],
};

export interface DefinitionRow {
  readonly definition: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** JSON of `LogMarks`. */
  readonly places: string;
  /** 1 or 0, see `Collection`; null until the start has looked at the table of an earlier version. */
  readonly isChronological: number | null;
}

export interface AppliedFile {
  readonly file: string;
  readonly fingerprint: string;
  /** The present name of the described collection; null for a file that an earlier version applied. */
  readonly collection: string | null;
  /** The content as JSON; null for a file that an earlier version applied. */
  readonly content: string | null;
}

const columns = "definition, createdAt, updatedAt, places, isChronological";

/** The definitions were validated before the write. */
function parse(rows: readonly { definition: string }[]): CollectionDefinition[] {
  return rows.map(({ definition }) => JSON.parse(definition) as CollectionDefinition);
}

/** A view has no events, so it has no marks in the log. */
const noMarks = JSON.stringify({ created: 0, fields: 0, widened: {} });

/** The definitions of collections and views. */
export function definitionRows(reader: Reader): DefinitionRow[] {
  return reader.all<DefinitionRow>(
    `SELECT ${columns} FROM _collections UNION ALL SELECT definition, createdAt, updatedAt, ?, 0 FROM _views`,
    noMarks,
  );
}

/** The definitions of collections in the view of a reader, also in a database of an earlier version. */
export function definitionsIn(reader: Reader): CollectionDefinition[] {
  return parse(reader.all<{ definition: string }>("SELECT definition FROM _collections"));
}

/** The definitions of views in the view of a reader, also in a database of an earlier version. */
export function viewsIn(reader: Reader): CollectionDefinition[] {
  const isThere = reader.get("SELECT 1 FROM sqlite_schema WHERE name = '_views'") !== null;
  return isThere ? parse(reader.all<{ definition: string }>("SELECT definition FROM _views")) : [];
}

/** The definitions of collections and views. */
export async function storedDefinitions(reader: SlowReader): Promise<CollectionDefinition[]> {
  const all = "SELECT definition FROM _collections UNION ALL SELECT definition FROM _views";
  return parse(await reader.all<{ definition: string }>(all));
}

/** The definitions of earlier versions. */
export function definitionsWithoutMarks(reader: Reader): CollectionDefinition[] {
  return parse(reader.all<{ definition: string }>("SELECT definition FROM _collections WHERE places IS NULL"));
}

/** The definitions of versions that read unnamed rules otherwise. */
export function definitionsOfFormerRules(reader: Reader): CollectionDefinition[] {
  return parse(reader.all<{ definition: string }>("SELECT definition FROM _collections WHERE rules IS NULL"));
}

export function putFormerRules(tx: Transactor, definition: CollectionDefinition): void {
  const sql = "UPDATE _collections SET definition = ?, rules = 1 WHERE name = ?";
  tx.run(sql, JSON.stringify(definition), definition.name);
}

/** The collections of earlier versions. */
export function namesWithoutOrder(reader: Reader): { name: string }[] {
  return reader.all<{ name: string }>("SELECT name FROM _collections WHERE isChronological IS NULL");
}

/** The searched definitions whose words an earlier version has folded. */
export function definitionsOfFormerWords(reader: Reader): CollectionDefinition[] {
  const rows = parse(
    reader.all<{ definition: string }>("SELECT definition FROM _collections WHERE words IS NOT ?", wordsVersion),
  );
  return rows.filter(({ search }) => search !== undefined);
}

export function putWords(tx: Transactor, name: string): void {
  tx.run("UPDATE _collections SET words = ? WHERE name = ?", wordsVersion, name);
}

export function putDefinition(tx: Transactor, name: string, row: DefinitionRow): void {
  const sql = `INSERT OR REPLACE INTO _collections (name, ${columns}, rules, words) VALUES (?, ?, ?, ?, ?, ?, 1, ${wordsVersion})`;
  tx.run(sql, name, row.definition, row.createdAt, row.updatedAt, row.places, row.isChronological);
}

/** Answers the row, or null if the row has the value already. */
export function updateOrder(tx: Transactor, name: string, isChronological: number): DefinitionRow | null {
  const sql = "UPDATE _collections SET isChronological = ? WHERE name = ? AND isChronological IS NOT ?";
  if (tx.run(sql, isChronological, name, isChronological) === 0) return null;
  return tx.get<DefinitionRow>(`SELECT ${columns} FROM _collections WHERE name = ?`, name);
}

/** @param marks JSON of `LogMarks`. */
export function updateMarks(tx: Transactor, name: string, marks: string): void {
  tx.run("UPDATE _collections SET places = ? WHERE name = ?", marks, name);
}

/** Answers the row as stored. */
export function putView(
  tx: Transactor,
  definition: CollectionDefinition,
  times: Pick<DefinitionRow, "createdAt" | "updatedAt">,
): DefinitionRow {
  const text = JSON.stringify(definition);
  const sql = "INSERT OR REPLACE INTO _views (name, definition, createdAt, updatedAt) VALUES (?, ?, ?, ?)";
  tx.run(sql, definition.name, text, times.createdAt, times.updatedAt);
  return { definition: text, ...times, places: noMarks, isChronological: 0 };
}

export function deleteDefinition(tx: Transactor, name: string): void {
  for (const table of ["_collections", "_views"]) tx.run(`DELETE FROM ${table} WHERE name = ?`, name);
}

export function appliedFiles(reader: Reader): AppliedFile[] {
  // A command may read the database of an earlier version.
  const rows = reader.all<AppliedFile>("SELECT * FROM _definition_files");
  return rows.map(({ file, fingerprint, collection, content = null }) => ({ file, fingerprint, collection, content }));
}

export function putAppliedFile(tx: Transactor, { file, fingerprint, collection, content }: AppliedFile): void {
  const sql = "INSERT OR REPLACE INTO _definition_files (file, fingerprint, collection, content) VALUES (?, ?, ?, ?)";
  tx.run(sql, file, fingerprint, collection, content);
}

export function deleteAppliedFile(tx: Transactor, file: string): void {
  tx.run("DELETE FROM _definition_files WHERE file = ?", file);
}

/** Follows the rename of a collection. */
export function renameInFiles(tx: Transactor, { from, to }: { from: string; to: string }): void {
  tx.run("UPDATE _definition_files SET collection = ? WHERE collection = ?", to, from);
}
