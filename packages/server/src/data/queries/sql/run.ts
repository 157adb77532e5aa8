/**
 * Running a plan: the statements of a query, on the event loop or on a reader thread. All statements of a run read
 * the same snapshot. The answer is text, so that the thread does the work of serialising.
 */
import type { LongText } from "../../../base/kernel/index.ts";
import type { Reader, Value } from "../../../store/database/index.ts";
import { type SqlPart, sqlPart } from "../../expressions/index.ts";
import {
  allSegments,
  digestOf,
  keyNames,
  positionColumns,
  positionOf,
  positionOrder,
  type SortPosition,
  segmentsAfter,
} from "../cursor.ts";
import type {
  CursorPosition,
  PageInput,
  PageOutcome,
  PagePlan,
  QueryInput,
  RecordInput,
  SelectionPlan,
} from "../plan.ts";
import { refuseParameter } from "../query-text.ts";
import { snippetOf } from "../search.ts";
import { Expander } from "./expand.ts";
import { runFileShown, runFileUses } from "./file-uses.ts";
import { groupsSql, runGroups } from "./groups.ts";
import {
  concealValues,
  conditionSql,
  maxPageBytes,
  orderBy,
  plainRecords,
  type Row,
  Run,
  type RunPlace,
  rowBytes,
} from "./rows.ts";

interface PagePart {
  /** The records of a segment behind a position; null for the first page. */
  readonly segment: SqlPart | null;
  readonly limit: number;
  /** The hidden numbers of the records that the page may have, as JSON; null for all records. */
  readonly among?: string | null;
}

function pageSql(plan: PagePlan, { segment, limit, among = null }: PagePart): SqlPart {
  const { selection, sort, offset, search } = plan;
  // A literal is measurably quicker than a parameter.
  const extent = offset === 0 ? ` LIMIT ${limit}` : ` LIMIT ${limit} OFFSET ${offset}`;
  const records = recordsSql(plan, segment, among);
  const page = sqlPart`${records} ORDER BY ${orderBy(sort)}${extent}`;
  if (search === null) return sqlPart`SELECT ${selection.columns} FROM ${page}`;
  const texts = search.snippets.map(({ column }, i) => `, ${column} AS _snippet${i}`);
  // A rank costs as much as the search: the rank is read with the page, for the cursor.
  texts.push(...["_seq", ...keyNames(sort)].map((name) => `, _found.${name}`));
  // Positions are put in order without the columns of the records, which are read for the page alone.
  const found = sqlPart`(SELECT ${positionColumns(sort)} FROM ${page}) AS _found`;
  const joined = sqlPart`${found} CROSS JOIN ${selection.table} ON ${selection.table}._seq = _found._seq`;
  return sqlPart`SELECT ${selection.columns}${texts.join("")} FROM ${joined} ORDER BY ${positionOrder(sort, "_found.")}`;
}

/** The records of a list, or of a segment, as SQL behind FROM. The matches of a search are always read first. */
function recordsSql(plan: PagePlan, segment: SqlPart | null, among: string | null = null): SqlPart {
  const { where, search } = plan;
  const { table } = plan.selection;
  if (among !== null) {
    const given: SqlPart = { text: "(SELECT value AS seq FROM json_each(?)) _among", values: [among] };
    const joined = sqlPart`${given} CROSS JOIN ${table} ON ${table}._seq = _among.seq`;
    return sqlPart`${joined}${conditionSql(table, [where, segment])}`;
  }
  if (search === null) return sqlPart`${table}${conditionSql(table, [where, segment])}`;
  const matches: SqlPart = { text: `${search.table} MATCH ?`, values: [search.match] };
  const conditions = [matches, where, segment];
  if (search.isAlone) return sqlPart`${search.table}${conditionSql(search.table, conditions)}`;
  const record = `${table} ON ${table}._seq = ${search.table}.rowid`;
  return sqlPart`${search.table} CROSS JOIN ${record}${conditionSql(table, conditions)}`;
}

