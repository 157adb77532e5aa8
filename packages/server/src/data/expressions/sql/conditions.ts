/**
 * Expressions as SQL conditions.
 *
 * A path through relations becomes a correlated subquery. Compared with a constant for equality, the path becomes a lookup: SQL
 * finds the records at the end of the path once, by an index, and then the records that point to these records. A
 * backward step becomes EXISTS, or a lookup. Each entered collection adds the condition under which the caller may read
 * the records. A condition about a single record has no lookups.
 *
 * A condition that does not hold may be NULL; a negated condition is the exact opposite, so that every record fulfils either.
 */

import type { GeoPoint } from "@socle/protocol";
import type { Comparison } from "@socle/protocol/filter";
import { isAscii } from "../../../base/kernel/index.ts";
import { identifier } from "../../../store/database/index.ts";
import {
  type CallOperand,
  type Constant,
  type DistanceCall,
  type Expression,
  isConstant,
  isNull,
  type Operand,
  type Path,
} from "../expression.ts";
import { boxSql } from "./box.ts";
import { lookUpColumn, someSql } from "./related.ts";
import {
  memberPath,
  numberParameter,
  opposite,
  parameter,
  plain,
  Scope,
  type SqlOptions,
  type SqlPart,
  separated,
  sqlPart,
  textParameter,
} from "./scope.ts";

/** The scalar that a path leads to from a row of the table with this alias, as SQL. */
export function pathSql(path: Path, alias: string, options: SqlOptions = {}): SqlPart {
  return pathSqlIn(scopeOf(alias, options), path);
}

/** A value of a row of the table with this alias, as SQL. */
export function operandSql(operand: Operand, alias: string, options: SqlOptions = {}): SqlPart {
  return valueSql(scopeOf(alias, options), operand);
}

/** An expression as an SQL condition over the table with this alias: true where the expression holds, else false or NULL. */
export function toSql(expression: Expression, alias: string, options: SqlOptions = {}): SqlPart {
  return compile(scopeOf(alias, options), expression, false);
}

function scopeOf(alias: string, options: SqlOptions): Scope {
  return Scope.of(alias, options, (expression, scope) => compile(scope, expression, false));
}

function compile(scope: Scope, expression: Expression, negated: boolean): SqlPart {
  switch (expression.type) {
    case "not":
      return compile(scope, expression.item, !negated);
    case "and":
    case "or": {
      const sign = (expression.type === "and") !== negated ? " AND " : " OR ";
      const items = expression.items.map((item) => compile(scope, item, negated));
      return sqlPart`(${separated(items, sign)})`;
    }
    case "compare":
    case "in":
      return comparisonSql(scope, expression, negated);
    case "some":
    case "someItem":
      return opposite(someSql(scope, expression), negated);
  }
}

type Compare = Extract<Expression, { type: "compare" }>;
type In = Extract<Expression, { type: "in" }>;
type Ordering = ">" | ">=" | "<" | "<=";

/** The same comparison with its sides changed. */
const swapped: { readonly [operator in Ordering | "="]: Ordering | "=" } = {
  "=": "=",
  ">": "<",
  ">=": "<=",
  "<": ">",
  "<=": ">=",
};

/** SQLite's names for the types of JSON, by value type. */
const jsonTypes = { text: "('text')", number: "('integer', 'real')" } as const;

function comparisonSql(scope: Scope, comparison: Compare | In, negated: boolean): SqlPart {
  const { left } = comparison;
  const isAnyItem = left.type === "path" && left.members.includes(null) && scope.item === null;
  const ofItem = (item: Scope): SqlPart => comparisonSql(item, comparison, false);
  if (isAnyItem) return opposite(anyItemSql(scope, left, ofItem), negated);
  if (comparison.type === "in") return opposite(inSql(scope, comparison), negated);
  const { operator, right } = comparison;
  const isOpposite = operator === "!=" || operator === "!~";
  const positive = operator === "!=" ? "=" : operator === "!~" ? "~" : operator;
  return opposite(positiveSql(scope, { operator: positive, left, right }), isOpposite !== negated);
}

