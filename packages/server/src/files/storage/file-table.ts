/** The tables of files: metadata, and the ids under which a driver may hold bytes that are no file. */
import type { StoredFile, Visibility } from "@socle/protocol";
import {
  type ModuleSchema,
  type QueryTable,
  type Reader,
  type SlowReader,
  stopProbe,
  type Transactor,
  type Value,
} from "../../store/database/index.ts";

/** Spec, "Versioning": the file metadata table has an internal schema version 3. */
export const storageSchema: ModuleSchema = {
  module: "storage",
  steps: [
    `CREATE TABLE _files (
      _seq INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      filename TEXT NOT NULL,
      mimeType TEXT NOT NULL,
      size INTEGER NOT NULL,
      visibility TEXT NOT NULL,
      userId TEXT,
      createdAt TEXT NOT NULL
    ) STRICT`,
    // With the size, so that the bytes of a user are summed up in the index alone.
    "CREATE INDEX _files_user ON _files (userId, size)",
    // Ids under which a driver may hold bytes that are no file: not yet, or no more.
    "CREATE TABLE _file_remains (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID",
  ],
};

/** Deleted files whose bytes a continuous backup still needs, with the moment of the deletion. */
export const removedFileSchema: ModuleSchema = {
  module: "removed files",
  steps: ["CREATE TABLE _files_removed (at INTEGER, id TEXT, PRIMARY KEY (at, id)) STRICT, WITHOUT ROWID"],
};

/** Which files are meant; null for any. */
export interface FileFilter {
  /** A part of the name, without regard to case. */
  readonly search: string | null;
  readonly visibility: Visibility | null;
  readonly userId: string | null;
}

/** `db.query` may read every column. */
export const fileQueryTable: QueryTable = { table: "_files" };

export type FileRow = Omit<StoredFile, "url">;

const fileColumns = "id, filename, mimeType, size, visibility, userId, createdAt";

/** Whether the index of owners lacks the sizes of files, as in a database that an earlier version has made. */
export function lacksSizes(reader: Reader): boolean {
  return reader.all("PRAGMA index_info(_files_user)").length < 2;
}

export function remakeOwnerIndex(tx: Transactor): void {
  tx.run("DROP INDEX _files_user");
  tx.run("CREATE INDEX _files_user ON _files (userId, size)");
}

export function findFile(reader: Reader, id: string): FileRow | null {
  return reader.get<FileRow>(`SELECT ${fileColumns} FROM _files WHERE id = ?`, id);
}

/** All files, newest first. */
export function listFiles(reader: Reader, page: { limit: number; offset: number }): FileRow[] {
  return reader.all<FileRow>(
    `SELECT ${fileColumns} FROM _files ORDER BY _seq DESC LIMIT ? OFFSET ?`,
    page.limit,
    page.offset,
  );
}

export function insertFile(tx: Transactor, row: FileRow): void {
  const { id, filename, mimeType, size, visibility, userId, createdAt } = row;
  const values = [id, filename, mimeType, size, visibility, userId, createdAt];
  tx.run(`INSERT INTO _files (${fileColumns}) VALUES (?, ?, ?, ?, ?, ?, ?)`, ...values);
}

export function updateVisibility(tx: Transactor, id: string, visibility: Visibility): void {
  tx.run("UPDATE _files SET visibility = ? WHERE id = ?", visibility, id);
}

export function deleteFile(tx: Transactor, id: string): void {
  tx.run("DELETE FROM _files WHERE id = ?", id);
}

export function fileTotals(reader: Reader): { files: number; size: number } {
  const row = reader.get<{ files: number; size: number }>(
    "SELECT count(*) AS files, coalesce(sum(size), 0) AS size FROM _files",
  );
  return row ?? { files: 0, size: 0 };
}

export function bytesOf(reader: Reader, userId: string): number {
  const row = reader.get<{ bytes: number | null }>("SELECT sum(size) AS bytes FROM _files WHERE userId = ?", userId);
  return row?.bytes ?? 0;
}

/** Marks an id under which the driver may hold bytes without being a file. */
export function markRemains(tx: Transactor, id: string): void {
  tx.run("INSERT INTO _file_remains (id) VALUES (?)", id);
}

