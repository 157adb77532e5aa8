/**
 * List queries: the parameters of a list, parsed and checked, and the plan by which the pages are read. Each feature of
 * a list is a separate file, which is entered only when a parameter asks for the feature: `sort.ts`, `search.ts`,
 * `sql/groups.ts`, `selection.ts` (`fields` and `expand`), and `cursor.ts`.
 *
 * The definition decides whether a single index answers a list: all conditions of the list are comparisons of own fields with
 * constants, and the index holds the fields that are compared for equality, then the fields of the order, and nothing more. SQLite then reads a single range of the
 * index, in order, and no row in vain: the size of the page bounds the work, and the list runs on the event loop.
 *
 * A rule by membership, as `team.members(team)[user = @user.id]`, leads from the caller's records to the ids that a field may hold. An
 * index that answers the list for one id has a range for each id. SQLite reads a page of each range at most, so the
 * caller's memberships bound the work, and the list is tried on the event loop with a bound on the rows.
 */

import { AppError, quote } from "../../base/kernel/index.ts";
import { type Collection, type TableIndex, tableIndexes } from "../collections/index.ts";
import {
  columnOf,
  type Expression,
  ExpressionError,
  type ExpressionSchema,
  isConstant,
  isNull,
  lookedUpColumn,
  type Operand,
  type Path,
  parseExpression,
  type SqlOptions,
  separated,
} from "../expressions/index.ts";
import type { Decision } from "../permissions/index.ts";
import type { GroupsPlan, PagePlan, SearchPlan, SortPlan } from "./plan.ts";
import { type QueryParameter, type QueryText, queryParameters, refuseParameter } from "./query-text.ts";
import { type Dependencies, isForEverybody, type ReadScope, type Source, whereOf } from "./read-scope.ts";
import { matchOrder, parseSearchText } from "./search.ts";
import { parseSelection } from "./selection.ts";
import { keyPlans, newestFirst, parseSort, type Sort } from "./sort.ts";
import { foundIn, parseGroups } from "./sql/groups.ts";

/** The bounds of a page, and the values without the parameter. */
const wholeNumbers = {
  limit: { min: 1, max: 1_000, usual: 1_000 },
  offset: { min: 0, max: Number.MAX_SAFE_INTEGER, usual: 0 },
} as const;
/** A page of more records is read on a thread. */
const maxLoopLimit = 200;
/** Records that may be skipped on the event loop. */
const maxOffset = 1_000;

/** A query of a list: everything but the caller's id, the time, and the position of a page. */
export interface ListQuery {
  readonly collection: Collection;
  readonly text: QueryText;
  readonly filter: Expression | null;
  readonly sort: Sort;
  readonly plan: PagePlan | GroupsPlan;
  readonly site: "event-loop" | "thread";
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
  const filter = text.filter === undefined ? null : parseFilter(text.filter, schema);
  if (filter !== null) scope.note(filter);
  const conditions = [source.condition, filter].filter((each) => each !== null);
  const listed: Listed = { collection, text, scope, source, schema, conditions };
  const isOfRecords = text.group === undefined && text.aggregate === undefined;
  const query = isOfRecords ? queryOfRecords(listed) : queryOfGroups(listed);
  // Everything is entered by now.
  const { entered, hasVersion } = scope;
  const isPublic = [...entered.keys()].every(isForEverybody);
  const cursorScope = JSON.stringify([name, createdAt, text.sort, text.filter, text.search, ...query.cursorScope]);
  const dependencies = (): Dependencies => scope.dependencies();
  return { collection, text, filter, entered, hasVersion, isPublic, dependencies, ...query, cursorScope };
}

/** The parts of a query that differ between records and groups. */
interface QueryParts extends Pick<ListQuery, "sort" | "plan" | "site" | "countsAll"> {
  readonly cursorScope: readonly unknown[];
}

