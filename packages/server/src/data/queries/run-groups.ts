/** Running a plan of groups: SQLite makes all groups, and the page is cut out of their order. */
import type { Value } from "../../store/database/index.ts";
import { type CursorPosition, digestOf } from "./cursor.ts";
import type { GroupsPlan, PageOutcome } from "./plan.ts";
import { refuseParameter } from "./query-text.ts";
import { groupsSql } from "./sql/groups.ts";
import type { Run } from "./sql/statement.ts";

/** The bytes of a page; further groups are on the next. */
const maxPageBytes = 4 * 1024 ** 2;

type Row = { readonly [column: string]: Value };

/** @throws AppError `bad_request` for a cursor whose group is gone. */
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
