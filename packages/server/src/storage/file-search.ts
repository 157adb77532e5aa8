/** The search among the metadata of all stored files. */
import type { StoredFile, Visibility } from "@socle/protocol";
import { type Reader, stopProbe, type Value } from "../database/index.ts";

/** Which files are meant; null for any. */
export interface FileFilter {
  /** A part of the name, without regard to case. */
  readonly search: string | null;
  readonly visibility: Visibility | null;
  /** The id of the owner. */
  readonly userId: string | null;
}

export type FileRow = Omit<StoredFile, "url">;

export const fileColumns = "id, filename, mimeType, size, visibility, userId, createdAt";

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