function inSql(scope: Scope, { left, items }: In): SqlPart {
  const constants = items.filter((item) => isConstant(item) && !isNull(item));
  const parts = constants.length === 0 ? [] : constantsIn(scope, left, constants);
  for (const item of items)
    if (!constants.includes(item)) parts.push(positiveSql(scope, { operator: "=", left, right: item }));
  return sqlPart`(${separated(parts, " OR ")})`;
}

/** A condition on any item of the JSON array that a path names. @param condition compiles the condition for an item. */
function anyItemSql(scope: Scope, path: Path, condition: (scope: Scope) => SqlPart): SqlPart {
  const alias = scope.newAlias();
  const column = scope.along({ ...path, members: [] }, plain);
  const inner = condition(scope.withItem(alias));
  const way = textParameter(`$${memberPath(path.members.slice(0, path.members.indexOf(null)))}`);
  const array = sqlPart`CASE WHEN json_type(${column}, ${way}) = 'array' THEN ${column} END`;
  return sqlPart`EXISTS (SELECT 1 FROM json_each(${array}, ${way}) ${alias} WHERE ${inner})`;
}

type Positive = Pick<Compare, "left" | "right"> & { readonly operator: Exclude<Comparison, "!=" | "!~"> };

function positiveSql(scope: Scope, { operator, left, right }: Positive): SqlPart {
  if (operator === "~") return containsSql(scope, left, right);
  if (operator === "=" && isNull(right)) return isNullSql(scope, left);
  if (operator === "=" && isNull(left)) return isNullSql(scope, right);
  if (left.type === "path" && left.valueType === "json") return jsonSql(scope, { operator, json: left, other: right });
  if (right.type === "path" && right.valueType === "json")
    return jsonSql(scope, { operator: swapped[operator], json: right, other: left });
  if (operator === "=" && crossesRelation(left) && isConstant(right))
    return lookUpColumn(scope, left, (column) => sqlPart`${column} = ${valueSql(scope, right)}`);
  if (operator === "=" && crossesRelation(right) && isConstant(left))
    return positiveSql(scope, { operator, left: right, right: left });
  if (isDistance(left)) return nearSql(scope, { operator, left, right });
  if (isDistance(right)) return nearSql(scope, { operator: swapped[operator], left: right, right: left });
  // Two fields without a value are equal; a missing caller equals no field.
  const areFields = !isConstant(left) && !isConstant(right);
  const sign = operator === "=" && areFields ? "IS" : operator;
  return sqlPart`${besideRecord(left, right)}${valueSql(scope, left)} ${sign} ${besideRecord(right, left)}${valueSql(scope, right)}`;
}

function isDistance(operand: Operand): operand is DistanceCall {
  return operand.type === "call" && operand.call === "distance";
}

interface Near extends Pick<Positive, "right"> {
  readonly operator: Ordering | "=";
  readonly left: DistanceCall;
}

/** A comparison of a distance. Places within a constant distance lie in a box, which an index of the field finds. */
function nearSql(scope: Scope, { operator, left, right }: Near): SqlPart {
  const { argument, point } = left;
  const isAtEnd = crossesRelation(argument) && isConstant(right);
  if (isAtEnd) {
    const own: DistanceCall = { ...left, argument: { ...argument, hops: [] } };
    return lookUpColumn(scope, argument, (_, at) => nearSql(at, { operator, left: own, right }));
  }
  const sign = operator === "=" && !isConstant(right) ? "IS" : operator;
  const compareTo = (distance: SqlPart): SqlPart => sqlPart`${distance} ${sign} ${valueSql(scope, right)}`;
  const { place } = argument.field;
  const isWithin = operator !== ">" && operator !== ">=" && right.type === "value" && typeof right.value === "number";
  const isOwn = argument.up === 0 && argument.hops.length === 0 && scope.options.isOfOneRecord !== true;
  if (!isWithin || !isOwn || place === undefined) return compareTo(valueSql(scope, left));
  const columns = { lat: scope.column(place.lat), lon: scope.column(place.lon) };
  // An index has the degrees, so that SQLite reads no record that is in the box and not near.
  const exact = compareTo(distanceSql(`${columns.lat}, ${columns.lon}`, point));
  return sqlPart`(${boxSql(columns, point, Number(right.value))} AND ${exact})`;
}

