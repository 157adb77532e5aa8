/**
 * Keyset pagination: the order of a list, the position of a record in it, and the part of the list after a position.
 *
 * The sort keys give the order, then creation (`_seq`) in the direction of the last key, so that an index over the keys gives the
 * whole order. Null sorts before every value. The part after a position is a sequence of segments: first the records that are
 * equal in all keys, then the records that are equal in fewer. Each segment is a range of the index.
 */
import type { Value } from "../../../store/database/index.ts";
import { join, type SqlPart, separated } from "../../expressions/index.ts";
import type { ValueType } from "../../fields/index.ts";
import type { KeyPlan, SortPlan } from "../plan.ts";
import { direction } from "./rows.ts";

/** The position of a record in a sorted list. */
export interface SortPosition {
  readonly seq: number;
  readonly values: readonly Value[];
}

/** The least value of each type as SQL; null for a type without an order. */
const leastOf: { readonly [type in ValueType]: string | null } = {
  text: "''",
  datetime: "''",
  number: "-9e999",
  boolean: "0",
  json: null,
};

/** The names of the sort keys among the columns of a position: `_k0`, `_k1`, …. No field begins with an underscore. */
export function keyNames({ keys }: SortPlan): string[] {
  return keys.map((_, i) => `_k${i}`);
}

/** The columns of a position: `_seq`, which no field is called, and the sort keys. */
export function positionColumns({ keys, seq }: SortPlan): SqlPart {
  return join([`${seq} AS _seq`, ...keys.flatMap((key, i) => [", ", key, ` AS _k${i}`])]);
}

/** The order of rows of `positionColumns`. @param of their alias with a dot, or nothing. */
export function positionOrder({ keys, isSeqDescending }: SortPlan, of = ""): string {
  const terms = keys.map(({ isDescending }, i) => `${of}_k${i} ${direction(isDescending)}`);
  return [...terms, `${of}_seq ${direction(isSeqDescending)}`].join(", ");
}

/** The position in a row of `positionColumns`. */
export function positionOf({ keys }: SortPlan, row: { readonly [column: string]: Value }): SortPosition {
  return { seq: Number(row["_seq"]), values: keys.map((_, i) => row[`_k${i}`] ?? null) };
}

/** The conditions of the segments after a position, in the order of the list. */
export function segmentsAfter(sort: SortPlan, { seq, values }: SortPosition): SqlPart[] {
  const { keys, isSeqDescending, isIndexed } = sort;
  const later: SqlPart = { text: `${sort.seq} ${sign(isSeqDescending)} ?`, values: [seq] };
  const ties = keys.map((key, i) => tie(key, values[i] ?? null));
  const segments = [separated([...ties, later], " AND ")];
  for (const [level, key] of [...keys.entries()].reverse())
    for (const segment of after(key, values[level] ?? null))
      segments.push(separated([...ties.slice(0, level), segment], " AND "));
  if (isIndexed || segments.length === 1) return segments;
  const ranges = segments.map((segment) => join(["(", segment, ")"]));
  return [join(["(", separated(ranges, " OR "), ")"])];
}

/**
 * The conditions of all records, by the first sort key: SQLite takes the index that has the key, as it does behind a position. Without
 * such a condition SQLite takes any index of the ids that a rule leads to.
 */
export function allSegments({ keys: [key] }: SortPlan): (SqlPart | null)[] {
  if (key === undefined) return [null];
  const [empty, filled] = [tie(key, null), after({ ...key, isDescending: false }, null)];
  if (!key.isNullable) return filled;
  return key.isDescending ? [...filled, empty] : [empty, ...filled];
}

/** The records with a later value of a key. */
function after(key: KeyPlan, value: Value): SqlPart[] {
  const { text, values, isDescending, isNullable, valueType } = key;
  if (value === null) {
    // Null sorts before every value, so nothing comes after it in a descending order.
    if (isDescending) return [];
    const least = leastOf[valueType];
    return [{ text: least === null ? `${text} IS NOT NULL` : `${text} >= ${least}`, values }];
  }
  const further = { text: `${text} ${sign(isDescending)} ?`, values: [...values, value] };
  return isDescending && isNullable ? [further, { text: `${text} IS NULL`, values }] : [further];
}

/** The records with the same value of a key. */
function tie({ text, values }: KeyPlan, value: Value): SqlPart {
  // The sign: see `parameter` of expressions.
  return value === null ? { text: `${text} IS NULL`, values } : { text: `${text} = +?`, values: [...values, value] };
}

function sign(isDescending: boolean): "<" | ">" {
  return isDescending ? "<" : ">";
}
