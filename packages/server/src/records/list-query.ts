import type { Collection } from "../collections/index.ts";
import { visited } from "../database/index.ts";
import {
  caller,
  type Expression,
  ExpressionError,
  eachOperand,
  parseExpression,
  type Shape,
  toSql,
} from "../expressions/index.ts";
import { quote } from "../kernel/index.ts";
import { modelOf } from "./model.ts";
import { type QueryText, readWhole, refuseParameter } from "./query-text.ts";
import type { Access, Reach } from "./reach.ts";
import { parseSelection, type Selection } from "./selection.ts";
import { parseSort, type Segment, type Sort } from "./sort.ts";
import { recordSource, type Source } from "./source.ts";

/** Records of a page, unless it says how many. */
const maxLimit = 1_000;

/** A query of a list, understood: everything but who asks, and when. */
export interface ListQuery {
  readonly collection: Collection;
  readonly text: QueryText;
  readonly source: Source;
  readonly filter: Expression | null;
  /** What holds for every record of the list; "" where that are all, in the order of creation. */
  readonly condition: Segment;
  /** Whether the list is the whole collection. */
  readonly isAll: boolean;
  /** The same for queries of which one is about as much work as another. */
  readonly kind: string;
  readonly sort: Sort;
  readonly limit: number;
  readonly offset: number;
  readonly hasTotal: boolean;
  readonly selection: Selection;
  /** The collections that the answer depends on, and what the caller may see of each. */
  readonly reached: ReadonlyMap<Collection, Access>;
  /** Whether it depends on what has no version: the users, the time. */
  readonly isFleeting: boolean;
  /** Whether it names the caller. */
  readonly isPersonal: boolean;
}

/**
 * @throws AppError `bad_request` with what is wrong with a parameter; `unauthorized` or `forbidden` where a filter or a
 * sort leads to what the caller may not read.
 */
export function parseListQuery(collection: Collection, text: QueryText, reach: Reach): ListQuery {
  const shape = reach.shape(collection);
  const source = recordSource(modelOf(collection), reach.accessTo(collection));
  const filter = text.filter === undefined ? null : parseFilter(text.filter, shape);
  const sort = parseSort(text.sort, collection, shape, source.table);
  const limit = readWhole(text, "limit", 1, maxLimit) ?? maxLimit;
  const offset = readWhole(text, "offset", 0, Number.MAX_SAFE_INTEGER) ?? 0;
  if (text.offset !== undefined && text.cursor !== undefined)
    throw refuseParameter("offset", 'it cannot stand beside "cursor", which says where the page begins');
  if (text.count !== undefined && text.count !== "exact")
    throw refuseParameter("count", `it must be exact, not ${quote(text.count)}`);
  const condition = conditionOf({ source, filter, isSimple: sort.isByCreation && offset === 0 });
  const extent = offset === 0 ? "" : `offset ${Math.floor(Math.log2(offset))}`;
  const selection = parseSelection(source, text, reach);
  const macros = filter === null ? new Set<string>() : macrosOf(filter);
  return {
    collection,
    text,
    source,
    filter,
    condition,
    isAll: filter === null && source.ownCondition === null,
    kind: [source.table, condition.where, sort.order, text.count ?? "", extent].join(" "),
    sort,
    limit,
    offset,
    hasTotal: text.count === "exact",
    selection,
    reached: reach.reached,
    isFleeting: reach.hasReachedUsers || macros.has("now") || macros.has("today"),
    isPersonal: macros.has("user.id"),
  };
}

/** @param isSimple that no more rows are looked at than are answered, as long as all are. */
function conditionOf(list: { source: Source; filter: Expression | null; isSimple: boolean }): Segment {
  const { source, filter, isSimple } = list;
  const own = source.ownCondition;
  const filterSql = filter === null ? null : toSql(filter, source.table);
  if (own === null && filterSql === null && isSimple) return { where: "", values: [] };
  const parts = [visited(source.table), own, filterSql === null ? null : `(${filterSql.text})`];
  return {
    where: parts.filter((part) => part !== null).join(" AND "),
    values: [...(own === null ? [] : [caller]), ...(filterSql?.values ?? [])],
  };
}

function parseFilter(text: string, shape: Shape): Expression {
  try {
    return parseExpression(text, shape);
  } catch (thrown) {
    if (!(thrown instanceof ExpressionError)) throw thrown;
    throw refuseParameter("filter", thrown.message);
  }
}

function macrosOf(filter: Expression): Set<string> {
  const names = new Set<string>();
  eachOperand(filter, (operand) => {
    if (operand.type === "macro") names.add(operand.name);
  });
  return names;
}
