/**
 * The parameters `group` and `aggregate`: a list of groups in place of records. A group has the values that the records
 * of the group share, and aggregates over these records: `group=status,createdAt:month&aggregate=count,sum(points)`. By a
 * multiple field, a record is in the group of each item: a row of the record for each item is joined from the JSON.
 * SQLite makes all groups, and the page is cut out of the ordered groups.
 */
import { oneOf, quote, TIME_UNITS, type TimeUnit } from "../../../base/kernel/index.ts";
import { literal, stopProbe, type Value } from "../../../store/database/index.ts";
import {
  type ExpressionSchema,
  inOrder,
  type Path,
  parseItemPath,
  pathSql,
  plain,
  type SqlOptions,
  type SqlPart,
  separated,
  sqlPart,
  whereSql,
} from "../../expressions/index.ts";
import { positionSql, type ValueType } from "../../fields/index.ts";
import { digestOf, direction, segmentsAfter } from "../cursor.ts";
import type { CursorPosition, GroupColumn, GroupsPlan, KeyPlan, PageOutcome, SearchPlan } from "../plan.ts";
import {
  distinctPartsOf,
  nameIn,
  type QueryParameter,
  type QueryText,
  refuseParameter,
  refusing,
} from "../query-text.ts";
import { maxPageBytes, type Run } from "./rows.ts";

const maxKeys = 5;
const maxAggregates = 20;

/** The beginning of a unit of time, in UTC, as SQL of a stored datetime. */
const units: { readonly [unit in TimeUnit]: (time: string) => string } = {
  hour: (time) => `(substr(${time}, 1, 13) || ':00:00.000Z')`,
  day: (time) => `(substr(${time}, 1, 10) || 'T00:00:00.000Z')`,
  // Six days back and on to the next Monday: the Monday of the week.
  // The first days of the year 0000 are a week of their own: no datetime is before.
  week: (time) =>
    `(max('0000-01-01', strftime('%Y-%m-%d', substr(${time}, 1, 10), '-6 days', 'weekday 1')) || 'T00:00:00.000Z')`,
  month: (time) => `(substr(${time}, 1, 7) || '-01T00:00:00.000Z')`,
  year: (time) => `(substr(${time}, 1, 4) || '-01-01T00:00:00.000Z')`,
};

/** The functions over a field: the SQL, and the types of values that the function takes. */
const functions: {
  readonly [name: string]: { readonly sql: (value: string) => string; readonly takes: readonly ValueType[] };
} = {
  // SQLite's `sum` of whole numbers fails at an overflow; `total` does not.
  sum: { sql: (value) => `total(${value})`, takes: ["number"] },
  avg: { sql: (value) => `avg(${value})`, takes: ["number"] },
  min: { sql: (value) => `min(${value})`, takes: ["number", "datetime", "text"] },
  max: { sql: (value) => `max(${value})`, takes: ["number", "datetime", "text"] },
};

/** The parts of a query of groups that are the parts of any list. */
interface GroupsOf extends Pick<GroupsPlan, "table" | "where" | "limit"> {
  readonly schema: ExpressionSchema;
  readonly options: SqlOptions;
  /** The time zone of the units; undefined for UTC. */
  readonly zone: string | undefined;
}

const strangers: readonly QueryParameter[] = ["offset", "count", "fields", "expand", "snippet"];

/** @throws AppError `bad_request`; `unauthorized` or `forbidden` for a path to records that the caller may not read. */
export function parseGroups(text: QueryText, at: GroupsOf): GroupsPlan {
  const stranger = strangers.find((name) => text[name] !== undefined);
  if (stranger !== undefined) throw refuseParameter(stranger, 'it cannot stand beside "group" and "aggregate"');
  const items: SqlPart[] = [];
  const keys = columnsIn(text.group, "group", maxKeys).map((part) => parseKey(part, at, items));
  const aggregates = columnsIn(text.aggregate, "aggregate", maxAggregates).map((part) => parseAggregate(part, at));
  const columns = [...keys, ...aggregates];
  if (new Set(columns.map(({ name }) => name)).size < columns.length)
    throw refuseParameter("aggregate", '"count" is the name of a field of the groups, too; write count(id)');
  const { table, where, limit } = at;
  const sort = parseOrder(text.sort, columns, keys.length);
  return { type: "groups", table, items, where, columns, keys: keys.length, sort, limit };
}

function columnsIn(text: string | undefined, parameter: "group" | "aggregate" | "sort", most: number): string[] {
  return text === undefined ? [] : distinctPartsOf(text, parameter, { most, kind: "columns" });
}

