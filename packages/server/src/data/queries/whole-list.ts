/** Whole lists: all records of a collection that a caller may read, newest first, as a stream of pages. */
import type { StoredRecord } from "@socle/protocol";
import { AppError, type Principal } from "../../base/kernel/index.ts";
import type { Database, LongRead } from "../../store/database/index.ts";
import type { Collection } from "../collections/index.ts";
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

export interface LaterPages {
  next(): Promise<IteratorResult<StoredRecord[], undefined>>;
  /** Ends the reading, before or at the end of the list. */
  return(): Promise<IteratorReturnResult<undefined>>;
}

/**
 * Reads the pages of a list. The list has no record that is created meanwhile, and shows changes and deletions of later
 * pages, but no migration. The list ends when the right of the caller ends. The class is no generator: the frame of a waiting
 * generator would keep the last page in memory.
 */
class TablePages implements LaterPages {
  readonly #reader: LongRead;
  readonly #table: RecordTable;
  readonly #options: { readonly ownerValue: readonly string[]; readonly mayGoOn: () => void };
  /** The start of the next page; null behind the last page. */
  #start: number | null = null;

  /** @param options `ownerValue` is the value of the owner column by which records are selected; empty for all records. */
  constructor(reader: LongRead, table: RecordTable, options: { ownerValue: readonly string[]; mayGoOn: () => void }) {
    this.#reader = reader;
    this.#table = table;
    this.#options = options;
  }

  get hasMore(): boolean {
    return this.#start !== null;
  }

  first(): StoredRecord[] {
    const limit = firstPageSize + 1;
    const { ownerValue: values } = this.#options;
    const statement = { sql: this.#table.firstPage(values.length > 0, limit), values };
    return this.#read(statement, { limit, bytes: firstPageBytes });
  }

  async next(): Promise<IteratorResult<StoredRecord[], undefined>> {
    if (this.#start === null) return this.return();
    try {
      const { ownerValue, mayGoOn } = this.#options;
      mayGoOn();
      const sql = this.#table.nextPage(ownerValue.length > 0, maxPageSize);
      const statement = { sql, values: [this.#start, ...ownerValue] };
      const records = this.#read(statement, { limit: maxPageSize, bytes: pageBytes });
      return records.length === 0 ? this.return() : { done: false, value: records };
    } catch (thrown) {
      await this.return();
      throw thrown;
    }
  }

  /** Reads records until the page weighs `bytes`; only the last record may exceed that weight. */
  #read(
    statement: { sql: string; values: readonly (string | number)[] },
    { limit, bytes }: { limit: number; bytes: number },
  ): StoredRecord[] {
    const table = this.#table;
    let weight = 0;
    const rows = this.#reader.some<StoredRecord>(statement, (row) => {
      weight += table.weightOf(row);
      return weight >= bytes;
    });
    const last = rows.at(-1);
    const isLast = last === undefined || (weight < bytes && rows.length < limit);
    // In the same turn as the page: both are of the same snapshot.
    this.#start = isLast ? null : (this.#reader.get<{ seq: number }>(table.seqOfId, last.id)?.seq ?? null);
    return table.toRecords(rows);
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#start = null;
    this.#reader.end();
    return { done: true, value: undefined };
  }
}

/**
 * Reads a collection, or the caller's own records. The right to read is checked before each later page.
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
    const caller = database.callers.recheck(principal);
    const now = current.policies.read.admit(caller);
    // Under another rule, or with another role, the caller is owed another list.
    if (now.access !== decision.access || current.createdAt !== collection.createdAt) throw listChanged();
    // Rules of fields hide values that the list would show.
    if (fieldLimits(current, caller) !== null) throw listChanged();
  };
  const ownerValue = decision.access === "own" ? [principal?.userId ?? ""] : [];
  const reader = database.longRead();
  const pages = new TablePages(reader, recordTableOf(collection), { ownerValue, mayGoOn });
  try {
    return { first: pages.first(), rest: pages.hasMore ? pages : null };
  } finally {
    if (!pages.hasMore) reader.end();
  }
}

export function listChanged(): AppError {
  return new AppError(
    "unavailable",
    "The part of the collection that you may read has changed while the list was read.",
  );
}

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
  const read = async (cursor: string): Promise<QueriedPage> => JSON.parse(await page(cursor)) as QueriedPage;
  const { items, nextCursor } = await read("");
  return { first: items, rest: nextCursor === null ? null : new QueriedPages(read, nextCursor) };
}
