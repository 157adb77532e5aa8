/** The statements that find the records of a column that hold the id of a file. */
import type { EvaluationContext } from "../../expressions/index.ts";
import type { PointerPlan, SqlPart } from "../plan.ts";
import { bind, conditionSql, type Run, type Statement } from "./statement.ts";

/** Records of a column that `newestUseSql` looks at. */
const maxNewest = 100;

interface Uses extends PointerPlan {
  /** As SQL. */
  readonly table: string;
  readonly fileId: string;
}

function where(run: Run, { table, column, items, fileId }: Uses, condition: SqlPart | null): Statement {
  const holds = items === null ? `${column} = ?` : `${table}._seq IN (SELECT record FROM ${items} WHERE value = ?)`;
  const part = conditionSql(run, table, [{ text: holds, values: [fileId] }, condition]);
  return { sql: part.text, values: bind(part, run.context) };
}

/** The number of records, as `n`. */
export function countUsesSql(run: Run, uses: Uses): Statement {
  const { sql, values } = where(run, uses, null);
  return { sql: `SELECT count(*) AS n FROM ${uses.table}${sql}`, values };
}

/** The ids of records, newest first. */
export function usesSql(run: Run, uses: Uses, { limit, offset }: { limit: number; offset: number }): Statement {
  const { sql, values } = where(run, uses, null);
  return {
    sql: `SELECT id FROM ${uses.table}${sql} ORDER BY _seq DESC LIMIT ? OFFSET ?`,
    values: [...values, limit, offset],
  };
}

/** A row for a record among the newest that fulfils a condition and holds the id. The number of records is bounded: no stop probe. */
export function newestUseSql(
  context: EvaluationContext,
  { table, column, items, fileId }: Uses,
  condition: SqlPart | null,
): Statement {
  const newest =
    items === null
      ? `SELECT ${table}._seq FROM ${table} WHERE ${column} = ? ORDER BY ${table}._seq DESC LIMIT ${maxNewest}`
      : `SELECT record FROM ${items} WHERE value = ? ORDER BY record DESC LIMIT ${maxNewest}`;
  const part = conditionSql({ isProbed: false }, table, [
    { text: `${table}._seq IN (${newest})`, values: [fileId] },
    condition,
  ]);
  return { sql: `SELECT 1 FROM ${table}${part.text} LIMIT 1`, values: bind(part, context) };
}

/** A row for a record that fulfils a condition and holds the id. */
export function anyUseSql(run: Run, uses: Uses, condition: SqlPart | null): Statement {
  const { sql, values } = where(run, uses, condition);
  return { sql: `SELECT 1 FROM ${uses.table}${sql} LIMIT 1`, values };
}
