/** The statement of a plan of groups. */
import { stopProbe, type Value } from "../../../store/database/index.ts";
import type { GroupsPlan, SqlPart } from "../plan.ts";
import { segmentsAfter } from "./keyset.ts";
import { bind, type Run, type Statement } from "./statement.ts";

/** Rows between two stop probes: a probe at each row would cost too much. */
const probeEvery = 256;

/** The statement of a plan: the groups behind a position, in their order. */
export function groupsSql({ isProbed, context }: Run, plan: GroupsPlan, after: readonly Value[] | null): Statement {
  const { table, where, columns, keys, sort } = plan;
  const selected = columns.map(({ text }, i) => `${text} AS _c${i}`);
  const probe = isProbed ? [`(${table}._seq % ${probeEvery} <> 0 OR ${stopProbe(table)})`] : [];
  const conditions = [...probe, ...(where === null ? [] : [`(${where.text})`])];
  const grouped = [...Array(keys).keys()].map((i) => `_c${i}`);
  const inner = [
    `SELECT ${selected.join(", ")} FROM ${table}`,
    conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`,
    grouped.length === 0 ? "" : ` GROUP BY ${grouped.join(", ")}`,
  ].join("");
  const segment = after === null || sort.length === 0 ? null : behind(plan, after);
  const order = sort.map(({ text, isDescending }) => `${text} ${isDescending ? "DESC" : "ASC"}`);
  return {
    sql: [
      `SELECT * FROM (${inner})`,
      segment === null ? "" : ` WHERE ${segment.text}`,
      order.length === 0 ? "" : ` ORDER BY ${order.join(", ")}`,
    ].join(""),
    values: [
      ...columns.flatMap((column) => bind(column, context)),
      ...(where === null ? [] : bind(where, context)),
      ...(segment === null ? [] : bind(segment, context)),
    ],
  };
}

/** The groups behind a position. No two groups are equal in all columns of the order. */
function behind({ sort }: GroupsPlan, values: readonly Value[]): SqlPart | null {
  const order = { keys: sort, seq: "(0 + 0)", isSeqDescending: false, isIndexed: false };
  return segmentsAfter(order, { seq: 0, values })[0] ?? null;
}