/** @param items gets the items that the key goes through. */
function parseKey(name: string, at: GroupsOf, items: SqlPart[]): GroupColumn {
  const [field = "", unit, ...rest] = name.split(":");
  const parsed = refusing("group", () => parseItemPath(field, at.schema));
  const path = inOrder(asColumn(parsed.value, field, "group"));
  const table = parsed.items === null ? at.table : `_i${placeIn(items, pathSql(parsed.items, at.table, at.options))}`;
  const sql = pathSql(path, table, at.options);
  const { values } = sql;
  // An item has no column for the position.
  const itemTexts = path.hops.length === 0 ? path.field.allowed : undefined;
  const text = itemTexts === undefined ? sql.text : positionSql(itemTexts, sql.text);
  const texts = itemTexts ?? path.field.order?.values ?? null;
  const valueType = itemTexts === undefined ? path.valueType : "number";
  if (unit === undefined) return { name, text, values, valueType, texts, isNullable: true };
  const known = rest.length === 0 ? TIME_UNITS.find((each) => each === unit) : undefined;
  if (known === undefined) throw refuseParameter("group", `${quote(name)}: the unit must be ${oneOf(TIME_UNITS)}`);
  if (path.valueType !== "datetime")
    throw refuseParameter(
      "group",
      `${quote(name)}: only a datetime has units of time, and ${quote(field)} is no datetime`,
    );
  const { zone } = at;
  const start = zone === undefined ? units[known](text) : `_unit_start(${text}, '${known}', ${literal(zone)})`;
  return { name, text: start, values, valueType: "datetime", texts: null, isNullable: true };
}

/** The place of the JSON of items; the keys of the same items share a place, and so an item. */
function placeIn(items: SqlPart[], json: SqlPart): number {
  const place = items.findIndex(({ text }) => text === json.text);
  return place >= 0 ? place : items.push(json) - 1;
}

function parseAggregate(name: string, at: GroupsOf): GroupColumn {
  if (name === "count" || name === "count(id)")
    return { name, text: "count(*)", values: [], valueType: "number", texts: null, isNullable: false };
  const [, called = "", field = ""] = /^(\w+)\(([^()]+)\)$/.exec(name) ?? [];
  const found = Object.hasOwn(functions, called) ? functions[called] : undefined;
  if (found === undefined) {
    const known = ["count", ...Object.keys(functions).map((each) => `${each}(field)`)];
    throw refuseParameter("aggregate", `${quote(name)} must be ${oneOf(known)}`);
  }
  const { items, value } = refusing("aggregate", () => parseItemPath(field.trim(), at.schema));
  if (items !== null)
    throw refuseParameter(
      "aggregate",
      `${quote(name)}: ${quote(field)} has several items, and ${called} needs a single value`,
    );
  const path = asColumn(value, field.trim(), "aggregate");
  if (!found.takes.includes(path.valueType) || path.field.isRelation || path.field.order !== undefined)
    throw refuseParameter(
      "aggregate",
      `${quote(name)}: ${called} needs ${found.takes.length === 1 ? "a number" : "a number, a datetime or a text"}, and ${quote(field)} is none`,
    );
  const { text, values } = pathSql(path, at.table, at.options);
  return { name, text: found.sql(text), values, valueType: path.valueType, texts: null, isNullable: true };
}

function asColumn(path: Path, name: string, parameter: "group" | "aggregate"): Path {
  if (path.valueType === "geo")
    throw refuseParameter(parameter, `${quote(name)} is a place, which has no groups and no sums`);
  if (path.valueType === "vector")
    throw refuseParameter(parameter, `${quote(name)} is a vector, which has no groups and no sums`);
  // Members of JSON have no type: each record would decide equality and sum.
  if (path.valueType === "json" || path.members.length > 0)
    throw refuseParameter(parameter, `${quote(name)} is JSON, which has no groups and no sums`);
  return path;
}

/** The order of the groups: the columns of `sort`, then the keys. No two groups have the same keys, so the order is complete. */
function parseOrder(text: string | undefined, columns: readonly GroupColumn[], keys: number): KeyPlan[] {
  const order = columns.map(({ name, valueType, isNullable }, i) => {
    return { name, text: `_c${i}`, values: [], valueType, isNullable, isDescending: false };
  });
  const sorted = columnsIn(text, "sort", maxKeys).map((part) => {
    const found = order.find(({ name }) => name === nameIn(part));
    if (found === undefined)
      throw refuseParameter("sort", `${quote(nameIn(part))} is none of ${oneOf(order.map(({ name }) => name))}`);
    return { ...found, isDescending: part.startsWith("-") };
  });
  const others = order.slice(0, keys).filter(({ name }) => !sorted.some((each) => each.name === name));
  return [...sorted, ...others];
}

