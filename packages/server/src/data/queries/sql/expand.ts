/**
 * Expansions: the records beside records. A path takes the same few statements whatever the number of rows, so a page of
 * 1,000 records is no loop of 1,000 queries.
 */
import type { JsonValue } from "@socle/protocol";
import { AppError } from "../../../base/kernel/index.ts";
import { type SqlPart, sqlPart } from "../../expressions/index.ts";
import type { ExpansionPlan, PointerPlan, SelectionPlan } from "../plan.ts";
import { refuseParameter } from "../query-text.ts";
import {
  concealValues,
  conditionSql,
  decodeRows,
  inList,
  pointingTo,
  type Row,
  type Run,
  rowBytes,
  shapeRecord,
} from "./rows.ts";

/** Records that a backward path may bring. */
const maxRecords = 1_000;
/** Records that a forward path may name: a multiple field names many for each row. */
const maxTargets = 10_000;
/** The bytes that may be read, and that may be answered: a record that many point to is read once and answered often. */
const maxReadBytes = 8 * 1024 ** 2;
const maxAnswerBytes = 16 * 1024 ** 2;

type Target = NonNullable<ExpansionPlan["target"]>;
type BackwardTarget = Target & { readonly pointer: PointerPlan };

/** A record that is answered, or the value that a path brings, and the bytes, expansions included. */
interface Weighed<T extends JsonValue = JsonValue> {
  readonly value: T;
  readonly bytes: number;
}

type Expanded = (row: Row) => Weighed;

const nothing = { value: null, bytes: 4 } as const;

/** Makes the records of an answer, with the expansions. */
export class Expander {
  readonly #run: Run;
  #readBytes = 0;

  constructor(run: Run) {
    this.#run = run;
  }

  /** The records for some rows, in order. @throws AppError `bad_request` when paths bring too much. */
  records(selection: SelectionPlan, rows: Row[]): Row[] {
    const weighed = this.#weighed(selection, rows);
    let bytes = 0;
    for (const each of weighed) bytes += each.bytes;
    this.#run.refuseOnLoop(bytes);
    if (bytes > maxAnswerBytes) throw tooHeavy("the answer", maxAnswerBytes);
    return weighed.map(({ value }) => value);
  }

  #weighed(selection: SelectionPlan, rows: Row[]): Weighed<Row>[] {
    const weights = rows.map(rowBytes);
    decodeRows(selection, rows);
    const expansions = selection.expansions.map(({ name, field, target }) => {
      return { name, expanded: this.#expand(field, target, rows) };
    });
    return rows.map((row, i) => {
      const beside: Row = {};
      let bytes = weights[i] ?? 0;
      for (const { name, expanded } of expansions) {
        const each = expanded(row);
        beside[name] = each.value;
        bytes += each.bytes;
      }
      return { value: shapeRecord(selection, row, expansions.length === 0 ? null : beside), bytes };
    });
  }

