/** The statements of an expansion: the records of one target that some rows point to, or that point to them. */
import type { SqlPart } from "../plan.ts";
import { bind, conditionSql, type Run, type Statement } from "./statement.ts";

/** Records of a target: those that match, and that the caller may read. */
export interface Source {
  /** As SQL. */
  readonly table: string;
  readonly matches: SqlPart;
  /** The condition under which the caller may read a record; null for none. */
  readonly condition: SqlPart | null;
}

function where(run: Run, { table, matches, condition }: Source): SqlPart {
  // Unary + keeps SQLite from using an index of the condition, which would scan all records that the caller owns.
  const readable = condition === null ? null : { ...condition, text: `+(${condition.text})` };
  return conditionSql(run, table, [matches, readable]);
}

/** The number of records, as `n`; it is not counted beyond `limit`. */
export function countUpToSql(run: Run, source: Source, limit: number): Statement {
  const condition = where(run, source);
  return {
    sql: `SELECT count(*) AS n FROM (SELECT 1 FROM ${source.table}${condition.text} LIMIT ${limit})`,
    values: bind(condition, run.context),
  };
}

/** The number of records for each value of a column, as `n`. */
export function countEachSql(run: Run, source: Source, column: string): Statement {
  const condition = where(run, source);
  return {
    sql: `SELECT count(*) AS n FROM ${source.table}${condition.text} GROUP BY ${column}`,
    values: bind(condition, run.context),
  };
}

interface Newest {
  readonly target: {
    readonly selection: { readonly table: string };
    readonly condition: SqlPart | null;
    readonly pointer: string | null;
  };
  /** The ids of the parents. */
  readonly ids: readonly string[];
  /** Records for each parent. */
  readonly limit: number;
}

/** The condition that a record is among the newest of its parent, found by the index of the pointer. */
export function newestOfEach(run: Run, { target, ids, limit }: Newest): SqlPart {
  const { selection, condition, pointer } = target;
  const { table } = selection;
  const matches = { text: `${pointer ?? ""} = _parents.column1`, values: [] };
  const ofParent = where(run, { table, matches, condition });
  const newest = `SELECT _seq FROM ${table}${ofParent.text} ORDER BY _seq DESC LIMIT ${limit}`;
  const parents = `(VALUES ${ids.map(() => "(?)").join(", ")}) _parents`;
  return {
    text: `${table}._seq IN (SELECT _each._seq FROM ${parents}, ${table} _each WHERE _each._seq IN (${newest}))`,
    values: [...ids, ...ofParent.values],
  };
}

/** The records of a target. @param form their columns, and an ORDER BY, or nothing. */
export function targetSql(run: Run, source: Source, form: { columns: SqlPart; order: string }): Statement {
  const condition = where(run, source);
  return {
    sql: `SELECT ${form.columns.text} FROM ${source.table}${condition.text}${form.order}`,
    values: [...bind(form.columns, run.context), ...bind(condition, run.context)],
  };
}

/** A column is one of some values. The list has one of few lengths, so that statements are met again: the last is repeated. */
export function inList(column: string, values: readonly string[]): SqlPart {
  let length = 1;
  while (length < values.length) length *= 2;
  const last = values.at(-1) ?? "";
  const all = [...values, ...Array.from({ length: length - values.length }, () => last)];
  return { text: `${column} IN (${all.map(() => "?").join(", ")})`, values: all };
}
