/** The statements of a page of records: the page itself, the position of its cursor, the count, and a single record. */
import type { PagePlan, RecordInput, SqlPart } from "../plan.ts";
import { keyNames, orderBy, positionColumns, positionOrder } from "./keyset.ts";
import { bind, conditionSql, type Run, type Statement } from "./statement.ts";

/** The owner and the time of the last change among the columns of a record. No field begins with an underscore. */
export const ownerAlias = "_owner";
export const updatedAlias = "_updated";

/** The column of a text for a snippet. */
export function snippetAlias(position: number): string {
  return `_snippet${position}`;
}

/** The records of a segment behind a position; null for the first page. */
export function pageSql(
  run: Run,
  plan: PagePlan,
  { segment, limit }: { segment: SqlPart | null; limit: number },
): Statement {
  const { selection, where, sort, offset, search } = plan;
  // A literal is measurably quicker than a parameter.
  const extent = offset === 0 ? `LIMIT ${limit}` : `LIMIT ${limit} OFFSET ${offset}`;
  const order = sort.keys.length === 0 ? newestFirst(sort) : orderBy(sort);
  const isProbed = run.isProbed || plan.isLookedUp;
  const condition = conditionSql({ isProbed }, probedOf(plan), [matchOf(plan), where, segment]);
  if (search === null)
    return {
      sql: `SELECT ${selection.columns.text} FROM ${selection.table}${condition.text} ORDER BY ${order.text} ${extent}`,
      values: [selection.columns, condition, order].flatMap((part) => bind(part, run.context)),
    };
  // Positions are put in order without the columns of the records, which are read for the page alone.
  const found = matchesSql(plan, condition, extent);
  const texts = search.snippets.map(({ column }, i) => `, ${column} AS ${snippetAlias(i)}`);
  // A rank costs as much as the search: the rank is read with the page, for the cursor.
  texts.push(...["_seq", ...keyNames(sort)].map((name) => `, _found.${name}`));
  const records = `${selection.table} ON ${selection.table}._seq = _found._seq`;
  return {
    sql: `SELECT ${selection.columns.text}${texts.join("")} FROM (${found.text}) AS _found CROSS JOIN ${records} ORDER BY ${positionOrder(sort, "_found.")}`,
    values: [selection.columns, found].flatMap((part) => bind(part, run.context)),
  };
}

/** The order without sort keys. */
function newestFirst({ seq, isSeqDescending }: PagePlan["sort"]): SqlPart {
  return { text: `${seq} ${isSeqDescending ? "DESC" : "ASC"}`, values: [] };
}

/** The positions of the records that a search finds. */
function matchesSql(plan: PagePlan, condition: SqlPart, extent: string): SqlPart {
  const [positions, order] = [positionColumns(plan.sort), orderBy(plan.sort)];
  return {
    text: `SELECT ${positions.text} FROM ${fromOf(plan)}${condition.text} ORDER BY ${order.text} ${extent}`,
    values: [...positions.values, ...condition.values, ...order.values],
  };
}

/** The tables of a page. The matches of a search are read first, whatever the conditions on the records are. */
function fromOf({ selection: { table }, search }: PagePlan): string {
  if (search === null) return table;
  return search.isAlone ? search.table : `${search.table} CROSS JOIN ${table} ON ${table}._seq = ${search.table}.rowid`;
}

/** The table whose rows are looked at. */
function probedOf({ selection: { table }, search }: PagePlan): string {
  return search?.isAlone === true ? search.table : table;
}

function matchOf({ search }: PagePlan): SqlPart | null {
  return search === null ? null : { text: `${search.table} MATCH ?`, values: [search.match] };
}

/** The number of records that a plan finds, as `n`. */
export function countSql(run: Run, plan: PagePlan): Statement {
  const condition = conditionSql(run, probedOf(plan), [matchOf(plan), plan.where]);
  return { sql: `SELECT count(*) AS n FROM ${fromOf(plan)}${condition.text}`, values: bind(condition, run.context) };
}

/** The position of a record in the order of a plan. */
export function positionSql({ context }: Run, { selection: { table }, sort, search }: PagePlan, id: string): Statement {
  const columns = positionColumns(sort);
  // The record is found first, and then its rank.
  const from = search === null ? table : `${table} JOIN ${search.table} ON ${search.table}.rowid = ${table}._seq`;
  const match = search === null ? "" : `${search.table} MATCH ? AND `;
  return {
    sql: `SELECT ${columns.text} FROM ${from} WHERE ${match}${table}.id = ?`,
    values: [...bind(columns, context), ...(search === null ? [] : [search.match]), id],
  };
}

/** The `seq` of a record. */
export function seqSql(table: string): string {
  return `SELECT _seq AS seq FROM ${table} WHERE ${table}.id = ?`;
}

/** The last `seq` before an id. Ids rise with creation. */
export function seqBeforeSql(table: string): string {
  return `SELECT _seq AS seq FROM ${table} WHERE ${table}.id < ? ORDER BY ${table}.id DESC LIMIT 1`;
}

/** A record with its owner and the time of its last change. */
export function recordSql({ context }: Run, { selection: { columns, table }, id }: RecordInput): Statement {
  return {
    sql: `SELECT ${columns.text}, ${table}._owner AS ${ownerAlias}, ${table}.updatedAt AS ${updatedAlias} FROM ${table} WHERE ${table}.id = ?`,
    values: [...bind(columns, context), id],
  };
}
