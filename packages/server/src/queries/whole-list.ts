/** Whole lists: all records of a collection that a caller may read, newest first, as a stream of pages. */
import type { StoredRecord } from "@socle/protocol";
import type { Collection } from "../collections/index.ts";
import type { Database, LongRead } from "../database/index.ts";
import { AppError, type Principal } from "../kernel/index.ts";
import type { Decision } from "../permissions/index.ts";
import { fieldLimits, type Records, type RecordTable, recordTableOf } from "../records/index.ts";

/** Most lists fit into the first page and are answered at once. */
const firstPageSize = 64;
const firstPageBytes = 64 * 1024;
const maxPageSize = 1_000;
/** The bytes of a later page: large enough to be quick, small enough for many lists at a time. */
const pageBytes = 16 * 1024;

/** All records of a list, newest first: the first page, and a way to the others when there are any. */
export interface RecordPages {
  readonly first: StoredRecord[];
  /**
   * Pages are read while the consumer takes them, so that memory does not grow with the list. A consumer that stops
   * before the end calls `return`.
   */
  readonly rest: LaterPages | null;
}

/** The pages of a list after its first. */
export interface LaterPages {
  next(): Promise<IteratorResult<StoredRecord[], undefined>>;
  /** Ends the reading, before the end or at it. */
  return(): Promise<IteratorReturnResult<undefined>>;
}

/** A part of a list that is read in one step. */
interface Page {
  readonly rows: StoredRecord[];
  /** Whether it ends for its weight, and not because there are no more records. */
  readonly isFull: boolean;
}

/** Reads rows until they weigh `bytes`: a page is never heavier than that and one record. */
function readPage(
  reader: LongRead,
  table: RecordTable,
  page: { sql: string; values: (string | number)[]; bytes: number },
): Page {
  let weight = 0;
  const rows = reader.some<StoredRecord>(page, (row) => {
    weight += table.weightOf(row);
    return weight >= page.bytes;
  });
  return { rows, isFull: weight >= page.bytes };
}

/**
 * Reads the pages behind a place. A record that is created meanwhile is newer than the list and not in it; one that is
 * changed or deleted meanwhile is as the moment finds it; a migration is not seen. When the caller's right ends, so
 * does the list. It is no generator: the frame of one that waits would keep the last page in memory.
 */
class TablePages implements LaterPages {
  readonly #reader: LongRead;
  readonly #table: RecordTable;
  readonly #ownerValue: string[];
  readonly #mayGoOn: () => Promise<void>;
  /** The place where the next page starts; null behind the last. */
  #start: number | null;

  constructor(
    reader: LongRead,
    table: RecordTable,
    from: { start: number; ownerValue: string[]; mayGoOn: () => Promise<void> },
  ) {
    this.#reader = reader;
    this.#table = table;
    this.#ownerValue = from.ownerValue;
    this.#mayGoOn = from.mayGoOn;
    this.#start = from.start;
  }

  async next(): Promise<IteratorResult<StoredRecord[], undefined>> {
    if (this.#start === null) return this.return();
    try {
      await this.#mayGoOn();
      return await this.#page();
    } catch (thrown) {
      await this.return();
      throw thrown;
    }
  }

  async #page(): Promise<IteratorResult<StoredRecord[], undefined>> {
    if (this.#start === null) return this.return();
    const [reader, table] = [this.#reader, this.#table];
    const sql = table.nextPage(this.#ownerValue.length > 0, maxPageSize);
    const values = [this.#start, ...this.#ownerValue];
    const { rows, isFull } = readPage(reader, table, { sql, values, bytes: pageBytes });
    const last = rows.at(-1);
    if (last === undefined) return this.return();
    const hasMore = isFull || rows.length === maxPageSize;
    // In the same turn as the page: both are of one moment.
    this.#start = hasMore ? (reader.get<{ seq: number }>(table.seqOfId, last.id)?.seq ?? null) : null;
    return { done: false, value: table.toRecords(rows) };
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#start = null;
    this.#reader.end();
    return { done: true, value: undefined };
  }
}

/**
 * Reads a collection, or the records of it that the caller owns. The right to go on is looked at before each later
 * page.
 * @throws AppError when the caller may read nothing of it.
 */
export async function readWhole(
  { database, records }: { database: Database; records: Records },
  collection: Collection,
  principal: Principal,
): Promise<RecordPages> {
  const decision = collection.policies.read.admit(principal);
  const mayGoOn = async (): Promise<void> => {
    const current = records.collection(collection.name);
    const caller = await database.recheck(principal);
    const now = current.policies.read.admit(caller);
    // Under another rule, or with another role, the caller is owed another list.
    if (now.access !== decision.access || current.createdAt !== collection.createdAt) throw listChanged();
    // Nor is one owed any more that shows every field of each record.
    if (fieldLimits(current, caller) !== null) throw listChanged();
  };
  const table = recordTableOf(collection);
  const ownerValue = ownerOf(decision, principal);
  const byOwner = ownerValue.length > 0;
  const reader = database.longRead();
  let rest: TablePages | null = null;
  try {
    const sql = table.firstPage(byOwner, firstPageSize + 1);
    const { rows, isFull } = readPage(reader, table, { sql, values: ownerValue, bytes: firstPageBytes });
    const last = isFull || rows.length > firstPageSize ? rows.at(-1) : undefined;
    if (last !== undefined) {
      const start = reader.get<{ seq: number }>(table.seqOfId, last.id)?.seq ?? 0;
      rest = new TablePages(reader, table, { start, ownerValue, mayGoOn });
    }
    return { first: table.toRecords(rows), rest };
  } finally {
    if (rest === null) reader.end();
  }
}

/** The value of the owner column by which records are selected; none for all records. */
function ownerOf({ access }: Decision, principal: Principal): string[] {
  return access === "own" ? [principal?.userId ?? ""] : [];
}

export function listChanged(): AppError {
  return new AppError(
    "unavailable",
    "The part of the collection that you may read has changed while the list was read.",
  );
}

/** One page of a query. */
interface QueriedPage {
  readonly items: StoredRecord[];
  readonly nextCursor: string | null;
}

/** A whole list that is read as the pages of a query, on threads: where the database must look at each record. */
class QueriedPages implements LaterPages {
  readonly #page: (cursor: string) => Promise<QueriedPage>;
  #cursor: string | null;

  constructor(page: (cursor: string) => Promise<QueriedPage>, cursor: string) {
    this.#page = page;
    this.#cursor = cursor;
  }

  async next(): Promise<IteratorResult<StoredRecord[], undefined>> {
    if (this.#cursor === null) return this.return();
    const { items, nextCursor } = await this.#page(this.#cursor);
    this.#cursor = nextCursor;
    return { done: false, value: items };
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#cursor = null;
    return { done: true, value: undefined };
  }
}

/** Reads a whole list by the pages of a query. @param page answers the JSON of one; "" asks for the first. */
export async function readByPages(page: (cursor: string) => Promise<string>): Promise<RecordPages> {
  // Made by `JSON.stringify` of such a page.
  const read = async (cursor: string): Promise<QueriedPage> => JSON.parse(await page(cursor)) as QueriedPage;
  const { items, nextCursor } = await read("");
  return { first: items, rest: nextCursor === null ? null : new QueriedPages(read, nextCursor) };
}
