/** Whole lists: all records of a collection that a caller may read, newest first, as a stream of pages. */
import type { StoredRecord } from "@socle/protocol";
import { AppError, type Principal } from "../../base/kernel/index.ts";
import type { Database, LongRead } from "../../store/database/index.ts";
import type { Collection } from "../collections/index.ts";
import type { Decision } from "../permissions/index.ts";
import { fieldLimits, type Records, type RecordTable, recordTableOf } from "../records/index.ts";

/** Most lists fit into the first page and are answered at once. */
const firstPageSize = 64;
const firstPageBytes = 64 * 1024;
const maxPageSize = 1_000;
/** The bytes of a later page: large enough to be quick, small enough for many lists at a time. */
const pageBytes = 16 * 1024;

/** All records of a list, newest first: the first page, and a way to further pages. */
export interface RecordPages {
  readonly first: StoredRecord[];
  /**
   * Further pages. A page is read when the consumer takes the page, so memory does not grow with the list. A consumer that stops
   * before the end calls `return`.
   */
  readonly rest: LaterPages | null;
}

/** The pages of a list after its first. */
export interface LaterPages {
  next(): Promise<IteratorResult<StoredRecord[], undefined>>;
  /** Ends the reading, before or at the end of the list. */
  return(): Promise<IteratorReturnResult<undefined>>;
}

/** A part of a list that is read in a single step. */
interface Page {
  readonly rows: StoredRecord[];
  /** Whether the weight ends the page, and not the end of the list. */
  readonly isFull: boolean;
}

/** Reads rows until the page weighs `bytes`; only the last record may exceed that weight. */
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
 * Reads the pages behind a place. The list has no record that is created meanwhile, and shows changes and deletions of later
 * pages, but no migration. The list ends when the right of the caller ends. The class is no generator: the frame of a waiting
 * generator would keep the last page in memory.
 */
class TablePages implements LaterPages {
  readonly #reader: LongRead;
  readonly #table: RecordTable;
  readonly #ownerValue: string[];
  readonly #mayGoOn: () => void;
  /** The start of the next page; null behind the last page. */
  #start: number | null;

  constructor(
    reader: LongRead,
    table: RecordTable,
    from: { start: number; ownerValue: string[]; mayGoOn: () => void },
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
      this.#mayGoOn();
      const records = this.#page(this.#start);
      return records.length === 0 ? this.return() : { done: false, value: records };
    } catch (thrown) {
      await this.return();
      throw thrown;
    }
  }

  #page(start: number): StoredRecord[] {
    const [reader, table] = [this.#reader, this.#table];
    const sql = table.nextPage(this.#ownerValue.length > 0, maxPageSize);
    const values = [start, ...this.#ownerValue];
    const { rows, isFull } = readPage(reader, table, { sql, values, bytes: pageBytes });
    const last = rows.at(-1);
    if (last === undefined) return [];
    const hasMore = isFull || rows.length === maxPageSize;
    // In the same turn as the page: both are of the same snapshot.
    this.#start = hasMore ? (reader.get<{ seq: number }>(table.seqOfId, last.id)?.seq ?? null) : null;
    return table.toRecords(rows);
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#start = null;
    this.#reader.end();
    return { done: true, value: undefined };
  }
}

/**
 * Reads a collection, or the caller's own records in the collection. The right to read is checked before each later
 * page.
 * @throws AppError when the caller may read no record of the collection.
 */
export function readWhole(
  { database, records }: { database: Database; records: Records },
  collection: Collection,
  principal: Principal,
): RecordPages {
  const decision = collection.policies.read.admit(principal);
  const mayGoOn = (): void => {
    const current = records.collection(collection.name);
    const caller = database.recheck(principal);
    const now = current.policies.read.admit(caller);
    // Under another rule, or with another role, the caller is owed another list.
    if (now.access !== decision.access || current.createdAt !== collection.createdAt) throw listChanged();
    // Rules of fields hide values that the list would show.
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

/** The value of the owner column by which records are selected; empty for all records. */
function ownerOf({ access }: Decision, principal: Principal): string[] {
  return access === "own" ? [principal?.userId ?? ""] : [];
}

export function listChanged(): AppError {
  return new AppError(
    "unavailable",
    "The part of the collection that you may read has changed while the list was read.",
  );
}

/** A page of a query. */
interface QueriedPage {
  readonly items: StoredRecord[];
  readonly nextCursor: string | null;
}

/** A whole list, read as pages of a query: for rules that ask the database about each record. */
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

/** Reads a whole list by the pages of a query. @param page answers the JSON of a page; "" stands for the first page. */
export async function readByPages(page: (cursor: string) => Promise<string>): Promise<RecordPages> {
  // `page` answers the JSON of a page.
  const read = async (cursor: string): Promise<QueriedPage> => JSON.parse(await page(cursor)) as QueriedPage;
  const { items, nextCursor } = await read("");
  return { first: items, rest: nextCursor === null ? null : new QueriedPages(read, nextCursor) };
}
