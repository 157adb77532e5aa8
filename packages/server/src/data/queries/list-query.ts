/**
 * List queries: the parameters of a list, parsed and checked, and the plan by which its pages are read. Each feature of a list is a
 * file of its own, which is entered only when a parameter asks for the feature: `sort.ts`, `search.ts`, `groups.ts`,
 * `selection.ts` (`fields` and `expand`), and `cursor.ts`.
 */

import { AppError, quote } from "../../base/kernel/index.ts";
import type { Collection } from "../collections/index.ts";
import {
  type Expression,
  ExpressionError,
  type ExpressionSchema,
  parseExpression,
  type SqlOptions,
  separated,
} from "../expressions/index.ts";
import type { Decision } from "../permissions/index.ts";
import { parseGroups } from "./groups.ts";
import { type IndexUse, indexUseOf } from "./index-use.ts";
import type { GroupsPlan, PagePlan, SearchPlan, SortPlan } from "./plan.ts";
import { type QueryParameter, type QueryText, queryParameters, refuseParameter } from "./query-text.ts";
import type { ReadScope, Source } from "./read-scope.ts";
import { whereOf } from "./read-scope.ts";
import { parseSearchText } from "./search.ts";
import { parseSelection, type Selected } from "./selection.ts";
import { keyPlans, newestFirst, parseSort, type Sort } from "./sort.ts";
import { foundIn, matchOrder } from "./sql/search.ts";

/** Records, or groups, of a page, unless the query says how many. */
const maxLimit = 1_000;
/** A page of more records is read on a thread. */
const maxLoopLimit = 200;

type ExecutionSite = "event-loop" | "thread";

/** A query of a list: everything but the caller's id, the time, and the position of a page. */
export interface ListQuery {
  readonly collection: Collection;
  readonly text: QueryText;
  readonly filter: Expression | null;
  readonly sort: Sort;
  readonly plan: PagePlan | GroupsPlan;
  readonly site: ExecutionSite;
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
}

type ParsedQuery = Omit<ListQuery, "epoch">;

/**
 * Picks the parameters of a query; null without any.
 * @throws AppError `bad_request` for a parameter that stands twice.
 */
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

/** @throws AppError `bad_request` for anything but a whole number between the two. */
function readWhole(
  query: QueryText,
  name: "limit" | "offset",
  { min, max }: { min: number; max: number },
): number | null {
  const text = query[name];
  if (text === undefined) return null;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max))
    throw refuseParameter(name, `it must be a whole number from ${min} to ${max}, not ${quote(text)}`);
  return value;
}

/** The records that a list is about. */
interface Listed {
  readonly collection: Collection;
  readonly text: QueryText;
  readonly scope: ReadScope;
  readonly source: Source;
  readonly schema: ExpressionSchema;
  readonly filter: Expression | null;
  /** The filter, and the condition under which the caller may read a record. */
  readonly conditions: readonly Expression[];
}

/**
 * @throws AppError `bad_request` with the reason why a parameter is refused; `unauthorized` or `forbidden` for
 * a filter or a sort that leads to something that the caller may not read.
 */
export function parseListQuery(collection: Collection, text: QueryText, scope: ReadScope): ParsedQuery {
  const schema = scope.schema(collection);
  const source = scope.source(collection);
  const filter = text.filter === undefined ? null : parseFilter(text.filter, schema);
  if (filter !== null) scope.note(filter);
  const conditions = [source.condition, filter].filter((each) => each !== null);
  const listed: Listed = { collection, text, scope, source, schema, filter, conditions };
  return text.group === undefined && text.aggregate === undefined ? queryOfRecords(listed) : queryOfGroups(listed);
}

function queryOfRecords(listed: Listed): ParsedQuery {
  const { collection, text, schema, conditions } = listed;
  const sort = text.sort === undefined ? newestFirst : parseSort(text.sort, collection, schema);
  const extent = extentOf(text);
  const selected = selectedOf(listed);
  const use = indexUseOf(collection, conditions, { sort, offset: extent.offset });
  const isSearched = text.search !== undefined;
  const isSmall = extent.limit <= maxLoopLimit && !selected.leadsToMany && !selected.isGuarded;
  const isOnLoop = !isSearched && use.isBounded && isSmall && !(extent.hasTotal && conditions.length > 0);
  const plan = pagePlan(listed, { sort, extent, selected, use, isOnLoop });
  return {
    ...commonOf(listed),
    sort,
    plan,
    site: isOnLoop ? "event-loop" : "thread",
    countsAll: extent.hasTotal && isOnLoop,
    cursorScope: JSON.stringify([
      ...cursorScopeOf(listed),
      plan.search?.weighed,
      // A cursor holds positions in the orders of values.
      ...sort.keys.flatMap(({ path }) => (path.field.order === undefined ? [] : [path.field.order.values])),
    ]),
  };
}

function limitOf(text: QueryText): number {
  return readWhole(text, "limit", { min: 1, max: maxLimit }) ?? maxLimit;
}