/**
 * The sign before a value in brackets that is compared with a value of the record. SQLite then finds the records in the
 * brackets by the path that leads to the brackets; an index of the compared field may find many more.
 */
function besideRecord(operand: Operand, other: Operand): "+" | "" {
  const isInBrackets = operand.type === "path" && operand.isOfRecord !== true && operand.members.length === 0;
  return isInBrackets && other.type === "path" && other.isOfRecord === true ? "+" : "";
}

function isNullSql(scope: Scope, operand: Operand): SqlPart {
  if (operand.valueType !== "json" || operand.type !== "path") return sqlPart`${valueSql(scope, operand)} IS NULL`;
  // JSON's null, a missing member and a missing value.
  return sqlPart`coalesce(${askJson(scope, operand, "json_type")}, 'null') = 'null'`;
}

interface JsonComparison {
  readonly operator: Ordering | "=";
  readonly json: Path;
  readonly other: Operand;
}

function jsonSql(scope: Scope, { operator, json, other }: JsonComparison): SqlPart {
  const type = askJson(scope, json, "json_type");
  const scalar = valueSql(scope, other);
  const isNumber = other.valueType === "number";
  const value = isNumber ? jsonNumberSql(scope, json) : askJson(scope, json, "json_extract");
  const types = jsonTypes[isNumber ? "number" : "text"];
  const condition =
    other.valueType === "boolean"
      ? sqlPart`${type} = CASE ${scalar} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END`
      : sqlPart`(${type} IN ${types} AND ${value} ${operator} ${scalar})`;
  if (operator !== "=" || isConstant(other)) return condition;
  return sqlPart`(${condition} OR (${isNullSql(scope, json)} AND ${scalar} IS NULL))`;
}

function containsSql(scope: Scope, left: Operand, right: Operand): SqlPart {
  if (left.type !== "path" || left.valueType !== "json") return textContains(scope, valueSql(scope, left), right);
  const text = textContains(scope, askJson(scope, left, "json_extract"), right);
  const list = sqlPart`_contains_item(${askJson(scope, left, "json_extract")}, ${valueSql(scope, right)})`;
  return sqlPart`CASE ${askJson(scope, left, "json_type")} WHEN 'text' THEN ${text} WHEN 'array' THEN ${list} END`;
}

/** Whether a text contains another text. ASCII does without our own SQL function, which takes three times as long. */
function textContains(scope: Scope, text: SqlPart, wanted: Operand): SqlPart {
  if (wanted.type === "value" && typeof wanted.value === "string" && isAscii(wanted.value))
    return sqlPart`instr(lower(${text}), ${textParameter(wanted.value.toLowerCase())}) > 0`;
  return sqlPart`_contains(${text}, ${valueSql(scope, wanted)})`;
}

/** The value is in a list of constants, all not null. */
function constantsIn(scope: Scope, left: Operand, constants: readonly Operand[]): SqlPart[] {
  if (left.type === "path" && left.valueType === "json") return jsonIn(scope, left, constants);
  const within = (column: SqlPart): SqlPart => sqlPart`${column} IN ${listSql(scope, constants)}`;
  if (!crossesRelation(left)) return [within(valueSql(scope, left))];
  return [lookUpColumn(scope, left, (column) => within(plain(column)))];
}

/** A list for each type of JSON. */
function jsonIn(scope: Scope, json: Path, constants: readonly Operand[]): SqlPart[] {
  const parts = constants
    .filter(({ valueType }) => valueType === "boolean")
    .map((other) => jsonSql(scope, { operator: "=", json, other }));
  for (const valueType of ["text", "number"] as const) {
    const alike = constants.filter((item) => item.valueType === valueType);
    if (alike.length === 0) continue;
    const value = valueType === "number" ? jsonNumberSql(scope, json) : askJson(scope, json, "json_extract");
    const isOfType = sqlPart`${askJson(scope, json, "json_type")} IN ${jsonTypes[valueType]}`;
    parts.push(sqlPart`(${isOfType} AND ${value} IN ${listSql(scope, alike)})`);
  }
  return parts;
}

