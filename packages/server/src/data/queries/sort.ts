/**
 * The parameter `sort`: names of fields, paths through relations, `distance(field, lat, lon)`, or `nearest(field, [numbers])`; a `-`
 * puts the greatest values first.
 */

import { isView, USERS } from "@socle/protocol";
import { quote } from "../../base/kernel/index.ts";
import { identifier } from "../../store/database/index.ts";
import { type Collection, indexesOf } from "../collections/index.ts";
import {
  type DistanceCall,
  type ExpressionSchema,
  inOrder,
  operandSql,
  type Path,
  parseDistance,
  parsePath,
  type SqlOptions,
  sqlPart,
} from "../expressions/index.ts";
import { isNearestText, type Nearest, nearestSql, parseNearest } from "./nearest.ts";
import type { KeyPlan, NearestPlan } from "./plan.ts";
import { distinctPartsOf, nameIn, refuseParameter, refusing } from "./query-text.ts";

const maxKeys = 5;
/** Sorts records without a place behind all others: more metres than between any two places. */
const beyondAll = 1e9;

export interface Sort {
  readonly keys: readonly { readonly operand: Path | DistanceCall | Nearest; readonly isDescending: boolean }[];
  /** Whether ties, which are broken by the order of creation, have the newest first. */
  readonly isSeqDescending: boolean;
}

function parseKey(part: string, schema: ExpressionSchema): Sort["keys"][number] {
  const name = nameIn(part);
  const word = /^(\S+)\s+(asc|desc)$/i.exec(name);
  if (word !== null) {
    const meant = word[2]?.toLowerCase() === "desc" ? `-${word[1]}` : word[1];
    throw refuseParameter("sort", `${quote(name)} is no field; did you mean "${meant}"?`);
  }
  const isDescending = part.startsWith("-");
  if (name.startsWith("distance("))
    return { operand: refusing("sort", () => parseDistance(name, schema)), isDescending };
  if (isNearestText(name)) return { operand: parseNearest(name, schema), isDescending };
  const path = refusing("sort", () => parsePath(name, schema));
  if (path.valueType === "geo")
    throw refuseParameter("sort", `${quote(name)} is a place; sort by distance(${name}, lat, lon)`);
  if (path.valueType === "vector")
    throw refuseParameter("sort", `${quote(name)} is a vector; sort by nearest(${name}, [numbers])`);
  if (path.valueType === "json" && path.members.length === 0)
    throw refuseParameter("sort", `${quote(name)} is JSON; name what is in it, such as ${name}.size`);
  return { operand: inOrder(path), isDescending };
}

/**
 * @param text without a text, the newest records come first.
 * @throws AppError `bad_request`; `unauthorized` or `forbidden` for a path to records that the caller may not read.
 */
export function parseSort(text: string | undefined, collection: Collection, schema: ExpressionSchema): Sort {
  if (text === undefined && collection.isChronological) return { keys: [], isSeqDescending: true };
  const usual = schema.field("createdAt") === undefined ? "id" : "-createdAt";
  const parts = distinctPartsOf(text ?? usual, "sort", { most: maxKeys, kind: "fields" });
  const keys = parts.map((part) => parseKey(part, schema));
  const last = keys.at(-1);
  const isSeqDescending = last?.isDescending ?? true;
  // The rows of a view have no number that breaks ties.
  if (isView(collection.definition)) {
    const id = { ...parseKey("id", schema), isDescending: isSeqDescending };
    return { keys: [...keys, ...(parts.map(nameIn).includes("id") ? [] : [id])], isSeqDescending };
  }
  // The stored order needs no index.
  const isCreation =
    last?.operand.type === "path" && last.operand.hops.length === 0 && last.operand.field.name === "createdAt";
  const isIndexed = indexesOf(collection.definition).some(({ fields }) => fields.includes("createdAt"));
  const isStored = isCreation && !isIndexed && collection.isChronological;
  return { keys: isStored ? keys.slice(0, -1) : keys, isSeqDescending };
}

/** Whether some record may have no value at the end of a path. */
function isNullable(path: Path, collection: Collection): boolean {
  if (path.hops.length > 0 || path.members.length > 0) return true;
  if (isView(collection.definition)) return path.field.name !== "id";
  const field = collection.definition.fields.find(({ name }) => name === path.field.name);
  return field !== undefined && field.required !== true && field.sequence === undefined;
}

/** The sort keys as SQL. @param at the quoted SQL name of the collection's table, and how paths are compiled. */
export function keyPlans(
  keys: Sort["keys"],
  collection: Collection,
  at: { table: string; options: SqlOptions },
): KeyPlan[] {
  return keys.map(({ operand: path, isDescending }) => {
    if (path.type === "nearest")
      return { ...nearestSql(path, at.table, at.options), isDescending, isNullable: false, valueType: "number" };
    const sql = operandSql(path, at.table, at.options);
    if (path.type === "call") {
      const distance = sqlPart`coalesce(${sql}, ${beyondAll})`;
      return { ...distance, isDescending, isNullable: false, valueType: path.valueType };
    }
    const { text, values } = sql;
    const isField = path.hops.length === 0 && path.members.length === 0 && path.field.order === undefined;
    return {
      text,
      values,
      isDescending,
      isNullable: isNullable(path, collection),
      valueType: path.valueType,
      ...(isField && { field: path.field.name }),
    };
  });
}

/** The plan for candidates from memory; null if another key comes first, the farthest come first, or the vectors are of other records. */
export function nearestPlan(
  { name, definition }: Collection,
  table: string,
  { keys: [key] }: Sort,
): NearestPlan | null {
  if (key?.operand.type !== "nearest" || key.isDescending) return null;
  const { argument, wanted, metric } = key.operand;
  // The events do not tell of all changes of users.
  if (argument.hops.length > 0 || isView(definition) || name === USERS) return null;
  const { column, vector } = argument.field;
  return { collection: name, table, column: identifier(column), dimensions: vector?.dimensions ?? 0, metric, wanted };
}
