/**
 * Rows of a run: statements are read with the constants of the run, and the rows become the records that are answered. Each statement has
 * stop probes, which bound the rows of a run on the event loop and let a statement end on a thread. On the event loop, the bytes are bounded, too.
 */
import type { JsonValue } from "@socle/protocol";
import { type Reader, stopProbe, type Value } from "../../../store/database/index.ts";
import {
  bind,
  type EvaluationContext,
  plain,
  type SqlPart,
  separated,
  sqlPart,
  whereSql,
} from "../../expressions/index.ts";
import { decode } from "../../fields/index.ts";
import { direction } from "../cursor.ts";
import type { PagePlan, PointerPlan, SelectionPlan, SortPlan } from "../plan.ts";
import type { VectorMemory } from "./vector-memory.ts";

/** The bytes of rows and of an answer on the event loop: about a millisecond of work. */
const maxLoopBytes = 256 * 1024;

/** The bytes of a page; further records, or groups, are on the next. */
export const maxPageBytes = 4 * 1024 ** 2;

/** The answer of a run is too large for the event loop: the query is for a thread. */
export class TooMuchForLoop extends Error {
  override readonly name = "TooMuchForLoop";
}

/** Where a run is. */
export interface RunPlace {
  readonly isOnLoop: boolean;
  /** The vectors that the thread keeps; absent elsewhere. */
  readonly vectors?: VectorMemory;
}

/** A reader of a snapshot, with the time and the caller. */
export class Run {
  readonly #reader: Reader;
  readonly #context: EvaluationContext;
  readonly #place: RunPlace;
  /** The beginning of each statement: the rows of a view, see `viewSql`. */
  readonly #view: string;

  constructor(
    reader: Reader,
    context: EvaluationContext,
    { view = "", ...place }: RunPlace & { readonly view?: string | undefined },
  ) {
    this.#reader = reader;
    this.#context = context;
    this.#place = place;
    this.#view = view;
  }