/** Whether an operand is a path through relations to a column. */
function crossesRelation(operand: Operand): operand is Path {
  return operand.type === "path" && operand.up === 0 && operand.hops.length > 0 && operand.members.length === 0;
}

function valueSql(scope: Scope, operand: Operand): SqlPart {
  switch (operand.type) {
    case "path":
      return pathSqlIn(scope, operand);
    case "call":
      return callSql(scope, operand);
    case "macro":
      return macroSql(scope, operand);
    case "value":
      return parameter(operand);
  }
}

function callSql(scope: Scope, operand: CallOperand): SqlPart {
  switch (operand.call) {
    case "lower":
      return sqlPart`_lower(${pathSqlIn(scope, operand.argument)})`;
    case "length":
      return lengthSql(scope, operand.argument);
    case "distance":
      return distanceSql(pathSqlIn(scope, operand.argument), operand.point);
  }
}

/** The metres to a point. @param from a place, or its latitude and longitude. */
function distanceSql(from: SqlPart | string, { lat, lon }: GeoPoint): SqlPart {
  return sqlPart`_distance(${from}, ${numberParameter(lat)}, ${numberParameter(lon)})`;
}

/** Values in parentheses, for IN. */
function listSql(scope: Scope, items: readonly Operand[]): SqlPart {
  const values = items.map((item) => valueSql(scope, item));
  return sqlPart`(${separated(values, ", ")})`;
}

/** The scalar that a path leads to: also a text, a number or, as 0 and 1, a boolean inside JSON. */
function pathSqlIn(scope: Scope, path: Path): SqlPart {
  return scope.along(path, (column) => {
    if (path.members.length === 0) return plain(column);
    const way = wayInto(scope, path);
    // A number in JSON may have more digits than a double: a sent-back number must stay the same.
    const value = sqlPart`json_extract(${column}, ${way})`;
    return sqlPart`CASE json_type(${column}, ${way}) WHEN 'integer' THEN CAST(${value} AS REAL) ELSE ${value} END`;
  });
}

/** The answer of an SQL function of JSON about the end of a path. */
function askJson(scope: Scope, path: Path, name: "json_type" | "json_extract" | "json_array_length"): SqlPart {
  return scope.along(path, (column) => sqlPart`${name}(${column}, ${wayInto(scope, path)})`);
}

/** A number inside JSON; see `pathSqlIn`. */
function jsonNumberSql(scope: Scope, path: Path): SqlPart {
  return sqlPart`CAST(${askJson(scope, path, "json_extract")} AS REAL)`;
}

/** The way into JSON that a path goes; while any item is compared, from the item on. */
function wayInto(scope: Scope, { members }: Path): SqlPart {
  const any = members.indexOf(null);
  if (any < 0 || scope.item === null) return textParameter(`$${memberPath(members)}`);
  return sqlPart`(${scope.item}.fullkey || ${textParameter(memberPath(members.slice(any + 1)))})`;
}

function lengthSql(scope: Scope, path: Path): SqlPart {
  if (path.valueType !== "json") return sqlPart`length(${pathSqlIn(scope, path)})`;
  const length = askJson(scope, path, "json_array_length");
  const [type, text] = [askJson(scope, path, "json_type"), askJson(scope, path, "json_extract")];
  return sqlPart`CASE ${type} WHEN 'array' THEN ${length} WHEN 'text' THEN length(${text}) END`;
}

function macroSql({ options: { caller, users } }: Scope, macro: Constant & { type: "macro" }): SqlPart {
  if (!macro.name.startsWith("user.")) return parameter(macro);
  const looked = { "user.email": "email", "user.anonymous": "email IS NULL" }[macro.name as string];
  if (looked !== undefined && users !== undefined) {
    const id = caller === undefined ? parameter({ ...macro, name: "user.id" }) : plain(`${caller}.id`);
    return sqlPart`(SELECT ${looked} FROM ${identifier(users)} WHERE id = ${id})`;
  }
  return caller === undefined ? parameter(macro) : plain(`${caller}.${macro.name.slice("user.".length)}`);
}
