import type { RecordPage } from "@socle/protocol";
import type { Collection } from "../collections/index.ts";
import type { MigrationPlace, Reader, Value } from "../database/index.ts";
import { type Constant, constantValue, type EvaluationContext } from "../expressions/index.ts";
import type { Awaitable } from "../kernel/index.ts";
import { type CursorPlace, type Cursors, digestOf } from "./cursor.ts";
import { Expander } from "./expand.ts";
import type { ListQuery } from "./list-query.ts";
import { type Plan, type Plans, planOf } from "./plans.ts";
import { refuseParameter } from "./query-text.ts";
import type { Place, Segment } from "./sort.ts";
import type { Row } from "./source.ts";

/** With more records than these, and where they were heavy before, it is asked first what they weigh. */
const fewRecords = 64;
/** What a page may weigh, in bytes; the rest is on the next. */
const maxBytes = 4 * 1024 ** 2;

/** What a page needs beside the query. */
export interface PageOptions {
  /** Where it begins; null for the first page. */
  readonly place: CursorPlace | null;
  /** What its cursors belong to. */
  readonly scope: string;
  readonly context: EvaluationContext;
  readonly cursors: Cursors;
  readonly plans: Plans;
  /** How many records the collection has. */
  readonly countAll: (collection: Collection) => Promise<number>;
}

/** What is selected, and of how many rows. */
interface Extent {
  readonly columns: string;
  readonly limit: number;
}

/** About the bytes of rows that were not decoded yet. */
function weightOf(rows: readonly Row[]): number {
  let weight = 0;
  for (const row of rows)
    for (const name in row) {
      const value = row[name];
      if (typeof value === "string") weight += value.length;
    }
  return weight;
}

const whole = [null] as const;

/** A query for one caller, at one moment. */
export class PageReader {
  readonly #query: ListQuery;
  readonly #options: PageOptions;

  constructor(query: ListQuery, options: PageOptions) {
    this.#query = query;
    this.#options = options;
  }

  /**
   * Reads the page; all from one moment, if `reader` is of one.
   * @throws AppError `bad_request` for a cursor that is none of this list.
   */
  async read(reader: Reader, where: MigrationPlace): Promise<RecordPage<Row>> {
    const { collection, limit, selection, hasTotal } = this.#query;
    const { place, context } = this.#options;
    const segments = place === null ? whole : await this.#behind(reader, place);
    const { plans } = this.#options;
    const isLight = limit <= fewRecords && !plans.isHeavy(collection);
    let size = isLight ? limit + 1 : await this.#affordable(reader, segments, limit + 1);
    const taken = this.#take<Row>(reader, segments, { columns: selection.sql, limit: size });
    let rows = taken instanceof Promise ? await taken : taken;
    if (isLight && weightOf(rows) > maxBytes) {
      plans.noteHeavy(collection);
      size = await this.#affordable(reader, segments, limit + 1);
      rows = rows.slice(0, size);
    }
    const hasMore = rows.length > limit || size <= limit;
    if (rows.length > limit) rows.pop();
    const last = hasMore ? rows.at(-1)?.["id"] : null;
    const nextCursor = typeof last === "string" ? await this.#cursorOf(reader, last) : null;
    const total = hasTotal ? await this.#count(reader, where) : null;
    if (selection.isWhole) selection.decode(rows);
    const items = selection.isWhole ? rows : await new Expander(reader, context.userId).records(selection, rows);
    return total === null ? { items, nextCursor } : { items, nextCursor, total };
  }

  /** How the first page is read. */
  plan(reader: Reader): Promise<string[]> {
    const { sql, selection, limit } = this.#query;
    return planOf(reader, sql.first(selection.sql, limit + 1), this.#bind(sql.values(null)));
  }

  async #count(reader: Reader, where: MigrationPlace): Promise<number> {
    const { sql, collection } = this.#query;
    // On the event loop the number is of the same moment as the records.
    if (sql.isAll && where === "here") return this.#options.countAll(collection);
    return (await reader.get<{ n: number }>(sql.count.sql, ...this.#bind(sql.count.values)))?.n ?? 0;
  }

  /** Takes rows from parts of a list that follow each other, until there are enough. */
  #take<T>(reader: Reader, segments: readonly (Segment | null)[], extent: Extent): Awaitable<T[]> {
    const [only = null] = segments;
    return segments.length === 1 ? this.#select<T>(reader, only, extent) : this.#takeEach<T>(reader, segments, extent);
  }

  async #takeEach<T>(reader: Reader, segments: readonly (Segment | null)[], extent: Extent): Promise<T[]> {
    let rows: T[] = [];
    for (const segment of segments) {
      const left = { ...extent, limit: extent.limit - rows.length };
      const found = await this.#select<T>(reader, segment, left);
      rows = rows.length === 0 ? found : rows.concat(found);
      if (rows.length >= extent.limit) break;
    }
    return rows;
  }