/** The part of the list that is asked for. */
interface Extent {
  readonly limit: number;
  readonly offset: number;
  readonly hasTotal: boolean;
}

function extentOf(text: QueryText): Extent {
  const limit = limitOf(text);
  const offset = readWhole(text, "offset", { min: 0, max: Number.MAX_SAFE_INTEGER }) ?? 0;
  if (text.offset !== undefined && text.cursor !== undefined)
    throw refuseParameter("offset", 'it cannot stand beside "cursor", which says where the page begins');
  if (text.count !== undefined && text.count !== "exact")
    throw refuseParameter("count", `it must be exact, not ${quote(text.count)}`);
  return { limit, offset, hasTotal: text.count === "exact" };
}

function selectedOf({ text, source, scope }: Listed): Selected {
  if (text.fields !== undefined || text.expand !== undefined) return parseSelection(source, text, scope);
  return { plan: source.whole, leadsToMany: false, isGuarded: source.conditional.size > 0 };
}

interface Asked {
  readonly sort: Sort;
  readonly extent: Extent;
  readonly selected: Selected;
  readonly use: IndexUse;
  readonly isOnLoop: boolean;
}

function pagePlan(listed: Listed, { sort, extent, selected, use, isOnLoop }: Asked): PagePlan {
  const { text, source, scope } = listed;
  const options: SqlOptions = { isProbed: !isOnLoop || use.isLookedUp, users: scope.users.table };
  const where = whereOf(listed.conditions, source.table, options);
  const isAlone = text.sort === undefined && where === null;
  const isSearched = text.search !== undefined || text.snippet !== undefined;
  const search = isSearched ? parseSearchText(text, { collection: listed.collection, source, isAlone }) : null;
  return {
    type: "records",
    search,
    selection: selected.plan,
    where,
    isLookedUp: use.isLookedUp,
    sort: sortPlan(listed, { sort, search, options, isIndexed: use.isOrdered && search === null }),
    limit: extent.limit,
    offset: extent.offset,
    isExact: text.offset !== undefined,
    isCounted: extent.hasTotal && !isOnLoop,
  };
}

function sortPlan(
  { collection, text, source: { table } }: Listed,
  {
    sort,
    search,
    options,
    isIndexed,
  }: Pick<Asked, "sort"> & {
    search: SearchPlan | null;
    options: SqlOptions;
    isIndexed: boolean;
  },
): SortPlan {
  const { isSeqDescending } = sort;
  if (search !== null && text.sort === undefined) {
    const seq = search.isAlone ? `${search.table}.rowid` : `${table}._seq`;
    return { keys: [matchOrder(search)], seq, isSeqDescending, isIndexed };
  }
  const keys = sort.keys.length === 0 ? [] : keyPlans(sort, collection, { table, options });
  return { keys, seq: `${table}._seq`, isSeqDescending, isIndexed };
}

/** A query of groups. No index bounds the records of a group, so the query runs on a thread. */
function queryOfGroups(listed: Listed): ParsedQuery {
  const { collection, text, scope, schema, source } = listed;
  const { table } = source;
  const options: SqlOptions = { isProbed: true, users: scope.users.table };
  const where = whereOf(listed.conditions, table, options);
  const search = parseSearchText({ ...text, snippet: undefined }, { collection, source, isAlone: false });
  const parts = [where, search && foundIn(search, table)].filter((part) => part !== null);
  const found = parts.length === 0 ? null : separated(parts, " AND ");
  const limit = limitOf(text);
  const plan = parseGroups(text, { schema, table, options }, { where: found, limit });
  const orders = plan.columns.map(({ texts }) => texts);
  return {
    ...commonOf(listed),
    sort: newestFirst,
    plan,
    site: "thread",
    countsAll: false,
    cursorScope: JSON.stringify([...cursorScopeOf(listed), text.group, text.aggregate, orders]),
  };
}

/** The parts of a query that have nothing to do with its plan. To be asked for once everything is entered. */
function commonOf({
  collection,
  text,
  filter,
  scope,
}: Listed): Pick<ParsedQuery, "collection" | "text" | "filter" | "entered" | "hasVersion" | "isPublic"> {
  const { entered, hasVersion } = scope;
  return { collection, text, filter, entered, hasVersion, isPublic: [...entered.keys()].every(isForEverybody) };
}

function cursorScopeOf({ collection: { name, createdAt }, text }: Listed): (string | undefined)[] {
  return [name, createdAt, text.sort, text.filter, text.search];
}

/** Whether all callers get the same of a collection. */
export function isForEverybody({ policies, fieldPolicies }: Collection): boolean {
  return policies.read.isOpen && fieldPolicies?.hidesValues !== true;
}

function parseFilter(text: string, schema: ExpressionSchema): Expression {
  try {
    return parseExpression(text, schema);
  } catch (thrown) {
    if (!(thrown instanceof ExpressionError)) throw thrown;
    throw refuseParameter("filter", thrown.message);
  }
}
