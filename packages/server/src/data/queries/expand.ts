/**
 * Expansions: the records beside records. A path takes the same few statements whatever the number of rows, so a page of
 * 1,000 records is no loop of 1,000 queries.
 */
import type { JsonValue } from "@socle/protocol";
import { AppError } from "../../base/kernel/index.ts";
import type { Reader } from "../../store/database/index.ts";
import type { ExpansionPlan, PointerPlan, SelectionPlan, SqlPart } from "./plan.ts";
import { refuseParameter } from "./query-text.ts";
import { concealValues, decodeRows, type Row, rowBytes, shapeRecord } from "./shape.ts";
import {
  countEachSql,
  countUpToSql,
  type ExpansionSource,
  inList,
  newestOfEach,
  pointingTo,
  targetSql,
} from "./sql/expansion.ts";
import { type Run, refuseOnLoop } from "./sql/statement.ts";

/** Records that a backward path may bring. */
const maxRecords = 1_000;
/** Records that a forward path may name: a multiple field names many for each row. */
const maxTargets = 10_000;
/** The bytes that may be read, and that may be answered: a record that many point to is read once and answered often. */
const maxReadBytes = 8 * 1024 ** 2;
const maxAnswerBytes = 16 * 1024 ** 2;

type Target = NonNullable<ExpansionPlan["target"]>;

/** A record that is answered, and its bytes, expansions included. */
interface Weighed {
  readonly record: Row;
  readonly bytes: number;
}

/** The value that a path brings, and its bytes. */
interface Brought {
  readonly value: Row[string];
  readonly bytes: number;
}

type Expanded = (row: Row) => Brought;

const nothing = { value: null, bytes: 4 } as const;

/** Makes the records of an answer, with their expansions. */
export class Expander {
  readonly #run: Run;
  readonly #reader: Reader;
  #readBytes = 0;

  constructor(run: Run) {
    this.#run = run;
    this.#reader = run.reader;
  }

  /**
   * The records for some rows, in their order.
   * @throws AppError `bad_request` when paths bring too much.
   */
  records(selection: SelectionPlan, rows: Row[]): Row[] {
    const weighed = this.#weighed(selection, rows);
    let bytes = 0;
    for (const each of weighed) bytes += each.bytes;
    refuseOnLoop(this.#run, bytes);
    if (bytes > maxAnswerBytes) throw tooHeavy("the answer", maxAnswerBytes);
    return weighed.map(({ record }) => record);
  }

  #weighed(selection: SelectionPlan, rows: Row[]): Weighed[] {
    const { expansions } = selection;
    const weights = rows.map(rowBytes);
    decodeRows(selection, rows);
    if (expansions.length === 0)
      return rows.map((row, i) => ({ record: shapeRecord(selection, row, null), bytes: weights[i] ?? 0 }));
    const beside: Row[] = rows.map(() => ({}));
    for (const expansion of expansions) {
      const expanded = this.#expand(expansion, rows);
      for (const [i, row] of rows.entries()) {
        const { value, bytes } = expanded(row);
        weights[i] = (weights[i] ?? 0) + bytes;
        const into = beside[i];
        if (into !== undefined) into[expansion.name] = value;
      }
    }
    return rows.map((row, i) => ({ record: shapeRecord(selection, row, beside[i] ?? null), bytes: weights[i] ?? 0 }));
  }