  #select<T>(reader: Reader, segment: Segment | null, { columns, limit }: Extent): Awaitable<T[]> {
    const { selection, sql } = this.#query;
    const values = this.#bind(sql.values(segment));
    const isFirst = segment === null && columns === selection.sql && limit === this.#query.limit + 1;
    const plain = isFirst ? sql.first(columns, limit) : sql.select({ columns, segment, limit, isWatched: false });
    const read = (isBounded: boolean): Awaitable<T[]> => {
      if (isBounded) return reader.all<T>(plain, ...values);
      return reader.all<T>(sql.select({ columns, segment, limit, isWatched: true }), ...values);
    };
    const isBounded = this.#isBounded(reader, { sql: plain, values, segment });
    return isBounded instanceof Promise ? isBounded.then(read) : read(isBounded);
  }

  /** Whether a statement looks at no more rows than it answers. */
  #isBounded(
    reader: Reader,
    statement: { sql: string; values: readonly Value[]; segment: Segment | null },
  ): Awaitable<boolean> {
    const { constraints } = this.#query.sql;
    if (constraints === null) return false;
    const all = constraints + (statement.segment?.constraints ?? 0);
    const plan = this.#planOf(reader, statement);
    return plan instanceof Promise ? plan.then(({ answered }) => answered === all) : plan.answered === all;
  }

  #planOf(reader: Reader, statement: { sql: string; values: readonly Value[] }): Awaitable<Plan> {
    const { plans } = this.#options;
    const { collection } = this.#query;
    return plans.known(collection, statement.sql) ?? plans.learn(reader, collection, statement);
  }

  /** The parts of the list behind a cursor: several where an index finds each of them, else one. */
  async #behind(reader: Reader, place: CursorPlace): Promise<Segment[]> {
    const segments = this.#query.sort.behind(await this.#placeOf(reader, place));
    if (segments.length === 1) return segments;
    const { sql, selection, limit } = this.#query;
    const first = { sql: sql.first(selection.sql, limit + 1), values: this.#bind(sql.values(null)) };
    if (!(await this.#planOf(reader, first)).isSorting) return segments;
    // Without an index each part would be searched, and sorted, by itself.
    return [
      {
        where: `(${segments.map(({ where }) => `(${where})`).join(" OR ")})`,
        values: segments.flatMap((segment) => segment.values),
        constraints: Number.NaN,
      },
    ];
  }

  async #placeOf(reader: Reader, { seq, values, digest }: CursorPlace): Promise<Place> {
    const { sort, source } = this.#query;
    if (values !== null) return { seq, values };
    const row = await reader.get<{ [column: string]: Value }>(
      `SELECT ${sort.placeColumns} FROM ${source.table} WHERE _seq = ?`,
      ...this.#bind(sort.constants),
      seq,
    );
    const place = row === null ? null : sort.placeOf(row);
    if (place === null || digestOf(place.values) !== digest)
      throw refuseParameter("cursor", "the record that it stands at has changed or is gone; begin with the first page");
    return place;
  }

  async #cursorOf(reader: Reader, id: string): Promise<string | null> {
    const { sort, sql } = this.#query;
    const row = await reader.get<{ [column: string]: Value }>(sql.place, ...this.#bind(sort.constants), id);
    return row === null ? null : this.#options.cursors.write(sort.placeOf(row), this.#options.scope);
  }

  /** How many of the records fit into a page, at least one. */
  async #affordable(reader: Reader, segments: readonly (Segment | null)[], wanted: number): Promise<number> {
    const { source, columns } = this.#query.selection;
    const weights = { columns: `${source.weight(columns)} AS bytes`, limit: wanted };
    const rows = await this.#take<{ bytes: number }>(reader, segments, weights);
    let [bytes, fitting] = [0, 0];
    for (const row of rows) {
      bytes += row.bytes;
      if (bytes > maxBytes && fitting > 0) break;
      fitting += 1;
    }
    if (fitting === rows.length) return wanted;
    if (this.#query.text.offset === undefined) return fitting;
    // Whoever counts pages would miss what was left out.
    const problem = `this page weighs more than ${maxBytes / 1024 ** 2} MiB`;
    throw refuseParameter(
      "limit",
      `${problem}; ask for fewer records, for less of each with "fields", or use "cursor"`,
    );
  }

  #bind(values: readonly (Value | Constant)[]): Value[] {
    return values.map((value) => {
      if (typeof value !== "object" || value === null) return value;
      const constant = constantValue(value, this.#options.context);
      return typeof constant === "boolean" ? Number(constant) : constant;
    });
  }
}
