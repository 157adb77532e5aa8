/**
 * List queries: the parameters of a list, parsed and checked, and the plan by which the pages are read. Each feature of
 * a list is a separate file, which is entered only when a parameter asks for the feature: `sort.ts`, `search.ts`,
 * `sql/groups.ts`, `selection.ts` (`fields` and `expand`), and `cursor.ts`.
 *
 * The definition decides how pages are cut: when an index of the collection gives the order of a list, the part of the list behind a
 * position is a few ranges of this index, and otherwise a single condition with an order that SQLite makes.
 */

import { isView } from "@socle/protocol";
import { LIST_FILTER_BYTES } from "@socle/protocol/filter";
import { AppError, isTimeZone, quote } from "../../base/kernel/index.ts";
import { type Collection, tableIndexes } from "../collections/index.ts";
import {
  columnOf,
  type Expression,
  ExpressionError,
  type ExpressionSchema,
  isConstant,
  isInside,
  lookedUpColumn,
  looksInside,
  type Operand,
  type Path,
  parseExpression,
  type SqlOptions,
  separated,
} from "../expressions/index.ts";
import type { Decision } from "../permissions/index.ts";
import { hasVector } from "./nearest.ts";
import type { GroupsPlan, PagePlan, SearchPlan, SortPlan } from "./plan.ts";
import { type QueryParameter, type QueryText, queryParameters, refuseParameter } from "./query-text.ts";
import { type Dependencies, isForEverybody, type ReadScope, type Source, whereOf } from "./read-scope.ts";
import { matchOrder, parseSearchText } from "./search.ts";
import { parseSelection } from "./selection.ts";
import { keyPlans, nearestPlan, parseSort, type Sort } from "./sort.ts";
import { foundIn, parseGroups } from "./sql/groups.ts";

/** The bounds of a page, and the values without the parameter. */
const wholeNumbers = {
  limit: { min: 1, max: 1_000, usual: 1_000 },
  offset: { min: 0, max: Number.MAX_SAFE_INTEGER, usual: 0 },
} as const;

/** A query of a list: everything but the caller's id, the time, and the position of a page. */
export interface ListQuery {
  readonly collection: Collection;
  readonly text: QueryText;
  readonly filter: Expression | null;
  readonly sort: Sort;
  readonly plan: PagePlan | GroupsPlan;
  /** Whether the total is that of the whole collection, which is kept in memory. */
  readonly countsAll: boolean;
  /** The list that cursors belong to, but for the caller: no other list has the same text. */
  readonly cursorScope: string;
  /** The collections that the answer depends on, each with the caller's decision. */
  readonly entered: ReadonlyMap<Collection, Decision>;
  /** The definitions of which the query was made: see `Collections`. */
  readonly epoch: number;
  /** See `ReadScope`. */
  readonly hasVersion: boolean;
  /** Whether everybody may read all collections that the query enters. */
  readonly isPublic: boolean;
  /** For a live query: see `Dependencies`. */
  readonly dependencies: () => Dependencies;
}

/** The parameters of a query; null without any. @throws AppError `bad_request` for a parameter that stands twice. */
export function readQueryText(
  parameters: Iterable<readonly [string, string]>,
  known: readonly QueryParameter[] = queryParameters,
): QueryText | null {
  const found: { [name in QueryParameter]?: string } = {};
  const seen = new Set<QueryParameter>();
  for (const [given, value] of parameters) {
    const name = known.find((each) => each === given);
    if (name === undefined) continue;
    if (seen.has(name)) throw new AppError("bad_request", `"${name}" is there twice; give it once.`);
    seen.add(name);
    // A search for nothing is not a list of everything.
    if (value !== "" || name === "search") found[name] = value;
  }
  return seen.size > 0 ? found : null;
}

/** @throws AppError `bad_request` for anything but a whole number within the bounds. */
function readWhole(query: QueryText, name: keyof typeof wholeNumbers): number {
  const text = query[name];
  const { min, max, usual } = wholeNumbers[name];
  if (text === undefined) return usual;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max))
    throw refuseParameter(name, `it must be a whole number from ${min} to ${max}, not ${quote(text)}`);
  return value;
}

interface Listed {
  readonly collection: Collection;
  readonly text: QueryText;
  readonly scope: ReadScope;
  readonly source: Source;
  readonly schema: ExpressionSchema;
  /** The filter, and the condition under which the caller may read a record. */
  readonly conditions: readonly Expression[];
}

/**
 * @throws AppError `bad_request` with the reason why a parameter is refused; `unauthorized` or `forbidden` for
 * a filter or a sort that leads to something that the caller may not read.
 */
