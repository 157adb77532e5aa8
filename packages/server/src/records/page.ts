import type { Reader, Value } from "../database/index.ts";
import { type Constant, constantValue, type Facts } from "../expressions/index.ts";
import { AppError } from "../kernel/index.ts";
import type { CursorScope, Cursors } from "./cursor.ts";
import { Expander } from "./expand.ts";
import type { ListQuery } from "./list-query.ts";
import { refuseParameter } from "./query-text.ts";
import type { Place, Segment } from "./sort.ts";
import type { Row } from "./source.ts";

/** One page of a query. */
export interface RecordPage {
  readonly items: Row[];
  /** Where the next one begins; null after the last. */
  readonly nextCursor: string | null;
  /** How many match in all, where that was asked for. */
  readonly total?: number;
}

/** With more records than these, it is asked first what they weigh. */
const fewRecords = 64;
/** What a page may weigh, in bytes; the rest is on the next. */
const maxBytes = 8 * 1024 ** 2;

/** What a page needs beside the query. */
export interface PageOptions {
  /** As it was given; null for the first page. */
  readonly cursor: string | null;
  readonly facts: Facts;
  readonly cursors: Cursors;
  /** How many records the collection has. */
  readonly countAll: () => Promise<number>;
}

/** A query for one caller, at one moment. */
export class PageReader {
  readonly #query: ListQuery;
  readonly #options: PageOptions;
  readonly #scope: CursorScope;