  /** To be called with the bytes of a run so far. @throws TooMuchForLoop on the event loop. */
  refuseOnLoop(bytes: number): void {
    if (this.#place.isOnLoop && bytes > maxLoopBytes) throw new TooMuchForLoop();
  }

  first<T>({ text, values }: SqlPart): T | null {
    return this.#reader.get<T>(this.#view + text, ...bind(values, this.#context));
  }

  all<T>({ text, values }: SqlPart): T[] {
    return this.#reader.all<T>(this.#view + text, ...bind(values, this.#context));
  }

  /** The steps by which SQLite runs a statement. */
  steps({ text, values }: SqlPart): string[] {
    const sql = `EXPLAIN QUERY PLAN ${this.#view}${text}`;
    return this.#reader.all<{ detail: string }>(sql, ...bind(values, this.#context)).map(({ detail }) => detail);
  }

  /** The rows up to the last that is wanted. */
  some<T>({ text, values }: SqlPart, isLast: (row: T) => boolean): T[] {
    return this.#reader.some<T>({ sql: this.#view + text, values: bind(values, this.#context) }, isLast);
  }

  /**
   * The hidden numbers of the first records of a page by `nearest`, as JSON, more each time; empty without vectors in memory.
   * @param options `from` the distance at the position of the page.
   */
  nearest(
    { nearest, limit, offset }: PagePlan,
    { memory, from }: { memory: number; from: Value | undefined },
  ): IteratorObject<string, unknown, unknown> {
    const { vectors } = this.#place;
    if (vectors === undefined || nearest === null || memory === 0) return [].values();
    const records = limit + 1 + offset;
    return vectors.nearest(this.#reader, nearest, { memory, from: typeof from === "number" ? from : null, records });
  }

  /** The number that a statement answers as `n`. */
  count(statement: SqlPart): number {
    return this.first<{ n: number }>(statement)?.n ?? 0;
  }
}

/** A WHERE of the given parts, behind the stop probe: a text that begins with a space. */
export function conditionSql(table: string, parts: readonly (SqlPart | null)[]): SqlPart {
  return whereSql([plain(stopProbe(table)), ...parts.filter((part) => part !== null)]);
}

/** The condition that a record points to some ids. The index of the pointer, or the table of the items, finds the records. */
export function pointingTo(table: string, { column, items }: PointerPlan, ids: readonly string[]): SqlPart {
  if (items === null) return inList(column, ids);
  const { text, values } = inList("value", ids);
  return { text: `${table}._seq IN (SELECT record FROM ${items} WHERE ${text})`, values };
}

/** The condition that a column has a value of a list. The last value is repeated up to a power of two, so that statements are reused. */
export function inList(column: string, values: readonly string[]): SqlPart {
  let length = 1;
  while (length < values.length) length *= 2;
  const padded = [...values, ...Array<string>(length - values.length).fill(values.at(-1) ?? "")];
  return { text: `${column} IN (${padded.map(() => "?").join(", ")})`, values: padded };
}

export function orderBy({ keys, seq, isSeqDescending }: SortPlan): SqlPart {
  const terms = keys.map((key) => sqlPart`${key} ${direction(key.isDescending)}`);
  return separated([...terms, plain(`${seq} ${direction(isSeqDescending)}`)], ", ");
}

/** A row, which becomes a record in place. */
export interface Row {
  [field: string]: JsonValue;
}

/** Takes values that the caller may not read out of a row. The first step with every row. */
export function concealValues({ guards }: SelectionPlan, row: Row): void {
  for (const { column, fields } of guards) {
    if (row[column] !== 1) for (const field of fields) delete row[field];
    delete row[column];
  }
}

/** Turns stored values into values of records, in place. */
export function decodeRows({ decoded }: SelectionPlan, rows: readonly Row[]): void {
  for (const field of decoded)
    for (const row of rows) {
      const value = row[field.name];
      if (typeof value === "number" || typeof value === "string") row[field.name] = decode(field, value);
    }
}

/** The records for rows, without expansions. The rows are used up. */
export function plainRecords(selection: SelectionPlan, rows: Row[]): Row[] {
  decodeRows(selection, rows);
  return selection.answered === null ? rows : rows.map((row) => shapeRecord(selection, row, null));
}

/** The record for a decoded row. @param expanded the expansions; null without any. */
export function shapeRecord({ answered }: SelectionPlan, row: Row, expanded: Row | null): Row {
  const record: Row = answered === null ? row : {};
  for (const [name, paths] of answered ?? []) {
    const value = row[name];
    // A concealed value.
    if (value === undefined) continue;
    record[name] = paths === null ? value : pick(value, paths);
  }
  if (expanded !== null) record["expand"] = expanded;
  return record;
}

/** The parts of a JSON value that lie on the given paths; a path that leads to nothing is left out. */
function pick(value: JsonValue, paths: readonly (readonly string[])[]): JsonValue {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const picked = Object.entries(value).flatMap(([name, inner]): [string, JsonValue][] => {
    const further = paths.filter((path) => path[0] === name).map((path) => path.slice(1));
    if (further.length === 0) return [];
    return [[name, further.some((path) => path.length === 0) ? inner : pick(inner, further)]];
  });
  // An assignment would lose a member called __proto__.
  return Object.fromEntries(picked);
}

/** The bytes that a row takes in an answer, at most. The row was not decoded yet. */
export function rowBytes(row: Row): number {
  let bytes = 2;
  for (const name in row) {
    const value = row[name];
    bytes += name.length + 4 + (typeof value === "string" ? textBytes(value) : 8);
  }
  return bytes;
}

/** A short text counts six bytes a character, the most that JSON takes for a character: its characters are not looked at. */
function textBytes(text: string): number {
  return text.length <= 40 ? text.length * 6 : Buffer.byteLength(JSON.stringify(text));
}