function queryOfRecords(listed: Listed): QueryParts {
  const { collection, text, scope, source, schema, conditions } = listed;
  const sort = text.sort === undefined ? newestFirst : parseSort(text.sort, collection, schema);
  const [limit, offset] = [readWhole(text, "limit"), readWhole(text, "offset")];
  if (text.offset !== undefined && text.cursor !== undefined)
    throw refuseParameter("offset", 'it cannot stand beside "cursor", which says where the page begins');
  if (text.count !== undefined && text.count !== "exact")
    throw refuseParameter("count", `it must be exact, not ${quote(text.count)}`);
  const hasTotal = text.count === "exact";
  const isSelected = text.fields !== undefined || text.expand !== undefined;
  const selected = isSelected
    ? parseSelection(source, text, scope)
    : { plan: source.whole, leadsToMany: false, isGuarded: source.conditional.size > 0 };
  const use = indexUseOf(collection, conditions, { sort, offset });
  const isSmall = limit <= maxLoopLimit && !selected.leadsToMany && !selected.isGuarded;
  const isOnLoop = text.search === undefined && use.isBounded && isSmall && !(hasTotal && conditions.length > 0);
  const options: SqlOptions = { isProbed: !isOnLoop || use.isLookedUp, users: scope.users.table };
  const where = whereOf(conditions, source.table, options);
  const isAlone = text.sort === undefined && where === null;
  const isSearched = text.search !== undefined || text.snippet !== undefined;
  const search = isSearched ? parseSearchText(text, { collection, source, isAlone }) : null;
  const plan: PagePlan = {
    type: "records",
    search,
    selection: selected.plan,
    where,
    isLookedUp: use.isLookedUp,
    sort: { ...sortPlan(listed, sort, { search, options }), isIndexed: use.isOrdered && search === null },
    limit,
    offset,
    isExact: text.offset !== undefined,
    isCounted: hasTotal && !isOnLoop,
  };
  // A cursor holds positions in the orders of values.
  const orders = sort.keys.flatMap(({ path }) => (path.field.order === undefined ? [] : [path.field.order.values]));
  return {
    sort,
    plan,
    site: isOnLoop ? "event-loop" : "thread",
    countsAll: hasTotal && isOnLoop,
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

/** A query of groups. No index bounds the records of a group, so the query runs on a thread. */
function queryOfGroups({ collection, text, scope, schema, source, conditions }: Listed): QueryParts {
  const { table } = source;
  const options: SqlOptions = { isProbed: true, users: scope.users.table };
  const where = whereOf(conditions, table, options);
  const search = parseSearchText({ ...text, snippet: undefined }, { collection, source, isAlone: false });
  const parts = [where, search && foundIn(search, table)].filter((part) => part !== null);
  const found = parts.length === 0 ? null : separated(parts, " AND ");
  const plan = parseGroups(text, { schema, table, options, where: found, limit: readWhole(text, "limit") });
  const orders = plan.columns.map(({ texts }) => texts);
  return {
    sort: newestFirst,
    plan,
    site: "thread",
    countsAll: false,
    cursorScope: [text.group, text.aggregate, orders],
  };
}

function parseFilter(text: string, schema: ExpressionSchema): Expression {
  try {
    return parseExpression(text, schema);
  } catch (thrown) {
    if (!(thrown instanceof ExpressionError)) throw thrown;
    throw refuseParameter("filter", thrown.message);
  }
}

/** Whether an index answers a list, decided before the list is read. */
interface IndexUse {
  /** Whether SQLite reads the rows of the page and no others. */
  readonly isBounded: boolean;
  /** Whether the bound holds for each id that a condition leads to: how many ids there are is not known before. */
  readonly isLookedUp: boolean;
  /** Whether an index, or the table, gives the order. */
  readonly isOrdered: boolean;
}

/** The columns that conditions compare with constants. */
interface Compared {
  /** Compared with `=`. */
  readonly equal: Set<string>;
  /** Compared with `=` or `in`, and not with null: a unique index has a single row for each value. */
  readonly points: Set<string>;
  /** Compared with the ids that a condition leads to. */
  readonly lookedUp: Set<string>;
  /** Compared with `in`: an index has several ranges for the values, in no common order. */
  readonly listed: Set<string>;
  /** Bounds, as `count >`: SQLite looks at a second bound of a kind row by row. */
  readonly bounds: Map<string, string>;
}

/** @param conditions that must all hold. */
function indexUseOf(
  collection: Collection,
  conditions: readonly Expression[],
  { sort, offset }: { sort: Sort; offset: number },
): IndexUse {
  const compared: Compared = {
    equal: new Set(),
    points: new Set(),
    lookedUp: new Set(),
    listed: new Set(),
    bounds: new Map(),
  };
  const isPlain = conditions.every((condition) => compare(condition, compared));
  const indexes = known.getOrInsertComputed(collection, indexesOf);
  const { equal, points, lookedUp, listed, bounds } = compared;
  const isOne = indexes.some(({ columns, unique }) => unique && columns.every((column) => points.has(column)));
  const sorted = columnsOfSort(sort)?.filter((column) => !equal.has(column)) ?? null;
  const orders = [[], ...indexes.map(({ columns }) => columns)].filter(
    (columns) => sorted !== null && givesOrder(columns, equal, sorted),
  );
  const answers = (columns: readonly string[]): boolean =>
    listed.size === 0 &&
    columns.length === equal.size + (sorted?.length ?? 0) &&
    [...bounds.values()].every((column) => column === sorted?.[0]);
  const isNear = offset <= (lookedUp.size > 0 ? 0 : maxOffset);
  const isBounded = isPlain && isNear && (isOne || orders.some(answers));
  return { isBounded, isLookedUp: isBounded && lookedUp.size > 0, isOrdered: orders.length > 0 };
}

/** The indexes of collections, looked up once for a definition. */
const known = new WeakMap<Collection, readonly TableIndex[]>();

function indexesOf({ definition }: Collection): readonly TableIndex[] {
  return [{ columns: ["id"], unique: true }, ...tableIndexes(definition)];
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
  const isIndexable = keys.every(({ path, isDescending }) => isOwnColumn(path) && isDescending === isSeqDescending);
  return isIndexable ? keys.map(({ path }) => columnOf(path)) : null;
}

/** Notes the columns of a condition; false for a condition that no index answers. */
function compare(condition: Expression, compared: Compared): boolean {
  switch (condition.type) {
    case "some": {
      const column = lookedUpColumn(condition);
      const { equal, lookedUp } = compared;
      if (column === null || lookedUp.size > 0) return false;
      // A unique index has a row for each id: an order that no index gives would sort all of these rows.
      for (const columns of [equal, lookedUp]) columns.add(column);
      return true;
    }
    case "and":
      return condition.items.every((item) => compare(item, compared));
    case "in": {
      const { left, items } = condition;
      if (!isOwnColumn(left) || !items.every((item) => isConstant(item) && !isNull(item))) return false;
      compared.points.add(columnOf(left));
      compared.listed.add(columnOf(left));
      return true;
    }
    case "compare":
      return compareColumn(condition, compared);
    default:
      return false;
  }
}

function compareColumn(
  { operator, left, right }: Extract<Expression, { type: "compare" }>,
  { equal, points, lookedUp, bounds }: Compared,
): boolean {
  const path = isOwnColumn(left) ? left : isOwnColumn(right) ? right : null;
  const constant = path === left ? right : left;
  // SQLite computes a function of a field, as lower(name), for each row.
  if (path === null || !isConstant(constant)) return false;
  const column = columnOf(path);
  if (operator === "=") {
    // A second comparison of the same column is looked at row by row.
    if (equal.has(column) && !lookedUp.has(column)) return false;
    equal.add(column);
    if (!isNull(constant)) points.add(column);
    return true;
  }
  if (operator === "!=" || operator === "~" || operator === "!~") return false;
  const isLower = operator.startsWith(">") === (path === left);
  const bound = `${column} ${isLower ? ">" : "<"}`;
  if (bounds.has(bound)) return false;
  bounds.set(bound, column);
  return true;
}

function isOwnColumn(operand: Operand): operand is Path {
  return operand.type === "path" && operand.hops.length === 0 && operand.valueType !== "json";
}
