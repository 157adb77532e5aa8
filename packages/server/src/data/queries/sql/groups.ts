/** Running a plan of groups: SQLite makes all groups, and the page is cut out of their order. */
import { stopProbe, type Value } from "../../../store/database/index.ts";
import { join, plain, type SqlPart, separated } from "../../expressions/index.ts";
import { type CursorPosition, digestOf } from "../cursor.ts";
import type { GroupsPlan, PageOutcome } from "../plan.ts";
import { refuseParameter } from "../query-text.ts";
import { segmentsAfter } from "./keyset.ts";
import { direction, type Run, some } from "./rows.ts";

/** Rows between two stop probes: a probe at each row would cost too much. */
const probeEvery = 256;
/** The bytes of a page; further groups are on the next. */
const maxPageBytes = 4 * 1024 ** 2;

type GroupRow = { readonly [column: string]: Value };

/** The statement of a plan: the groups behind a position, in their order. */
export function groupsSql({ isProbed }: Run, plan: GroupsPlan, after: readonly Value[] | null): SqlPart {
  const { table, where, columns, keys, sort } = plan;
  const selected = columns.map((column, i) => join([column, ` AS _c${i}`]));
  const probe = isProbed ? [plain(`(${table}._seq % ${probeEvery} <> 0 OR ${stopProbe(table)})`)] : [];
  const conditions = [...probe, ...(where === null ? [] : [join(["(", where, ")"])])];
  const grouped = [...Array(keys).keys()].map((i) => `_c${i}`);
  const segment = after === null || sort.length === 0 ? null : behind(plan, after);
  const order = sort.map(({ text, isDescending }) => `${text} ${direction(isDescending)}`);
  return join([
    "SELECT * FROM (SELECT ",
    separated(selected, ", "),
    ` FROM ${table}`,
    conditions.length === 0 ? "" : " WHERE ",
    separated(conditions, " AND "),
    grouped.length === 0 ? ")" : ` GROUP BY ${grouped.join(", ")})`,
    ...(segment === null ? [] : [" WHERE ", segment]),
    order.length === 0 ? "" : ` ORDER BY ${order.join(", ")}`,
  ]);
}

/** The groups behind a position. No two groups are equal in all columns of the order. */
function behind({ sort }: GroupsPlan, values: readonly Value[]): SqlPart | null {
  const order = { keys: sort, seq: "(0 + 0)", isSeqDescending: false, isIndexed: false };
  return segmentsAfter(order, { seq: 0, values })[0] ?? null;
}

/** @throws AppError `bad_request` for a cursor whose group is gone. */
export function runGroups(run: Run, plan: GroupsPlan, position: CursorPosition | null): PageOutcome {
  // Values that were too long for the cursor are found again by their digest.
  let isReached = position === null || position.values !== null;
  const rows: GroupRow[] = [];
  let bytes = 0;
  some<GroupRow>(run, groupsSql(run, plan, position?.values ?? null), (row) => {
    if (isReached) {
      bytes += weightOf(row);
      rows.push(row);
    } else isReached = digestOf(positionOf(plan, row)) === position?.digest;
    return rows.length > plan.limit || (bytes > maxPageBytes && rows.length > 1);
  });
  if (!isReached)
    throw refuseParameter("cursor", "the group that it stands at has changed or is gone; begin with the first page");
  const hasMore = rows.length > plan.limit || (bytes > maxPageBytes && rows.length > 1);
  if (hasMore) rows.pop();
  const last = rows.at(-1);
  return {
    items: JSON.stringify(rows.map((row) => groupOf(plan, row))),
    next: hasMore && last !== undefined ? { id: "", values: positionOf(plan, last) } : null,
    total: null,
  };
}

function positionOf({ sort }: GroupsPlan, row: GroupRow): Value[] {
  return sort.map(({ text }) => row[text] ?? null);
}

function groupOf({ columns }: GroupsPlan, row: GroupRow): Record<string, unknown> {
  const group: Record<string, unknown> = {};
  for (const [i, { name, texts, isBoolean }] of columns.entries()) {
    const value = row[`_c${i}`] ?? null;
    if (value === null) group[name] = null;
    else if (texts !== null) group[name] = texts[Number(value)] ?? null;
    else group[name] = isBoolean ? value === 1 : value;
  }
  return group;
}

function weightOf(row: GroupRow): number {
  let weight = 0;
  for (const value of Object.values(row)) weight += typeof value === "string" ? value.length + 20 : 30;
  return weight;
}
