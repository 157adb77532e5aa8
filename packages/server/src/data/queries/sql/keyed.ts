/** Keyed pages: the records of a key are a range of an index, in order, and SQLite merges the ranges as far as the page needs. */
import type { PageKeys, PagePlan, SqlPart } from "../plan.ts";
import { positionColumns, positionOrder } from "./keyset.ts";
import { conditionSql } from "./statement.ts";

/** No record's id. */
const noKey = "";

/** The positions of the first records of all keys. */
export function ofKeysSql(
  { selection: { table }, where, sort }: PagePlan,
  { column, keys }: PageKeys,
  { segment, limit }: { segment: SqlPart | null; limit: number },
): SqlPart {
  const positions = positionColumns(sort);
  const condition = conditionSql({ isProbed: false }, table, [where, segment, { text: `${column} = ?`, values: [] }]);
  const all = padded(keys);
  const range = `SELECT ${positions.text} FROM ${table}${condition.text}`;
  const ranges = Array.from(all, () => range).join(" UNION ALL ");
  return {
    text: `${ranges} ORDER BY ${positionOrder(sort)} LIMIT ${limit}`,
    values: all.flatMap((key) => [...positions.values, ...condition.values, key]),
  };
}

/** The keys, filled up to a power of two, so that statements are reused. */
function padded(keys: readonly string[]): readonly string[] {
  let length = 1;
  while (length < keys.length) length *= 2;
  return [...keys, ...Array.from({ length: length - keys.length }, () => noKey)];
}
