/** Running a plan of groups: SQLite makes all of them, and the page is cut out of them by their order. */
import { stopProbe, type Value } from "../database/index.ts";
import { type CursorPosition, digestOf } from "./cursor.ts";
import type { GroupsPlan, SqlPart } from "./plan.ts";
import { refuseParameter } from "./query-text.ts";
import type { PageOutcome } from "./run.ts";
import { segmentsAfter } from "./sql/keyset.ts";
import { bind, type Run } from "./sql/statement.ts";

/** The bytes of a page; further groups are on the next. */
const maxPageBytes = 4 * 1024 ** 2;
/** A statement can be stopped at every so many rows: most of them cost nothing for that. */
const probeEvery = 256;

type Row = { readonly [column: string]: Value };

/** @throws AppError `bad_request` where the group of a cursor is gone. */
export function runGroups(run: Run, plan: GroupsPlan, position: CursorPosition | null): PageOutcome {
  const { sql, values } = groupsSql(run, plan, position?.values ?? null);
  // Values that were too long for the cursor are found again by their digest.
  let isReached = position === null || position.values !== null;
  const rows: Row[] = [];
  let bytes = 0;
  run.reader.some<Row>({ sql, values }, (row) => {
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

/** The statement of a plan: the groups behind a position, in their order. */
export function groupsSql(
  { isProbed, context }: Run,
  plan: GroupsPlan,
  after: readonly Value[] | null,
): { sql: string; values: Value[] } {
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

/** The groups behind a position. No two are equal in all columns of the order, so none is behind one of the same values. */
function behind({ sort }: GroupsPlan, values: readonly Value[]): SqlPart | null {
  const order = { keys: sort, seq: "(0 + 0)", isSeqDescending: false, isIndexed: false };
  return segmentsAfter(order, { seq: 0, values })[0] ?? null;
}

function positionOf({ sort }: GroupsPlan, row: Row): Value[] {
  return sort.map(({ text }) => row[text] ?? null);
}

function groupOf({ columns }: GroupsPlan, row: Row): Record<string, unknown> {
  const group: Record<string, unknown> = {};
  for (const [i, { name, texts, isBoolean }] of columns.entries()) {
    const value = row[`_c${i}`] ?? null;
    if (value === null) group[name] = null;
    else if (texts !== null) group[name] = texts[Number(value)] ?? null;
    else group[name] = isBoolean ? value === 1 : value;
  }
  return group;
}

function weightOf(row: Row): number {
  let weight = 0;
  for (const value of Object.values(row)) weight += typeof value === "string" ? value.length + 20 : 30;
  return weight;
}