export function parseListQuery(collection: Collection, text: QueryText, scope: ReadScope): Omit<ListQuery, "epoch"> {
  const { name, createdAt } = collection;
  const schema = scope.schema(collection);
  const source = scope.source(collection);
  const { zone } = text;
  if (zone !== undefined && !isTimeZone(zone))
    throw refuseParameter("zone", `it must be the name of a time zone, such as Europe/Berlin, not ${quote(zone)}`);
  // The zone is for the filter alone: the rules of the conditions stay in UTC.
  const filtered = zone === undefined ? schema : { ...schema, zone };
  const filter = text.filter === undefined ? null : parseFilter(text.filter, filtered);
  if (filter !== null) scope.note(filter);
  const conditions = [source.condition, filter].filter((each) => each !== null);
  const listed: Listed = { collection, text, scope, source, schema, conditions };
  const isOfRecords = text.group === undefined && text.aggregate === undefined;
  const query = isOfRecords ? queryOfRecords(listed) : queryOfGroups(listed);
  // Everything is entered by now.
  const { entered, hasVersion } = scope;
  const isPublic = [...entered.keys()].every(isForEverybody);
  const inZone = zone === undefined ? [] : [zone];
  const scopes = [name, createdAt, text.sort, text.filter, text.search, ...query.cursorScope, ...inZone];
  const cursorScope = JSON.stringify(scopes);
  const dependencies = (): Dependencies => scope.dependencies();
  return { collection, text, filter, entered, hasVersion, isPublic, dependencies, ...query, cursorScope };
}

/** The parts of a query that differ between records and groups. */
interface QueryParts extends Pick<ListQuery, "sort" | "plan" | "countsAll"> {
  readonly cursorScope: readonly unknown[];
}

function queryOfRecords(listed: Listed): QueryParts {
  const { collection, text, scope, source, schema } = listed;
  const sort = parseSort(text.sort, collection, schema);
  const nearest = sort.keys.flatMap(({ operand }) => (operand.type === "nearest" ? [operand] : []));
  const conditions = [...listed.conditions, ...nearest.map(hasVector)];
  const [limit, offset] = [readWhole(text, "limit"), readWhole(text, "offset")];
  if (text.offset !== undefined && text.cursor !== undefined)
    throw refuseParameter("offset", 'it cannot stand beside "cursor", which says where the page begins');
  if (text.count !== undefined && text.count !== "exact")
    throw refuseParameter("count", `it must be exact, not ${quote(text.count)}`);
  const hasTotal = text.count === "exact";
  const isSelected = text.fields !== undefined || text.expand !== undefined;
  const use = indexUseOf(collection, conditions, sort);
  const options: SqlOptions = { isProbed: true, users: scope.users.table };
  const where = whereOf(conditions, source.table, options);
  const isAlone = text.sort === undefined && where === null;
  const isSearched = text.search !== undefined || text.snippet !== undefined;
  const search = isSearched ? parseSearchText(text, { collection, source, isAlone }) : null;
  const countsAll = hasTotal && conditions.length === 0 && !isSearched && !isView(collection.definition);
  const plan: PagePlan = {
    type: "records",
    search,
    selection: isSelected ? parseSelection(source, text, scope) : source.whole,
    where,
    isTried:
      !isSearched &&
      !conditions.some(looksInside) &&
      !sort.keys.some(({ operand }) => operand.type !== "nearest" && isInside(operand)),
    // An offset counts the records of the whole list, and not of a part.
    isLookedUp: use.isLookedUp && offset === 0,
    sort: { ...sortPlan(listed, sort, { search, options }), isIndexed: use.isOrdered && search === null },
    nearest: search === null ? nearestPlan(collection, source.table, sort) : null,
    limit,
    offset,
    isExact: text.offset !== undefined,
    isCounted: hasTotal && !countsAll,
  };
  // A cursor holds positions in the orders of values.
  const orders = sort.keys.flatMap(({ operand }) =>
    operand.type === "path" && operand.field.order !== undefined ? [operand.field.order.values] : [],
  );
  return {
    sort,
    plan,
    countsAll,
    cursorScope: [search?.weighed, ...orders],
  };
}

function sortPlan(
  { collection, text, source: { table } }: Listed,
  { keys, isSeqDescending }: Sort,
  { search, options }: { search: SearchPlan | null; options: SqlOptions },
): Omit<SortPlan, "isIndexed"> {
  if (search !== null && text.sort === undefined) {
    const seq = search.isAlone ? `${search.table}.rowid` : `${table}._seq`;
    return { keys: [matchOrder(search)], seq, isSeqDescending };
  }
  return {
    keys: keys.length === 0 ? [] : keyPlans(keys, collection, { table, options }),
    seq: `${table}._seq`,
    isSeqDescending,
  };
}