  constructor(query: ListQuery, options: PageOptions) {
    this.#query = query;
    this.#options = options;
    const { collection, text } = query;
    this.#scope = {
      collection: `${collection.name} ${collection.createdAt}`,
      sort: text.sort ?? "",
      filter: text.filter ?? "",
      userId: options.facts.userId,
    };
  }

  /** The statement that reads the page, and what stands for its `?`. */
  get statement(): { readonly sql: string; readonly values: readonly Value[] } {
    return this.#select(this.#query.source.columns(this.#query.selection.columns), null, this.#query.limit + 1);
  }

  /**
   * Reads the page; all from one moment, if `reader` is of one.
   * @throws AppError `bad_request` for a cursor that is none of this list.
   */
  async read(reader: Reader): Promise<RecordPage> {
    const { limit, selection, hasTotal } = this.#query;
    const { cursor, facts } = this.#options;
    const segments = cursor === null ? [null] : await this.#behind(reader, cursor);
    const size = await this.#affordable(reader, segments, limit + 1);
    const columns = selection.source.columns(selection.columns);
    const rows = await this.#take<Row>(reader, columns, segments, size);
    const hasMore = rows.length > limit || size <= limit;
    if (rows.length > limit) rows.pop();
    const last = hasMore ? rows.at(-1)?.["id"] : null;
    const nextCursor = typeof last === "string" ? await this.#cursorOf(reader, last) : null;
    const total = hasTotal ? { total: await this.#count(reader) } : {};
    const items = selection.isWhole
      ? decoded(selection.source.decode, rows, selection.columns)
      : await new Expander(reader, facts.userId).records(selection, rows);
    return { items, nextCursor, ...total };
  }

  async #count(reader: Reader): Promise<number> {
    const { source, condition, isAll } = this.#query;
    if (isAll) return this.#options.countAll();
    const sql = `SELECT count(*) AS n FROM ${source.table} WHERE ${condition.where}`;
    return (await reader.get<{ n: number }>(sql, ...this.#bind(condition.values)))?.n ?? 0;
  }

  /** Takes rows from parts of a list that follow each other, until there are enough. */
  async #take<T>(reader: Reader, columns: string, segments: readonly (Segment | null)[], limit: number): Promise<T[]> {
    const rows: T[] = [];
    for (const segment of segments) {
      const { sql, values } = this.#select(columns, segment, limit - rows.length);
      const found = await reader.all<T>(sql, ...values);
      if (segments.length === 1) return found;
      rows.push(...found);
      if (rows.length >= limit) break;
    }
    return rows;
  }

  #select(columns: string, segment: Segment | null, limit: number): { sql: string; values: Value[] } {
    const { source, sort, offset, condition } = this.#query;
    const conditions = [condition.where, segment?.where ?? ""].filter((condition) => condition !== "");
    const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
    // A literal is measurably quicker than a parameter.
    const extent = offset === 0 ? `LIMIT ${limit}` : `LIMIT ${limit} OFFSET ${offset}`;
    return {
      sql: `SELECT ${columns} FROM ${source.table}${where} ORDER BY ${sort.order} ${extent}`,
      values: this.#bind([...condition.values, ...(segment?.values ?? []), ...sort.constants]),
    };
  }

  /** The parts of the list behind a cursor: several where an index finds each of them, else one. */
  async #behind(reader: Reader, cursor: string): Promise<Segment[]> {
    const segments = this.#query.sort.behind(await this.#placeOf(reader, cursor));
    if (segments.length === 1) return segments;
    const { sql, values } = this.#select("1", null, 1);
    const plan = await reader.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
    if (!plan.some(({ detail }) => detail.startsWith("USE TEMP B-TREE"))) return segments;
    // Without an index each part would be searched, and sorted, by itself.
    return [
      {
        where: `(${segments.map(({ where }) => `(${where})`).join(" OR ")})`,
        values: segments.flatMap((segment) => segment.values),
      },
    ];
  }

  async #placeOf(reader: Reader, cursor: string): Promise<Place> {
    const { seq, values } = this.#options.cursors.read(cursor, this.#scope);
    const { sort, source } = this.#query;
    if (values !== null || sort.isByCreation) return { seq, values: values ?? [] };
    const row = await reader.get<{ [column: string]: Value }>(
      `SELECT ${sort.placeColumns} FROM ${source.table} WHERE _seq = ?`,
      ...this.#bind(sort.constants),
      seq,
    );
    if (row === null)
      throw refuseParameter("cursor", "the record that it stands at is gone; begin with the first page");
    return sort.placeOf(row);
  }

  async #cursorOf(reader: Reader, id: string): Promise<string | null> {
    const { sort, source } = this.#query;
    const row = await reader.get<{ [column: string]: Value }>(
      `SELECT ${sort.placeColumns} FROM ${source.table} WHERE id = ?`,
      ...this.#bind(sort.constants),
      id,
    );
    return row === null ? null : this.#options.cursors.write(sort.placeOf(row), this.#scope);
  }

  /** How many of the records fit into a page, at least one. */
  async #affordable(reader: Reader, segments: readonly (Segment | null)[], wanted: number): Promise<number> {
    if (wanted <= fewRecords + 1) return wanted;
    const { source, columns } = this.#query.selection;
    const rows = await this.#take<{ bytes: number }>(reader, `${source.weight(columns)} AS bytes`, segments, wanted);
    let [bytes, fitting] = [0, 0];
    for (const row of rows) {
      bytes += row.bytes;
      if (bytes > maxBytes && fitting > 0) break;
      fitting += 1;
    }
    if (fitting === rows.length) return wanted;
    if (this.#query.text.offset === undefined) return fitting;
    // Whoever counts pages would miss what was left out.
    throw new AppError(
      "bad_request",
      `This page weighs more than ${maxBytes / 1024 ** 2} MiB; ask for a smaller "limit", for less of each record with "fields", or use "cursor".`,
    );
  }

  #bind(values: readonly (Value | Constant)[]): Value[] {
    return values.map((value) => {
      if (typeof value !== "object" || value === null) return value;
      const constant = constantValue(value, this.#options.facts);
      return typeof constant === "boolean" ? Number(constant) : constant;
    });
  }
}

function decoded(decode: ListQuery["source"]["decode"], rows: Row[], names: readonly string[]): Row[] {
  decode(rows, names);
  return rows;
}
