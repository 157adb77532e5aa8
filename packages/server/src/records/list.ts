import type { StoredRecord } from "@socle/protocol";
import type { Database, LongRead } from "../database/index.ts";
import type { Model } from "./model.ts";

/** Most lists fit into the first page and are answered at once. */
const firstPageSize = 64;
const maxPageSize = 1_000;
/** What a later page should weigh: large enough to be quick, small enough for many lists at a time. */
const pageBytes = 16 * 1024;

/** All records of a list, newest first: the first page, and a way to the others when there are any. */
export interface RecordPages {
  readonly first: StoredRecord[];
  /**
   * Pages are read while the consumer takes them, so that memory does not grow with the list. Whoever stops before the
   * end calls its `return`.
   */
  readonly rest: AsyncGenerator<StoredRecord[], void, number> | null;
}

/**
 * Reads pages by position. A record that is created meanwhile is newer than the list and not in it; one that is
 * changed or deleted meanwhile is as the moment finds it; a migration is not seen. `next(bytes)` tells how heavy the last
 * page was.
 */
async function* pagesOf(
  reader: LongRead,
  model: Model,
  owner: string | null,
): AsyncGenerator<StoredRecord[], void, number> {
  const ownerValue = owner === null ? [] : [owner];
  const [endSql, pageSql] = [model.pageEnd(owner !== null), model.page(owner !== null)];
  let size = firstPageSize;
  let start = Number.MAX_SAFE_INTEGER;
  try {
    while (true) {
      const end = (await reader.get<{ seq: number | null }>(endSql, start, ...ownerValue, size))?.seq;
      if (end === null || end === undefined) return;
      const rows = await reader.all<StoredRecord>(pageSql, start, end, ...ownerValue);
      const bytes = yield model.toRecords(rows);
      const perRecord = Math.max(1, bytes / Math.max(1, rows.length));
      size = Math.min(maxPageSize, Math.max(1, Math.floor(pageBytes / perRecord)));
      start = end;
    }
  } finally {
    reader.end();
  }
}

/** Lists a collection, or what one user owns of it. */
export async function listRecords(database: Database, model: Model, owner: string | null): Promise<RecordPages> {
  const ownerValue = owner === null ? [] : [owner];
  const rows = await database.reader.all<StoredRecord>(
    model.firstPage(owner !== null, firstPageSize + 1),
    ...ownerValue,
  );
  if (rows.length <= firstPageSize) return { first: model.toRecords(rows), rest: null };
  const rest = pagesOf(database.longRead(), model, owner);
  const first = await rest.next();
  return { first: first.done === true ? [] : first.value, rest };
}
