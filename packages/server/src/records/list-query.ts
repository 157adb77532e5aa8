import type { Collection } from "../collections/index.ts";
import {
  type Expression,
  ExpressionError,
  type ExpressionSchema,
  eachOperand,
  parseExpression,
} from "../expressions/index.ts";
import { quote } from "../kernel/index.ts";
import { digestOf } from "./cursor.ts";
import { ListSql } from "./list-sql.ts";
import { modelOf } from "./model.ts";
import { type QueryText, readWhole, refuseParameter } from "./query-text.ts";
import type { Access, Reach } from "./reach.ts";
import { parseSelection, type Selection } from "./selection.ts";
import { parseSort, type Sort } from "./sort.ts";
import { recordSource, type Source } from "./source.ts";

/** Records of a page, unless it says how many. */
const maxLimit = 1_000;

/** A query of a list, understood: everything but who asks, and when. */
export interface ListQuery {
  readonly collection: Collection;
  readonly text: QueryText;
  readonly source: Source;
  readonly filter: Expression | null;
  readonly sql: ListSql;
  /** The same for queries of which one is about as much work as another. */
  readonly kind: string;
  readonly sort: Sort;
  readonly limit: number;
  readonly hasTotal: boolean;
  readonly selection: Selection;
  /** What its cursors belong to, but for the caller: no other list has the same. */
  readonly scope: string;
  /** The collections that the answer depends on, and what the caller may see of each. */
  readonly reached: ReadonlyMap<Collection, Access>;
  /** Whether it depends on what has no version: the users, the time. */
  readonly isFleeting: boolean;
  /** Whether everybody may read what it reaches. */
  readonly isOpen: boolean;
}

/**
 * @throws AppError `bad_request` with what is wrong with a parameter; `unauthorized` or `forbidden` where a filter or a
 * sort leads to what the caller may not read.
 */
export function parseListQuery(collection: Collection, text: QueryText, reach: Reach): ListQuery {
  const schema = reach.schema(collection);
  const source = recordSource(modelOf(collection), reach.accessTo(collection));
  const filter = text.filter === undefined ? null : parseFilter(text.filter, schema);
  const sort = parseSort(text.sort, { collection, schema, table: source.table });
  const limit = readWhole(text, "limit", { min: 1, max: maxLimit }) ?? maxLimit;
  const offset = readWhole(text, "offset", { min: 0, max: Number.MAX_SAFE_INTEGER }) ?? 0;
  if (text.offset !== undefined && text.cursor !== undefined)
    throw refuseParameter("offset", 'it cannot stand beside "cursor", which says where the page begins');
  if (text.count !== undefined && text.count !== "exact")
    throw refuseParameter("count", `it must be exact, not ${quote(text.count)}`);
  const selection = parseSelection(source, text, reach);
  const sql = new ListSql({ source, filter, sort, offset });
  const macros = filter === null ? new Set<string>() : macrosOf(filter);
  return {
    collection,
    text,
    source,
    filter,
    sql,
    // Of one length: it is remembered for a while, and a filter may be long.
    kind: digestOf([sql.kind, text.count ?? "", text.limit ?? "", text.fields ?? "", text.expand ?? ""]),
    sort,
    limit,
    hasTotal: text.count === "exact",
    selection,
    scope: JSON.stringify([collection.name, collection.createdAt, text.sort, text.filter]),
    reached: reach.reached,
    isFleeting: reach.hasReachedUsers || macros.has("now") || macros.has("today"),
    isOpen: [...reach.reached.keys()].every(({ rules }) => rules.read === "public"),
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

function macrosOf(filter: Expression): Set<string> {
  const names = new Set<string>();
  eachOperand(filter, (operand) => {
    if (operand.type === "macro") names.add(operand.name);
  });
  return names;
}