/** The records of a table that a search finds, as a condition. */
export function foundIn({ table, match }: SearchPlan, records: string): SqlPart {
  return { text: `${records}._seq IN (SELECT rowid FROM ${table} WHERE ${table} MATCH ?)`, values: [match] };
}

/** Rows between two stop probes: a probe at each row would cost too much. */
const probeEvery = 256;

type GroupRow = { readonly [column: string]: Value };

/** A condition that is always true, and a stop probe at some of the rows. */
function probeAt(place: string, probe: string): SqlPart {
  return plain(`(${place} % ${probeEvery} <> 0 OR ${probe})`);
}

/** The statement of a plan: the groups behind a position, in order. */
export function groupsSql(plan: GroupsPlan, after: readonly Value[] | null): SqlPart {
  const { table, items, where, columns, keys, sort } = plan;
  const selected = columns.map((column, i) => sqlPart`${column} AS _c${i}`);
  // The items of one field are few; the rows of several fields are the product of the items.
  const ofItems = items.slice(1).map((_, i) => probeAt(`_i${i + 1}.key`, stopProbe(`_i${i + 1}`, "key")));
  const probes = [probeAt(`${table}._seq`, stopProbe(table)), ...ofItems];
  const condition = whereSql(where === null ? probes : [...probes, sqlPart`(${where})`]);
  const names = columns.slice(0, keys).map((_, i) => `_c${i}`);
  const grouped = keys === 0 ? "" : ` GROUP BY ${names.join(", ")}`;
  // A record without items is in the group of null.
  const joins = items.map((json, i) => sqlPart` LEFT JOIN json_each(${json}) _i${i}`);
  const from = sqlPart`${table}${separated(joins, "")}`;
  const groups = sqlPart`SELECT ${separated(selected, ", ")} FROM ${from}${condition}${grouped}`;
  const rest = whereSql(after === null ? [] : behind(plan, after));
  const order = sort.map(({ text, isDescending }) => `${text} ${direction(isDescending)}`);
  return sqlPart`SELECT * FROM (${groups})${rest}${order.length === 0 ? "" : ` ORDER BY ${order.join(", ")}`}`;
}

/** The groups behind a position. No two groups are equal in all columns of the order. */
function behind({ sort }: GroupsPlan, values: readonly Value[]): SqlPart[] {
  if (sort.length === 0) return [];
  return segmentsAfter({ keys: sort, seq: "(0 + 0)", isSeqDescending: false, isIndexed: false }, { seq: 0, values });
}

/** @throws AppError `bad_request` for a cursor of a group that is gone. */
export function runGroups(run: Run, plan: GroupsPlan, position: CursorPosition | null): PageOutcome {
  // Values that were too long for the cursor are found again by digest.
  let isReached = position === null || position.values !== null;
  const rows: GroupRow[] = [];
  let bytes = 0;
  run.some<GroupRow>(groupsSql(plan, position?.values ?? null), (row) => {
    if (isReached) {
      bytes += weightOf(row);
      rows.push(row);
    } else isReached = digestOf(positionOf(plan, row)) === position?.digest;
    return rows.length > plan.limit || (bytes > maxPageBytes && rows.length > 1);
  });
  if (!isReached)
    throw refuseParameter("cursor", "the group at the cursor has changed or is gone; begin with the first page");
  const hasMore = rows.length > plan.limit || (bytes > maxPageBytes && rows.length > 1);
  if (hasMore) rows.pop();
  const last = rows.at(-1);
  return {
    items: JSON.stringify(rows.map((row) => groupOf(plan, row))),
    next: hasMore && last !== undefined ? { id: "", seq: null, values: positionOf(plan, last) } : null,
    total: null,
  };
}

function positionOf({ sort }: GroupsPlan, row: GroupRow): Value[] {
  return sort.map(({ text }) => row[text] ?? null);
}

function groupOf({ columns }: GroupsPlan, row: GroupRow): Record<string, unknown> {
  const group: Record<string, unknown> = {};
  for (const [i, { name, texts, valueType }] of columns.entries()) {
    const value = row[`_c${i}`] ?? null;
    if (value === null) group[name] = null;
    else if (typeof value === "number" && !Number.isFinite(value))
      throw refuseParameter(
        "aggregate",
        `${quote(name)} is beyond 1.8e308 in a group; narrow the records with "filter"`,
      );
    else if (texts !== null) group[name] = texts[Number(value)] ?? null;
    else group[name] = valueType === "boolean" ? value === 1 : value;
  }
  return group;
}

function weightOf(row: GroupRow): number {
  let weight = 0;
  for (const value of Object.values(row)) weight += typeof value === "string" ? value.length + 20 : 30;
  return weight;
}