export function unmarkRemains(tx: Transactor, id: string): void {
  tx.run("DELETE FROM _file_remains WHERE id = ?", id);
}

export function hasRemains(reader: Reader, id: string): boolean {
  return reader.get("SELECT 1 FROM _file_remains WHERE id = ?", id) !== null;
}

/**
 * All marked ids. Damage may list ids of files here: a file with metadata stays. The table is read without the index,
 * because the index may be damaged.
 */
export function allRemains(reader: Reader): string[] {
  const rows = reader.all<{ id: string }>(
    "SELECT id FROM _file_remains WHERE id GLOB 'fil_*' AND id NOT IN (SELECT id FROM _files NOT INDEXED)",
  );
  return rows.map(({ id }) => id);
}

/** The ids of all files, in their order, read in pages. */
export function* eachFileId(reader: Pick<Reader, "all">): Iterable<string> {
  for (let last = ""; ; ) {
    const rows = reader.all<{ id: string }>("SELECT id FROM _files WHERE id > ? ORDER BY id LIMIT 500", last);
    if (rows.length === 0) return;
    for (const { id } of rows) yield id;
    last = rows.at(-1)?.id ?? last;
  }
}

/** Whether an id belongs to a file, or to a deleted file whose bytes stay. */
export function isKnownFile(reader: Reader, id: string): boolean {
  const sql = "SELECT 1 FROM _files WHERE id = ? UNION ALL SELECT 1 FROM _files_removed WHERE id = ?";
  return reader.get(sql, id, id) !== null;
}

/** Marks a deleted file whose bytes stay for a while. */
export function markRemoved(tx: Transactor, id: string, at: number): void {
  tx.run("INSERT INTO _files_removed (at, id) VALUES (?, ?)", at, id);
}

/** Some of the files that were deleted before a moment, and that `markRemoved` has marked; the oldest first. */
export function removedBefore(reader: Reader, at: number): { at: number; id: string }[] {
  return reader.all("SELECT at, id FROM _files_removed WHERE at < ? ORDER BY at, id LIMIT 100", at);
}

export function unmarkRemoved(tx: Transactor, { at, id }: { at: number; id: string }): void {
  tx.run("DELETE FROM _files_removed WHERE at = ? AND id = ?", at, id);
}

/** The files of a filter, newest first, and the number of files in all pages. */
export async function searchFiles(
  reader: SlowReader,
  filter: FileFilter,
  page: { limit: number; offset: number },
): Promise<{ items: FileRow[]; total: number }> {
  const conditions: [sql: string, value: Value][] = [];
  if (filter.visibility !== null) conditions.push(["visibility = ?", filter.visibility]);
  if (filter.userId !== null) conditions.push(["userId = ?", filter.userId]);
  if (filter.search !== null) conditions.push(["_contains(filename, ?)", filter.search]);
  const where = [stopProbe("_files"), ...conditions.map(([sql]) => sql)].join(" AND ");
  const values = conditions.map(([, value]) => value);
  const row = await reader.get<{ n: number }>(`SELECT count(*) AS n FROM _files WHERE ${where}`, ...values);
  const total = row?.n ?? 0;
  if (page.limit === 0 || page.offset >= total) return { items: [], total };
  const items = await reader.all<FileRow>(
    `SELECT ${fileColumns} FROM _files WHERE ${where} ORDER BY _seq DESC LIMIT ? OFFSET ?`,
    ...values,
    page.limit,
    page.offset,
  );
  return { items, total };
}

/** Every file of a database, in the order of creation, read in pages. */
export function* eachFile(reader: Pick<Reader, "all">): Iterable<Pick<FileRow, "id" | "size" | "filename">> {
  for (let last = 0; ; ) {
    const rows = reader.all<{ _seq: number; id: string; size: number; filename: string }>(
      `SELECT _seq, id, size, filename FROM _files WHERE _seq > ? ORDER BY _seq LIMIT 500`,
      last,
    );
    if (rows.length === 0) return;
    yield* rows;
    last = rows.at(-1)?._seq ?? last;
  }
}