/** @throws AppError `bad_request` when a page that must not end early is too heavy, or expansions bring too much. */
function runPage(run: Run, plan: PagePlan, { position: cursor, vectorMemory }: PageInput): PageOutcome {
  const { limit, selection } = plan;
  const rows: Row[] = [];
  const isCut = readRows(run, { plan, cursor, vectorMemory }, rows);
  const hasMore = isCut || rows.length > limit;
  if (hasMore) rows.pop();
  const last = hasMore ? rows.at(-1) : undefined;
  const next = last === undefined ? null : nextOf(run, plan, last);
  const total = plan.isCounted ? run.count(sqlPart`SELECT count(*) AS n FROM ${recordsSql(plan, null)}`) : null;
  const snippets = takeSnippets(plan, rows);
  const records = recordsOf(run, selection, rows);
  const items = snippets === null ? records : records.map((record, i) => ({ ...record, snippet: snippets[i] }));
  return { items: JSON.stringify(items), next, total };
}

function recordsOf(run: Run, selection: SelectionPlan, rows: Row[]): Row[] {
  return selection.expansions.length === 0 ? plainRecords(selection, rows) : new Expander(run).records(selection, rows);
}

/** Reads the records of a page, and a record more. Answers whether the last record made the page too heavy. */
function readRows(
  run: Run,
  { plan, cursor, vectorMemory }: { plan: PagePlan; cursor: CursorPosition | null; vectorMemory: number },
  rows: Row[],
): boolean {
  let bytes = 0;
  let isCut = false;
  const isLast = (row: Row): boolean => {
    concealValues(plan.selection, row);
    bytes += rowBytes(row);
    run.refuseOnLoop(bytes);
    rows.push(row);
    isCut = bytes > maxPageBytes && rows.length > 1;
    return isCut;
  };
  // The parts of a first page make SQLite choose the index of the order.
  const whole = plan.isLookedUp && plan.sort.isIndexed ? allSegments(plan.sort) : [null];
  const position = cursor === null ? null : resolve(run, plan, cursor);
  const segments = position === null ? whole : segmentsAfter(plan.sort, position);
  const readAmong = (among: string | null): boolean => {
    rows.length = bytes = 0;
    for (const segment of segments) {
      run.some<Row>(pageSql(plan, { segment, limit: plan.limit + 1 - rows.length, among }), isLast);
      if (isCut || rows.length > plan.limit) return true;
    }
    return false;
  };
  // The nearest records come first: candidates that fill the page hold the whole page.
  const candidates = run.nearest(plan, { memory: vectorMemory, from: position?.values[0] });
  if (!candidates.some(readAmong)) readAmong(null);
  // A client that counts pages would miss the records that were left out.
  if (isCut && plan.isExact && rows.length <= plan.limit)
    throw refuseParameter(
      "limit",
      `this page is larger than ${maxPageBytes / 1024 ** 2} MiB; ask for fewer records, for less of each with "fields", or use "cursor"`,
    );
  return isCut;
}

/** The last record of a page, with the values that the list is sorted by: rows that are not decoded yet mostly have these values. */
function nextOf(run: Run, plan: PagePlan, row: Row): PageOutcome["next"] {
  const id = String(row["id"]);
  const columns = plan.search === null ? plan.sort.keys.map(({ field = "" }) => field) : keyNames(plan.sort);
  const values = columns.map((name) => row[name]);
  if (values.every(isValue)) return { id, seq: seqOf(run, plan, id), values };
  const position = readPosition(run, plan, id);
  return position === null ? null : { id, ...position };
}

function isValue(value: unknown): value is Value {
  return value === null || typeof value === "string" || typeof value === "number";
}

/**
 * Takes the positions and the texts of a search out of the rows, and cuts the snippets out of the texts; null without `snippet`.
 */
function takeSnippets({ search, sort }: PagePlan, rows: Row[]): { [field: string]: string | null }[] | null {
  if (search === null) return null;
  const names = ["_seq", ...keyNames(sort)];
  const all = rows.map((row) => {
    for (const name of names) delete row[name];
    const snippets: { [field: string]: string | null } = {};
    for (const [i, { field }] of search.snippets.entries()) {
      const text = row[`_snippet${i}`];
      delete row[`_snippet${i}`];
      snippets[field] = typeof text === "string" ? snippetOf(text, search.terms) : null;
    }
    return snippets;
  });
  return search.snippets.length === 0 ? null : all;
}

