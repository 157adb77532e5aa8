/** The statements of an expansion: the records of a target that rows point to, or that point to rows. */
import type { PointerPlan, SqlPart } from "../plan.ts";
import { bind, conditionSql, type Run, type Statement } from "./statement.ts";

/** Matching records of a target that the caller may read. */
export interface ExpansionSource {
  /** As SQL. */
  readonly table: string;
  readonly matches: SqlPart;
  /** The condition under which the caller may read a record; null for every record. */
  readonly condition: SqlPart | null;
}

function where(run: Run, { table, matches, condition }: ExpansionSource): SqlPart {
  // Unary + keeps SQLite from using an index of the condition, which would scan all records that the caller owns.
  const readable = condition === null ? null : { ...condition, text: `+(${condition.text})` };
  return conditionSql(run, table, [matches, readable]);
}

/** The number of records, as `n`, counted up to `limit`. */
export function countUpToSql(run: Run, source: ExpansionSource, limit: number): Statement {
  const condition = where(run, source);
  return {
    sql: `SELECT count(*) AS n FROM (SELECT 1 FROM ${source.table}${condition.text} LIMIT ${limit})`,
    values: bind(condition, run.context),
  };
}

/** The records that point to parents. */
interface Pointing extends Omit<ExpansionSource, "matches"> {
  readonly pointer: PointerPlan;
  /** The ids of the parents. */
  readonly ids: readonly string[];
}

/** The condition that a record points to a parent. The index of the pointer, or the table of its items, finds the records. */
export function pointingTo(table: string, { column, items }: PointerPlan, ids: readonly string[]): SqlPart {
  if (items === null) return inList(column, ids);
  const { text, values } = inList("value", ids);
  return { text: `${table}._seq IN (SELECT record FROM ${items} WHERE ${text})`, values };
}

/** The number of records for each parent, as `n`. */
export function countEachSql(run: Run, { table, condition, pointer, ids }: Pointing): Statement {
  const { column, items } = pointer;
  const [parent, tables] = items === null ? [column, table] : ["_item.value", `${table}, ${items} _item`];
  const among = inList(parent, ids);
  const matches = items === null ? among : { ...among, text: `${among.text} AND _item.record = ${table}._seq` };
  const part = where(run, { table, matches, condition });
  return {
    sql: `SELECT count(*) AS n FROM ${tables}${part.text} GROUP BY ${parent}`,
    values: bind(part, run.context),
  };
}

/** The condition that a record is among the newest of a parent. @param limit records for each. */
export function newestOfEach(run: Run, { table, condition, pointer, ids }: Pointing, limit: number): SqlPart {
  const { column, items } = pointer;
  const text =
    items === null
      ? `${column} = _parents.column1`
      : `${table}._seq IN (SELECT record FROM ${items} WHERE value = _parents.column1)`;
  const matches = { text, values: [] };
  const ofParent = where(run, { table, matches, condition });
  const newest = `SELECT _seq FROM ${table}${ofParent.text} ORDER BY _seq DESC LIMIT ${limit}`;
  const parents = `(VALUES ${ids.map(() => "(?)").join(", ")}) _parents`;
  return {
    text: `${table}._seq IN (SELECT _each._seq FROM ${parents}, ${table} _each WHERE _each._seq IN (${newest}))`,
    values: [...ids, ...ofParent.values],
  };
}

/** The records of a target. @param form their columns, and an ORDER BY, or nothing. */
export function targetSql(run: Run, source: ExpansionSource, form: { columns: SqlPart; order: string }): Statement {
  const condition = where(run, source);
  return {
    sql: `SELECT ${form.columns.text} FROM ${source.table}${condition.text}${form.order}`,
    values: [...bind(form.columns, run.context), ...bind(condition, run.context)],
  };
}

/** The condition that a column has a value of a list. The last value is repeated up to a power of two, so that statements are reused. */
export function inList(column: string, values: readonly string[]): SqlPart {
  let length = 1;
  while (length < values.length) length *= 2;
  const last = values.at(-1) ?? "";
  const all = [...values, ...Array.from({ length: length - values.length }, () => last)];
  return { text: `${column} IN (${all.map(() => "?").join(", ")})`, values: all };
}