/** A query of groups, which always runs on a thread: SQLite reads all records that match. */
function queryOfGroups({ collection, text, scope, schema, source, conditions }: Listed): QueryParts {
  const { table } = source;
  const options: SqlOptions = { isProbed: true, users: scope.users.table };
  const where = whereOf(conditions, table, options);
  const search = parseSearchText({ ...text, snippet: undefined }, { collection, source, isAlone: false });
  const parts = [where, search && foundIn(search, table)].filter((part) => part !== null);
  const found = parts.length === 0 ? null : separated(parts, " AND ");
  const plan = parseGroups(text, {
    schema,
    table,
    options,
    where: found,
    limit: readWhole(text, "limit"),
    zone: text.zone,
  });
  const orders = plan.columns.map(({ texts }) => texts);
  return {
    sort: { keys: [], isSeqDescending: true },
    plan,
    countsAll: false,
    cursorScope: [text.group, text.aggregate, orders],
  };
}

function parseFilter(text: string, schema: ExpressionSchema): Expression {
  try {
    return parseExpression(text, schema, LIST_FILTER_BYTES);
  } catch (thrown) {
    if (!(thrown instanceof ExpressionError)) throw thrown;
    throw refuseParameter("filter", thrown.message);
  }
}

/** The use of indexes by a list. */
interface IndexUse {
  /** Whether an index, or the table, gives the order. */
  readonly isOrdered: boolean;
  /** Whether a condition leads to ids, as a rule by membership, and an index has a range in the order of the list for each id. */
  readonly isLookedUp: boolean;
}

/** The columns that a list has in common with an index. */
interface Compared {
  /** Compared with `=`, or with the ids that a condition leads to. */
  readonly equal: Set<string>;
  isLookedUp: boolean;
}

/** @param conditions that must all hold. */
function indexUseOf(collection: Collection, conditions: readonly Expression[], sort: Sort): IndexUse {
  const compared: Compared = { equal: new Set(), isLookedUp: false };
  for (const condition of conditions) compare(condition, compared);
  const { equal, isLookedUp } = compared;
  const sorted = columnsOfSort(sort)?.filter((column) => !equal.has(column));
  if (sorted === undefined) return { isOrdered: false, isLookedUp: false };
  const indexes = known.getOrInsertComputed(collection, indexesOf);
  const orders = [[], ...indexes].filter((columns) => givesOrder(columns, equal, sorted));
  const hasRanges = orders.some((columns) => columns.length === equal.size + sorted.length);
  return { isOrdered: orders.length > 0, isLookedUp: isLookedUp && hasRanges };
}

/** The columns of the indexes of collections, looked up once for a definition. */
const known = new WeakMap<Collection, readonly (readonly string[])[]>();

function indexesOf(collection: Collection): readonly (readonly string[])[] {
  return [["id"], ...tableIndexes(collection).map(({ columns }) => columns)];
}

/** Whether an index has some of the equal columns, then the sorted columns and nothing more: rows with the same key follow `_seq`. */
function givesOrder(columns: readonly string[], equal: ReadonlySet<string>, sorted: readonly string[]): boolean {
  const start = columns.length - sorted.length;
  return (
    start >= 0 &&
    columns.slice(0, start).every((column) => equal.has(column)) &&
    sorted.every((column, i) => columns[start + i] === column)
  );
}

/** The columns of an order that an index can give: own fields, all in the direction of the order of creation. */
function columnsOfSort({ keys, isSeqDescending }: Sort): string[] | null {
  const columns: string[] = [];
  for (const { operand, isDescending } of keys) {
    if (operand.type === "nearest" || !isOwnColumn(operand) || isDescending !== isSeqDescending) return null;
    columns.push(columnOf(operand));
  }
  return columns;
}

/** Notes the columns that a condition compares. */
function compare(condition: Expression, compared: Compared): void {
  if (condition.type === "and") for (const item of condition.items) compare(item, compared);
  const column = condition.type === "some" ? lookedUpColumn(condition) : comparedColumn(condition);
  if (column === null) return;
  compared.equal.add(column);
  compared.isLookedUp ||= condition.type === "some";
}

/** The column that a condition compares with a constant by `=`. */
function comparedColumn(condition: Expression): string | null {
  if (condition.type !== "compare" || condition.operator !== "=") return null;
  const { left, right } = condition;
  const path = isOwnColumn(left) ? left : isOwnColumn(right) ? right : null;
  // SQLite computes a function of a field, as lower(name), for each row.
  return path !== null && isConstant(path === left ? right : left) ? columnOf(path) : null;
}

function isOwnColumn(operand: Operand): operand is Path {
  return operand.type === "path" && operand.hops.length === 0 && operand.valueType !== "json";
}