  #expand({ direction, field, target }: ExpansionPlan, rows: readonly Row[]): Expanded {
    if (rows.length === 0 || target === null) return () => nothing;
    return direction === "forward" ? this.#forward(field, target, rows) : this.#backward(field, target, rows);
  }

  #forward(field: string, target: Target, rows: readonly Row[]): Expanded {
    const ids = [...new Set(rows.flatMap((row) => idsIn(row[field])))];
    if (ids.length > maxTargets)
      throw refuseParameter("expand", `"${field}" names more than ${maxTargets} records; ask for fewer at a time`);
    const found = ids.length === 0 ? [] : this.#read(target, inList(`${target.selection.table}.id`, ids), "");
    const keys = found.map((row) => row["id"]);
    const weighed = this.#weighed(target.selection, found);
    const byId = new Map(weighed.map(({ record, bytes }, i) => [keys[i], { value: record, bytes }]));
    return (row) => {
      const value = row[field] ?? null;
      return Array.isArray(value) ? several(value.flatMap((id) => byId.get(id) ?? [])) : (byId.get(value) ?? nothing);
    };
  }

  /** The newest first. Of too many records, each row gets its newest, and no row gets more than its share. */
  #backward(field: string, target: Target, rows: readonly Row[]): Expanded {
    const ids = rows.flatMap(({ id }) => (typeof id === "string" ? [id] : []));
    const pointer = pointerOf(target);
    const all = pointingTo(target.selection.table, pointer, ids);
    const found = this.#read(
      target,
      this.#isTooMany(target, all) ? this.#newest(target, ids) : all,
      " ORDER BY _seq DESC",
    );
    const parents = found.map((row) => idsIn(pointer.items === null ? row[field] : storedItems(row[field])));
    const byParent = new Map<string, Brought[]>();
    for (const [i, { record, bytes }] of this.#weighed(target.selection, found).entries())
      for (const parent of parents[i] ?? []) {
        const own = byParent.get(parent) ?? [];
        if (own.length === 0) byParent.set(parent, own);
        own.push({ value: record, bytes });
      }
    return ({ id }) => several(byParent.get(String(id)) ?? []);
  }

  #isTooMany(target: Target, matches: SqlPart): boolean {
    const { sql, values } = countUpToSql(this.#run, sourceOf(target, matches), maxRecords + 1);
    return (this.#reader.get<{ n: number }>(sql, ...values)?.n ?? 0) > maxRecords;
  }

  /** The newest of each parent, so many that all together are not too many. */
  #newest(target: Target, ids: readonly string[]): SqlPart {
    const { selection, condition } = target;
    const source = { table: selection.table, condition, pointer: pointerOf(target), ids };
    const { sql, values } = countEachSql(this.#run, source);
    const counts = this.#reader.all<{ n: number }>(sql, ...values).map(({ n }) => n);
    return newestOfEach(this.#run, source, shareOf(counts, maxRecords));
  }

  #read(target: Target, matches: SqlPart, order: string): Row[] {
    const statement = targetSql(this.#run, sourceOf(target, matches), { columns: target.selection.columns, order });
    return this.#reader.some<Row>(statement, (row) => {
      concealValues(target.selection, row);
      this.#readBytes += rowBytes(row);
      refuseOnLoop(this.#run, this.#readBytes);
      if (this.#readBytes > maxReadBytes) throw tooHeavy(`what it brings, up to "${target.name}",`, maxReadBytes);
      return false;
    });
  }
}

/** The ids that a field holds. */
function idsIn(value: JsonValue | undefined): string[] {
  return [value].flat().filter((id) => typeof id === "string");
}

/** The items of a stored multiple field; null for a field that the caller may not read. */
function storedItems(stored: JsonValue | undefined): JsonValue {
  // The text was written by JSON.stringify.
  return typeof stored === "string" ? (JSON.parse(stored) as JsonValue) : null;
}

/** An array of records. */
function several(records: readonly Brought[]): Brought {
  let bytes = 2;
  for (const each of records) bytes += each.bytes;
  return { value: records.map(({ value }) => value), bytes };
}

function pointerOf({ pointer }: Target): PointerPlan {
  if (pointer === null) throw new Error("A forward path has no pointer");
  return pointer;
}

function sourceOf({ selection, condition }: Target, matches: SqlPart): ExpansionSource {
  return { table: selection.table, matches, condition };
}

/** The largest share with which all rows together have no more than `total`; at least 1. */
function shareOf(counts: readonly number[], total: number): number {
  let [left, share] = [total, 0];
  const ascending = [...counts].sort((a, b) => a - b);
  for (const [i, count] of ascending.entries()) {
    const others = ascending.length - i;
    if ((count - share) * others > left) return Math.max(1, share + Math.floor(left / others));
    left -= (count - share) * others;
    share = count;
  }
  return Math.max(1, share);
}

function tooHeavy(subject: string, bytes: number): AppError {
  const advice = 'ask for fewer records, or for less of each with "fields"';
  return new AppError("bad_request", `"expand": ${subject} is larger than ${bytes / 1024 ** 2} MiB; ${advice}.`);
}
