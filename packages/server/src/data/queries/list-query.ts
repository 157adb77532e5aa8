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
import { indexUseOf } from "./index-use.ts";
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
}

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
  return { collection, text, filter, entered, hasVersion, isPublic, ...query, cursorScope };
}

/** The parts of a query that are its own for records, or for groups. */
interface QueryParts extends Pick<ListQuery, "sort" | "plan" | "site" | "countsAll"> {
  readonly cursorScope: readonly unknown[];
}

function queryOfRecords(listed: Listed): QueryParts {
  const { collection, text, scope, source, schema, conditions } = listed;
  const sort = text.sort === undefined ? newestFirst : parseSort(text.sort, collection, schema);
  const { limit, offset, hasTotal } = extentOf(text);
  const selected = selectedOf(listed);
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

function limitOf(text: QueryText): number {
  return readWhole(text, "limit", { min: 1, max: maxLimit }) ?? maxLimit;
}

/** The part of the list that is asked for. */
function extentOf(text: QueryText): { limit: number; offset: number; hasTotal: boolean } {
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
  const limit = limitOf(text);
  const plan = parseGroups(text, { schema, table, options }, { where: found, limit });
  const orders = plan.columns.map(({ texts }) => texts);
  return {
    sort: newestFirst,
    plan,
    site: "thread",
    countsAll: false,
    cursorScope: [text.group, text.aggregate, orders],
  };
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
