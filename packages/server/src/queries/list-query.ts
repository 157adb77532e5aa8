/** List queries: the parameters of a list, parsed and checked, and the plan by which its pages are read. */
import type { Collection } from "../collections/index.ts";
import {
  type Expression,
  ExpressionError,
  type ExpressionSchema,
  parseExpression,
  type SqlOptions,
  toSql,
} from "../expressions/index.ts";
import { quote } from "../kernel/index.ts";
import type { Decision } from "../permissions/index.ts";
import { asksForGroups, parseGroups } from "./groups.ts";
import { indexUseOf } from "./index-use.ts";
import { type KeyedList, keysOfList } from "./keyed-list.ts";
import type { GroupsPlan, PagePlan } from "./plan.ts";
import { type QueryText, readWhole, refuseParameter } from "./query-text.ts";
import { conditionOf, type ReadScope } from "./read-scope.ts";
import { parseSearchText } from "./search.ts";
import { parseSelection } from "./selection.ts";
import { keyPlans, parseSort, type Sort } from "./sort.ts";
import { bothOf, foundIn, matchOrder } from "./sql/search.ts";

/** Records of a page, unless the query says how many. */
const maxLimit = 1_000;
/** A page of more records is read on a thread. */
const maxLoopLimit = 200;

/** Where a query runs. */
type ExecutionSite = "event-loop" | "thread";

/** A query of a list: everything but the caller's id, the moment, and the position where a page begins. */
export interface ListQuery {
  readonly collection: Collection;
  readonly text: QueryText;
  readonly filter: Expression | null;
  readonly sort: Sort;
  readonly plan: PagePlan | GroupsPlan;
  /** The list by its keys, which runs on the event loop where they are few; null where it has none. */
  readonly keyed: KeyedList | null;
  readonly site: ExecutionSite;
  /** Whether the total is that of the whole collection, which is kept in memory. */
  readonly countsAll: boolean;
  /** The list that its cursors belong to, but for the caller: no other list has the same. */
  readonly cursorScope: string;
  /** The collections that the answer depends on, each with the caller's decision. */
  readonly entered: ReadonlyMap<Collection, Decision>;
  /** The names of the collections that rules ask about. */
  readonly asked: ReadonlySet<string>;
  /** The definitions of which it was made: see `Collections`. */
  readonly epoch: number;
  /** Whether the answer depends on something that has no version: the users, the time. */
  readonly isFleeting: boolean;
  /** Whether everybody may read all collections that it enters. */
  readonly isPublic: boolean;
}

/**
 * @throws AppError `bad_request` with the reason why a parameter is refused; `unauthorized` or `forbidden` where a
 * filter or a sort leads to something that the caller may not read.
 */