/**
 * The position of a cursor. Values that were too long for the cursor are read again, and so are the values of another order: since
 * the page before, the stored order may have ceased to be the order of `createdAt`.
 */
function resolve(run: Run, plan: PagePlan, { id, seq, values, digest }: CursorPosition): SortPosition {
  if (seq !== null && values?.length === plan.sort.keys.length) return { seq, values };
  const position = readPosition(run, plan, id);
  if (position === null || (digest !== null && digestOf(position.values) !== digest))
    throw refuseParameter("cursor", "the record that it stands at has changed or is gone; begin with the first page");
  return position;
}

function seqOf(run: Run, { selection: { table } }: PagePlan, id: string): number | null {
  const select = `SELECT _seq AS seq FROM ${table} WHERE ${table}.id = ?`;
  return run.first<{ seq: number }>({ text: select, values: [id] })?.seq ?? null;
}

function readPosition(run: Run, { selection: { table }, sort, search }: PagePlan, id: string): SortPosition | null {
  // The record is found first, and then the rank.
  const from = search === null ? table : `${table} JOIN ${search.table} ON ${search.table}.rowid = ${table}._seq`;
  const match = search === null ? "" : { text: `${search.table} MATCH ? AND `, values: [search.match] };
  const isRecord = { text: `${table}.id = ?`, values: [id] };
  const statement = sqlPart`SELECT ${positionColumns(sort)} FROM ${from} WHERE ${match}${isRecord}`;
  const row = run.first<{ [column: string]: Value }>(statement);
  return row === null ? null : positionOf(sort, row);
}

export interface RecordOutcome {
  readonly id: string;
  readonly updatedAt: string;
  readonly record: string | LongText;
  readonly owner: string | null;
}

/** Reads a record; null for an unknown id. The owner is read as well: a right may have ended while the query waited. */
function runRecord(run: Run, { selection, id }: RecordInput): RecordOutcome | null {
  const { columns, table } = selection;
  const isRecord: SqlPart = { text: `${table}.id = ?`, values: [id] };
  // No field begins with an underscore.
  const own = `${table}._owner AS _owner, ${table}.updatedAt AS _updated`;
  const found = run.first<Row>(sqlPart`SELECT ${columns}, ${own} FROM ${table} WHERE ${isRecord}`);
  if (found === null) return null;
  concealValues(selection, found);
  const { _owner: owner, _updated: updatedAt, ...row } = found;
  const record = JSON.stringify(recordsOf(run, selection, [row])[0] ?? null);
  return { id, updatedAt: String(updatedAt), record, owner: typeof owner === "string" ? owner : null };
}

/** An outcome, the duration of the run in milliseconds and, for a slow run, the steps of SQLite's plan. */
export interface Reported<T> {
  readonly outcome: T;
  readonly ms: number;
  readonly steps: readonly string[] | null;
}

/**
 * Runs an input. @param reader of a single snapshot. @throws TooMuchForLoop for an answer of many bytes, if `isOnLoop`.
 */
export function runQuery(reader: Reader, input: QueryInput, place: RunPlace): Reported<unknown> {
  const start = performance.now();
  const run = new Run(reader, input.context, { ...place, view: input.view });
  const outcome = outcomeOf(run, input);
  const ms = performance.now() - start;
  return { outcome, ms, steps: ms > input.slowMs ? stepsOf(run, input) : null };
}

function outcomeOf(run: Run, input: QueryInput): unknown {
  switch (input.type) {
    case "page":
      return input.plan.type === "groups"
        ? runGroups(run, input.plan, input.position)
        : runPage(run, input.plan, input);
    case "record":
      return runRecord(run, input);
    case "file uses":
      return runFileUses(run, input);
    case "file shown":
      return runFileShown(run, input);
  }
}

/** The steps by which SQLite reads the first page of a list. */
function stepsOf(run: Run, input: QueryInput): string[] | null {
  if (input.type !== "page") return null;
  const { plan } = input;
  const statement =
    plan.type === "groups" ? groupsSql(plan, null) : pageSql(plan, { segment: null, limit: plan.limit + 1 });
  return run.steps(statement);
}
