/** Records that an earlier run has moved: the ids that a collection has, and the old ids. */
import { tableName } from "../../../data/collections/index.ts";
import { identifier, type Reader } from "../../../store/database/index.ts";

const rowsAtOnce = 500;

/** Which of some ids a collection has. */
export function idsThere(reader: Reader, collection: string, ids: readonly string[]): Set<string> {
  const sql = `SELECT id FROM ${identifier(tableName(collection))} WHERE id IN (SELECT value FROM json_each(?))`;
  return new Set(reader.all<{ id: string }>(sql, JSON.stringify(ids)).map(({ id }) => id));
}

/** The records with an old id, in the order of the old ids. */
export function* movedRecords(reader: Reader, collection: string): Generator<{ id: string; sourceId: string }> {
  const sql = `SELECT id, sourceId FROM ${identifier(tableName(collection))} WHERE sourceId > ? ORDER BY sourceId LIMIT ${rowsAtOnce}`;
  for (let last = ""; ; ) {
    const rows = reader.all<{ id: string; sourceId: string }>(sql, last);
    yield* rows;
    const end = rows.at(-1);
    if (end === undefined) return;
    last = end.sourceId;
  }
}