  #expand(field: string, target: ExpansionPlan["target"], rows: readonly Row[]): Expanded {
    if (rows.length === 0 || target === null) return () => nothing;
    const { pointer } = target;
    return pointer === null ? this.#forward(field, target, rows) : this.#backward(field, { ...target, pointer }, rows);
  }

  #forward(field: string, target: Target, rows: readonly Row[]): Expanded {
    const ids = [...new Set(rows.flatMap((row) => idsIn(row[field])))];
    if (ids.length > maxTargets)
      throw refuseParameter("expand", `"${field}" names more than ${maxTargets} records; ask for fewer at a time`);
    const found = ids.length === 0 ? [] : this.#read(target, inList(`${target.selection.table}.id`, ids), "");
    const keys = found.map((row) => row["id"]);
    const weighed = this.#weighed(target.selection, found);
    const byId = new Map(weighed.map((each, i) => [keys[i], each]));
    return (row) => {
      const value = row[field] ?? null;
      return Array.isArray(value) ? several(value.flatMap((id) => byId.get(id) ?? [])) : (byId.get(value) ?? nothing);
    };
  }

  /** The newest first. Of too many records, each row gets the newest, and no row gets more than a fair share. */
  #backward(field: string, target: BackwardTarget, rows: readonly Row[]): Expanded {
    const ids = rows.flatMap(({ id }) => (typeof id === "string" ? [id] : []));
    const { pointer } = target;
    const every = pointingTo(target.selection.table, pointer, ids);
    const matches = this.#isTooMany(target, every) ? this.#newest(target, ids) : every;
    const found = this.#read(target, matches, ` ORDER BY ${target.newestFirst}`);
    const parents = found.map(({ [field]: stored }) => {
      const isJson = pointer.items !== null && typeof stored === "string";
      return idsIn(isJson ? (JSON.parse(stored) as JsonValue) : stored);
    });
    const byParent = new Map<string, Weighed[]>();
    for (const [i, each] of this.#weighed(target.selection, found).entries())
      for (const parent of parents[i] ?? []) byParent.getOrInsert(parent, []).push(each);
    return ({ id }) => several(byParent.get(String(id)) ?? []);
  }

  #isTooMany(target: Target, matches: SqlPart): boolean {
    const found = readable(target, matches);
    const rows = `SELECT 1 FROM ${target.selection.table}`;
    const upTo = sqlPart`SELECT count(*) AS n FROM (${rows}${found} LIMIT ${maxRecords + 1})`;
    return this.#run.count(upTo) > maxRecords;
  }

  /** The newest of each parent, so many that all together are not too many. */
  #newest(target: BackwardTarget, ids: readonly string[]): SqlPart {
    const counts = this.#run.all<{ n: number }>(countEachSql(target, ids)).map(({ n }) => n);
    return newestOfEach(target, { ids, limit: shareOf(counts, maxRecords) });
  }

  #read(target: Target, matches: SqlPart, order: string): Row[] {
    const { columns, table } = target.selection;
    const statement = sqlPart`SELECT ${columns} FROM ${table}${readable(target, matches)}${order}`;
    return this.#run.some<Row>(statement, (row) => {
      concealValues(target.selection, row);
      this.#readBytes += rowBytes(row);
      this.#run.refuseOnLoop(this.#readBytes);
      if (this.#readBytes > maxReadBytes) throw tooHeavy(`its expansions, up to "${target.name}",`, maxReadBytes);
      return false;
    });
  }
}

function idsIn(value: JsonValue | undefined): string[] {
  return [value].flat().filter((id) => typeof id === "string");
}

/** An array of records. */
function several(records: readonly Weighed[]): Weighed {
  let bytes = 2;
  for (const each of records) bytes += each.bytes;
  return { value: records.map(({ value }) => value), bytes };
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

/** The matching records of a target that the caller may read, as SQL from WHERE on. */
function readable({ selection: { table }, condition }: Target, matches: SqlPart): SqlPart {
  // Unary + keeps SQLite from using an index of the condition, which would scan all records that the caller owns.
  const isReadable = condition === null ? null : { ...condition, text: `+(${condition.text})` };
  return conditionSql(table, [matches, isReadable]);
}

/** The number of records for each parent, as `n`. */
function countEachSql(target: BackwardTarget, ids: readonly string[]): SqlPart {
  const { table } = target.selection;
  const { column, items } = target.pointer;
  const [parent, tables] = items === null ? [column, table] : ["_item.value", `${table}, ${items} _item`];
  const among = inList(parent, ids);
  const matches = items === null ? among : { ...among, text: `${among.text} AND _item.record = ${table}._seq` };
  return sqlPart`SELECT count(*) AS n FROM ${tables}${readable(target, matches)} GROUP BY ${parent}`;
}

/** The condition that a record is among the newest of a parent. @param limit records for each parent. */
function newestOfEach(target: BackwardTarget, { ids, limit }: { ids: readonly string[]; limit: number }): SqlPart {
  const { table } = target.selection;
  const { column, items } = target.pointer;
  const text =
    items === null
      ? `${column} = _parents.column1`
      : `${table}._seq IN (SELECT record FROM ${items} WHERE value = _parents.column1)`;
  const parents = { text: `(VALUES ${ids.map(() => "(?)").join(", ")}) _parents`, values: ids };
  const own = readable(target, { text, values: [] });
  const newest = sqlPart`SELECT _seq FROM ${table}${own} ORDER BY ${target.newestFirst} LIMIT ${limit}`;
  return sqlPart`${table}._seq IN (SELECT _each._seq FROM ${parents}, ${table} _each WHERE _each._seq IN (${newest}))`;
}
