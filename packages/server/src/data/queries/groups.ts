/**
 * The parameters `group` and `aggregate`: a list of groups in place of records. A group has the values that its records share, and
 * aggregates over its records: `group=status,createdAt:month&aggregate=count,sum(points)`.
 */

import { oneOf, quote } from "../../base/kernel/index.ts";
import {
  type ExpressionSchema,
  inOrder,
  type Path,
  pathSql,
  type SqlOptions,
  type SqlPart,
} from "../expressions/index.ts";
import type { ValueType } from "../fields/index.ts";
import type { GroupColumn, GroupsPlan, KeyPlan } from "./plan.ts";
import { distinctPartsOf, nameIn, pathOf, type QueryParameter, type QueryText, refuseParameter } from "./query-text.ts";

const maxKeys = 5;
const maxAggregates = 20;

/** The beginning of a unit of time, as SQL of a stored datetime. */
const units: { readonly [unit: string]: (time: string) => string } = {
  hour: (time) => `(substr(${time}, 1, 13) || ':00:00.000Z')`,
  day: (time) => `(substr(${time}, 1, 10) || 'T00:00:00.000Z')`,
  // Six days back and on to the next Monday: the Monday of the week.
  week: (time) => `(strftime('%Y-%m-%d', substr(${time}, 1, 10), '-6 days', 'weekday 1') || 'T00:00:00.000Z')`,
  month: (time) => `(substr(${time}, 1, 7) || '-01T00:00:00.000Z')`,
  year: (time) => `(substr(${time}, 1, 4) || '-01-01T00:00:00.000Z')`,
};

/** The functions over a field: the SQL, and the types of values that they take. */
const functions: {
  readonly [name: string]: { readonly sql: (value: string) => string; readonly takes: readonly ValueType[] };
} = {
  // SQLite's `sum` of whole numbers fails when it overflows; `total` does not.
  sum: { sql: (value) => `total(${value})`, takes: ["number"] },
  avg: { sql: (value) => `avg(${value})`, takes: ["number"] },
  min: { sql: (value) => `min(${value})`, takes: ["number", "datetime", "text"] },
  max: { sql: (value) => `max(${value})`, takes: ["number", "datetime", "text"] },
};

/** A key or an aggregate of the query. */
interface Column extends SqlPart {
  readonly name: string;
  readonly valueType: ValueType;
  /** The texts whose positions are the values; null for values that stand for themselves. */
  readonly texts: readonly string[] | null;
  readonly isNullable: boolean;
}

/** The place of a query of groups. */
export interface GroupsOf {
  readonly schema: ExpressionSchema;
  /** The quoted SQL name of the table. */
  readonly table: string;
  readonly options: SqlOptions;
}

const strangers: readonly QueryParameter[] = ["offset", "count", "fields", "expand", "snippet"];

/** @throws AppError `bad_request`; `unauthorized` or `forbidden` for a path to records that the caller may not read. */
export function parseGroups(
  text: QueryText,
  at: GroupsOf,
  { where, limit }: Pick<GroupsPlan, "where" | "limit">,
): GroupsPlan {
  const stranger = strangers.find((name) => text[name] !== undefined);
  if (stranger !== undefined) throw refuseParameter(stranger, 'it cannot stand beside "group" and "aggregate"');
  const keys = columnsIn(text.group, "group", maxKeys).map((part) => parseKey(part, at));
  const aggregates = columnsIn(text.aggregate, "aggregate", maxAggregates).map((part) => parseAggregate(part, at));
  const columns = [...keys, ...aggregates];
  return {
    type: "groups",
    table: at.table,
    where,
    columns: columns.map(
      ({ name, text: sql, values, texts, valueType }): GroupColumn => ({
        name,
        text: sql,
        values,
        texts,
        isBoolean: valueType === "boolean",
      }),
    ),
    keys: keys.length,
    sort: parseOrder(text.sort, columns, keys.length),
    limit,
  };
}

function columnsIn(text: string | undefined, parameter: "group" | "aggregate" | "sort", most: number): string[] {
  return text === undefined ? [] : distinctPartsOf(text, parameter, { most, kind: "columns" });
}

function parseKey(name: string, at: GroupsOf): Column {
  const [field = "", unit, ...rest] = name.split(":");
  const path = inOrder(columnPath(field, "group", at));
  const { text, values } = pathSql(path, at.table, at.options);
  const texts = path.field.order?.values ?? null;
  if (unit === undefined) return { name, text, values, valueType: path.valueType, texts, isNullable: true };
  const unitSql = Object.hasOwn(units, unit) && rest.length === 0 ? units[unit] : undefined;
  if (unitSql === undefined)
    throw refuseParameter("group", `${quote(name)}: the unit must be ${oneOf(Object.keys(units))}`);
  if (path.valueType !== "datetime")
    throw refuseParameter("group", `${quote(name)}: only a datetime has units of time, and ${quote(field)} is none`);
  return { name, text: unitSql(text), values, valueType: "datetime", texts: null, isNullable: true };
}

function parseAggregate(name: string, at: GroupsOf): Column {
  if (name === "count")
    return { name, text: "count(*)", values: [], valueType: "number", texts: null, isNullable: false };
  const [, called = "", field = ""] = /^(\w+)\(([^()]+)\)$/.exec(name) ?? [];
  const found = Object.hasOwn(functions, called) ? functions[called] : undefined;
  if (found === undefined) {
    const known = ["count", ...Object.keys(functions).map((each) => `${each}(field)`)];
    throw refuseParameter("aggregate", `${quote(name)} must be ${oneOf(known)}`);
  }
  const path = columnPath(field.trim(), "aggregate", at);
  if (!found.takes.includes(path.valueType) || path.field.isRelation || path.field.order !== undefined)
    throw refuseParameter(
      "aggregate",
      `${quote(name)}: ${called} needs ${found.takes.length === 1 ? "a number" : "a number, a datetime or a text"}, and ${quote(field)} is none`,
    );
  const { text, values } = pathSql(path, at.table, at.options);
  return { name, text: found.sql(text), values, valueType: path.valueType, texts: null, isNullable: true };
}

function columnPath(name: string, parameter: "group" | "aggregate", { schema }: GroupsOf): Path {
  const path = pathOf(name, parameter, schema);
  // Members of JSON have no type: each record would decide their equality and their sum.
  if (path.valueType === "json" || path.members.length > 0)
    throw refuseParameter(parameter, `${quote(name)} is JSON, which has no groups and no sums`);
  return path;
}

/** The order of the groups: the columns of `sort`, then the keys. No two groups have the same keys, so the order is complete. */
function parseOrder(text: string | undefined, columns: readonly Column[], keys: number): KeyPlan[] {
  const sorted = columnsIn(text, "sort", maxKeys).map((part) => {
    const name = nameIn(part);
    const position = columns.findIndex((column) => column.name === name);
    if (position < 0)
      throw refuseParameter("sort", `${quote(name)} is none of ${oneOf(columns.map((column) => column.name))}`);
    return { position, isDescending: part.startsWith("-") };
  });
  const isNamed = (position: number): boolean => sorted.some((each) => each.position === position);
  const others = [...columns.keys()].filter((position) => position < keys && !isNamed(position));
  return [...sorted, ...others.map((position) => ({ position, isDescending: false }))].map(
    ({ position, isDescending }): KeyPlan => {
      const column = columns[position];
      return {
        text: `_c${position}`,
        values: [],
        isDescending,
        isNullable: column?.isNullable ?? true,
        valueType: column?.valueType ?? "text",
      };
    },
  );
}