export function parseListQuery(collection: Collection, text: QueryText, scope: ReadScope): Omit<ListQuery, "epoch"> {
  if (asksForGroups(text)) return parseGroupQuery(collection, text, scope);
  const schema = scope.schema(collection);
  const source = scope.source(collection);
  const filter = text.filter === undefined ? null : parseFilter(text.filter, schema);
  const sort = parseSort(text.sort, collection, schema);
  const limit = readWhole(text, "limit", { min: 1, max: maxLimit }) ?? maxLimit;
  const offset = readWhole(text, "offset", { min: 0, max: Number.MAX_SAFE_INTEGER }) ?? 0;
  if (text.offset !== undefined && text.cursor !== undefined)
    throw refuseParameter("offset", 'it cannot stand beside "cursor", which says where the page begins');
  if (text.count !== undefined && text.count !== "exact")
    throw refuseParameter("count", `it must be exact, not ${quote(text.count)}`);
  const parsed = parseSelection(source, text, scope);
  const condition = conditionOf(source.decision);
  const conditions = [condition, filter].filter((each) => each !== null);
  const hasTotal = text.count === "exact";
  const { isBounded, isOrdered } = indexUseOf(collection, conditions, { sort, offset });
  const isSearched = text.search !== undefined;
  const isSmall = limit <= maxLoopLimit && !parsed.leadsToMany && !parsed.isGuarded;
  const isOnLoop = !isSearched && isBounded && isSmall && !(hasTotal && conditions.length > 0);
  const site: ExecutionSite = isOnLoop ? "event-loop" : "thread";
  const options: SqlOptions = { isProbed: site === "thread", users: scope.users.table };
  const where = conditions.length === 0 ? null : allOf(conditions, source.table, options);
  if (filter !== null) scope.note(filter);
  const isByMatch = isSearched && text.sort === undefined;
  const search = parseSearchText(text, { collection, source, isAlone: isByMatch && where === null });
  const onLoop: SqlOptions = { users: scope.users.table };
  const plan: PagePlan = {
    type: "records",
    search,
    // On the event loop, too: the rules of expansions may look at many records.
    selection: parsed.plan({ ...onLoop, isProbed: true }),
    where,
    keyed: null,
    sort: {
      keys:
        search !== null && isByMatch
          ? [matchOrder(search)]
          : keyPlans(sort, collection, { table: source.table, options }),
      seq: search?.isAlone === true ? `${search.table}.rowid` : `${source.table}._seq`,
      isSeqDescending: sort.isSeqDescending,
      isIndexed: isOrdered && search === null,
    },
    limit,
    offset,
    isExact: text.offset !== undefined,
    isCounted: hasTotal && !isOnLoop,
  };
  const mayBeKeyed = !isOnLoop && !isSearched && isSmall && !hasTotal && offset === 0;
  const asked = { collection, table: source.table, sort, options: onLoop };
  const keys = mayBeKeyed ? keysOfList(asked, conditions) : null;
  const keyed = keys && {
    ...keys,
    plan: {
      ...plan,
      where: keys.rest.length === 0 ? null : allOf(keys.rest, source.table, onLoop),
      sort: { ...plan.sort, isIndexed: keys.isOrdered },
    },
  };
  return {
    collection,
    text,
    filter,
    sort,
    plan,
    keyed,
    site,
    countsAll: hasTotal && isOnLoop,
    cursorScope: JSON.stringify([
      collection.name,
      collection.createdAt,
      text.sort,
      text.filter,
      text.search,
      search?.weighed,
      ...ordersOf(sort),
    ]),
    entered: scope.entered,
    asked: scope.asked,
    isFleeting: scope.isFleeting,
    isPublic: [...scope.entered.keys()].every(isForEverybody),
  };
}

/** A query of groups. No index bounds the records of one, so it runs on a thread. */
function parseGroupQuery(collection: Collection, text: QueryText, scope: ReadScope): Omit<ListQuery, "epoch"> {
  const schema = scope.schema(collection);
  const source = scope.source(collection);
  const { table, decision } = source;
  const filter = text.filter === undefined ? null : parseFilter(text.filter, schema);
  const conditions = [conditionOf(decision), filter].filter((each) => each !== null);
  const options: SqlOptions = { isProbed: true, users: scope.users.table };
  const where = conditions.length === 0 ? null : allOf(conditions, table, options);
  if (filter !== null) scope.note(filter);
  const search = parseSearchText({ ...text, snippet: undefined }, { collection, source, isAlone: false });
  const found = search === null ? where : bothOf(where, foundIn(search, table));
  const plan = parseGroups(text, { collection, schema, table, options }, found);
  const { name, createdAt } = collection;
  const orders = plan.columns.map(({ texts }) => texts);
  return {
    collection,
    text,
    filter,
    sort: { keys: [], isSeqDescending: true },
    plan,
    keyed: null,
    site: "thread",
    countsAll: false,
    cursorScope: JSON.stringify([
      name,
      createdAt,
      text.sort,
      text.filter,
      text.search,
      text.group,
      text.aggregate,
      orders,
    ]),
    entered: scope.entered,
    asked: scope.asked,
    isFleeting: scope.isFleeting,
    isPublic: [...scope.entered.keys()].every(isForEverybody),
  };
}

/** The orders of the values that a list is sorted by: a cursor holds positions in them. */
function ordersOf({ keys }: Sort): (readonly string[])[] {
  return keys.flatMap(({ path }) => (path.field.order === undefined ? [] : [path.field.order.values]));
}

/** Whether all callers get the same of a collection. */
export function isForEverybody({ policies, fieldPolicies }: Collection): boolean {
  return policies.read.isOpen && fieldPolicies?.hidesValues !== true;
}

function allOf(conditions: readonly Expression[], table: string, options: SqlOptions): PagePlan["where"] {
  const parts = conditions.map((condition) => toSql(condition, table, options));
  const text = parts.map((part) => (parts.length > 1 ? `(${part.text})` : part.text)).join(" AND ");
  return { text, values: parts.flatMap(({ values }) => values) };
}

function parseFilter(text: string, schema: ExpressionSchema): Expression {
  try {
    return parseExpression(text, schema);
  } catch (thrown) {
    if (!(thrown instanceof ExpressionError)) throw thrown;
    throw refuseParameter("filter", thrown.message);
  }
}
