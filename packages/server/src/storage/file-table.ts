/** The tables of files: their metadata, and the ids under which a driver may hold bytes that are no file. */
import type { StoredFile, Visibility } from "@socle/protocol";
import { type QueryTable, type Reader, stopProbe, type Transactor, type Value } from "../database/index.ts";
import type { Awaitable } from "../kernel/index.ts";

/** Which files are meant; null for any. */
export interface FileFilter {
  /** A part of the name, without regard to case. */
  readonly search: string | null;
  readonly visibility: Visibility | null;
  /** The id of the owner. */
  readonly userId: string | null;
}

/** `db.query` may read all of it. */
export const fileQueryTable: QueryTable = { table: "_files" };

export type FileRow = Omit<StoredFile, "url">;

const fileColumns = "id, filename, mimeType, size, visibility, userId, createdAt";

export async function fileExists(reader: Reader, id: string): Promise<boolean> {
  return (await reader.get("SELECT 1 FROM _files WHERE id = ?", id)) !== null;
}

export function findFile(reader: Reader, id: string): Awaitable<FileRow | null> {
  return reader.get<FileRow>(`SELECT ${fileColumns} FROM _files WHERE id = ?`, id);
}

/** All files, newest first. */
export function listFiles(reader: Reader, page: { limit: number; offset: number }): Awaitable<FileRow[]> {
  return reader.all<FileRow>(
    `SELECT ${fileColumns} FROM _files ORDER BY _seq DESC LIMIT ? OFFSET ?`,
    page.limit,
    page.offset,
  );
}

export function insertFile(tx: Transactor, row: FileRow): Awaitable<unknown> {
  const { id, filename, mimeType, size, visibility, userId, createdAt } = row;
  const values = [id, filename, mimeType, size, visibility, userId, createdAt];
  return tx.run(`INSERT INTO _files (${fileColumns}) VALUES (?, ?, ?, ?, ?, ?, ?)`, ...values);
}

export function updateVisibility(tx: Transactor, id: string, visibility: Visibility): Awaitable<unknown> {
  return tx.run("UPDATE _files SET visibility = ? WHERE id = ?", visibility, id);
}

export function deleteFile(tx: Transactor, id: string): Awaitable<unknown> {
  return tx.run("DELETE FROM _files WHERE id = ?", id);
}

/** How many files there are, and their bytes. */
export async function fileTotals(reader: Reader): Promise<{ files: number; size: number }> {
  const row = await reader.get<{ files: number; size: number }>(
    "SELECT count(*) AS files, coalesce(sum(size), 0) AS size FROM _files",
  );
  return row ?? { files: 0, size: 0 };
}

/** The bytes of a user's files. */
export async function bytesOf(reader: Reader, userId: string): Promise<number> {
  const row = await reader.get<{ bytes: number | null }>(
    "SELECT sum(size) AS bytes FROM _files WHERE userId = ?",
    userId,
  );
  return row?.bytes ?? 0;
}

/** Marks an id under which the driver may hold bytes without being a file. */
export function markRemains(tx: Transactor, id: string): Awaitable<unknown> {
  return tx.run("INSERT INTO _file_remains (id) VALUES (?)", id);
}

export function unmarkRemains(tx: Transactor, id: string): Awaitable<unknown> {
  return tx.run("DELETE FROM _file_remains WHERE id = ?", id);
}

export async function hasRemains(reader: Reader, id: string): Promise<boolean> {
  return (await reader.get("SELECT 1 FROM _file_remains WHERE id = ?", id)) !== null;
}

/**
 * All marked ids. Damage may make ids of files stand there: a file with metadata stays. The table is read, because an
 * index may be damaged.
 */
export async function allRemains(reader: Reader): Promise<string[]> {
  const rows = await reader.all<{ id: string }>(
    "SELECT id FROM _file_remains WHERE id GLOB 'fil_*' AND id NOT IN (SELECT id FROM _files NOT INDEXED)",
  );
  return rows.map(({ id }) => id);
}

/** The files of a filter, newest first, and how many there are in all. */
export async function searchFiles(
  reader: Reader,
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
