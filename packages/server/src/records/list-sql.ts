import type { Value } from "../database/index.ts";
import { visited } from "../database/index.ts";
import {
  type Constant,
  caller,
  type Expression,
  eachOperand,
  lengthOf,
  type Path,
  toSql,
} from "../expressions/index.ts";
import type { Segment, Sort } from "./sort.ts";
import type { Source } from "./source.ts";

/** What a statement over a list is to do. */
export interface Statement {
  /** What is selected, without any `?`. */
  readonly columns: string;
  /** A part of the list; null for all of it. */
  readonly segment: Segment | null;
  readonly limit: number;
  /** Whether it says what it looks at, so that it can be ended. That costs half a microsecond a row. */
  readonly isWatched: boolean;
}

/** Texts that are remembered of one query. */
const maxTexts = 64;

/** The SQL of a list: which records are in it, and in which order. */
export class ListSql {
  readonly #source: Source;
  readonly #sort: Sort;
  readonly #offset: number;
  /** "" where the list is the whole collection. */
  readonly #where: string;
  /** What is looked at in a row; see `visited`. */
  readonly #weight: string | null;
  readonly #constants: readonly Constant[];
  /**
   * How many comparisons an index must answer so that no row is looked at in vain; null where none can: then a statement
   * has to be watched.
   */
  readonly constraints: number | null;
  #first: string | null = null;
  /** By columns and by the rest: a text that is met again is not made, nor hashed, again. */
  readonly #texts = new Map<string, Map<string, string>>();
  #place: string | null = null;

  constructor(list: { source: Source; filter: Expression | null; sort: Sort; offset: number }) {
    const { source, filter } = list;
    this.#source = source;
    this.#sort = list.sort;
    this.#offset = list.offset;
    const own = source.ownCondition;
    this.#weight = weightOf([...(filter === null ? [] : pathsOf(filter)), ...list.sort.paths], source);
    const filterSql = filter === null ? null : toSql(filter, source.table);
    const parts = [own, filterSql === null ? null : `(${filterSql.text})`];
    this.#where = parts.filter((part) => part !== null).join(" AND ");
    this.#constants = [...(own === null ? [] : [caller]), ...(filterSql?.values ?? [])];
    const compared = filter === null ? 0 : indexable(filter);
    this.constraints = compared === null || list.offset > 0 ? null : compared + (own === null ? 0 : 1);
  }

  /** Whether the list is the whole collection. */
  get isAll(): boolean {
    return this.#where === "";
  }

  /** Which records, and in which order: the same where one is about as much work as another. */
  get kind(): string {
    const extent = this.#offset === 0 ? "" : `offset ${Math.floor(Math.log2(this.#offset))}`;
    return `${this.#source.table} ${this.#where} ${this.#sort.order} ${extent}`;
  }

  /** Its `?` stand for `values`. */
  select(statement: Statement): string {
    const { columns, segment, limit, isWatched } = statement;
    const key = `${limit} ${isWatched} ${segment?.where ?? ""}`;
    const texts = this.#texts.get(columns) ?? new Map<string, string>();
    const known = texts.get(key);
    if (known !== undefined) return known;
    const text = this.#make(statement);
    // One query has few of them.
    if (texts.size < maxTexts) texts.set(key, text);
    this.#texts.set(columns, texts);
    return text;
  }

  #make({ columns, segment, limit, isWatched }: Statement): string {
    const parts = [isWatched ? visited(this.#source.table, this.#weight) : "", this.#where, segment?.where ?? ""];
    const where = parts.filter((part) => part !== "").join(" AND ");
    // A literal is measurably quicker than a parameter.
    const extent = this.#offset === 0 ? `LIMIT ${limit}` : `LIMIT ${limit} OFFSET ${this.#offset}`;
    return `SELECT ${columns} FROM ${this.#source.table}${where === "" ? "" : ` WHERE ${where}`} ORDER BY ${this.#sort.order} ${extent}`;
  }

  /** The unwatched statement of the first page, made once; it is always of the same columns and size. */
  first(columns: string, limit: number): string {
    this.#first ??= this.select({ columns, segment: null, limit, isWatched: false });
    return this.#first;
  }

  /** What a cursor holds of a record. Its `?` stand for the constants of the sort, and the id. */
  get place(): string {
    this.#place ??= `SELECT ${this.#sort.placeColumns} FROM ${this.#source.table} WHERE id = ?`;
    return this.#place;
  }

  values(segment: Segment | null): (Value | Constant)[] {
    return [...this.#constants, ...(segment?.values ?? []), ...this.#sort.constants];
  }

  /** How many records are in the list. */
  get count(): { readonly sql: string; readonly values: readonly Constant[] } {
    const where = [visited(this.#source.table, this.#weight), this.#where].filter((part) => part !== "").join(" AND ");
    return { sql: `SELECT count(*) AS n FROM ${this.#source.table} WHERE ${where}`, values: this.#constants };
  }
}

function pathsOf(filter: Expression): Path[] {
  const paths: Path[] = [];
  eachOperand(filter, (operand) => {
    if (operand.type === "path") paths.push(operand);
  });
  return paths;
}

/** The bytes of a row that these paths look at, as SQL: of each long field, as often as it is named. */
function weightOf(paths: readonly Path[], source: Source): string | null {
  const times = new Map<string, number>();
  for (const { hops, field } of paths)
    if (hops.length === 0 && field.isLong) times.set(field.name, (times.get(field.name) ?? 0) + 1);
  if (times.size === 0) return null;
  return [...times].map(([name, n]) => `${n} * ${lengthOf(source.column(name))}`).join(" + ");
}

/** How many comparisons must all hold, if each is one that an index over fields of the collection answers; else null. */
function indexable(filter: Expression): number | null {
  if (filter.type === "and") {
    let sum = 0;
    for (const item of filter.items) {
      const compared = indexable(item);
      if (compared === null) return null;
      sum += compared;
    }
    return sum;
  }
  if (filter.type !== "compare" || ["!=", "~", "!~"].includes(filter.operator)) return null;
  const { left, right } = filter;
  const path = left.type === "path" ? left : right.type === "path" ? right : null;
  const isPlain = path !== null && path.hops.length === 0 && path.valueType !== "json";
  return isPlain && (left.type !== "path" || right.type !== "path") ? 1 : null;
}
