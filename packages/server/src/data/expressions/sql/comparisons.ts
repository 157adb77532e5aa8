/**
 * Comparisons as SQL conditions. A condition that does not hold may be NULL; a negated condition is the exact opposite, so that
 * every record fulfils either.
 */

import type { Comparison } from "@socle/protocol/filter";
import { isAscii } from "../../../base/kernel/index.ts";
import { type Expression, isConstant, isNull, type Operand, type Path } from "../expression.ts";
import { lookUpColumn } from "./related.ts";
import type { Scope } from "./scope.ts";
import { join, memberPath, opposite, plain, type Sql, separated, textParameter } from "./text.ts";
import { jsonNumberSql, jsonTypeSql, jsonValueSql, listSql, valueSql } from "./values.ts";

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

export function compareSql(scope: Scope, comparison: Compare, negated: boolean): Sql {
  const { operator, left, right } = comparison;
  if (asksAnyItem(scope, left))
    return opposite(
      anyItemSql(scope, left, (item) => compareSql(item, comparison, false)),
      negated,
    );
  const isOpposite = operator === "!=" || operator === "!~";
  const positive = operator === "!=" ? "=" : operator === "!~" ? "~" : operator;
  return opposite(positiveSql(scope, { operator: positive, left, right }), isOpposite !== negated);
}

export function inSql(scope: Scope, expression: In, negated: boolean): Sql {
  const { left, items } = expression;
  if (asksAnyItem(scope, left))
    return opposite(
      anyItemSql(scope, left, (item) => inSql(item, expression, false)),
      negated,
    );
  const constants = items.filter((item) => isConstant(item) && !isNull(item));
  const parts = constants.length === 0 ? [] : constantsIn(scope, left, constants);
  for (const item of items)
    if (!constants.includes(item)) parts.push(positiveSql(scope, { operator: "=", left, right: item }));
  return opposite(join(["(", separated(parts, " OR "), ")"]), negated);
}

function asksAnyItem(scope: Scope, operand: Operand): operand is Path {
  return operand.type === "path" && operand.members.includes(null) && scope.item === null;
}

/** A condition on any item of the JSON array that a path names. @param condition compiles the condition for an item. */
function anyItemSql(scope: Scope, path: Path, condition: (scope: Scope) => Sql): Sql {
  const alias = scope.newAlias();
  const column = scope.along({ ...path, members: [] }, plain);
  const inner = condition(scope.withItem(alias));
  const way = textParameter(`$${memberPath(path.members.slice(0, path.members.indexOf(null)))}`);
  const isArray = join(["json_type(", column, ", ", way, ") = 'array'"]);
  return join([
    "EXISTS (SELECT 1 FROM json_each(CASE WHEN ",
    isArray,
    " THEN ",
    column,
    " END, ",
    way,
    `) ${alias} WHERE `,
    inner,
    ")",
  ]);
}

interface Positive {
  readonly operator: Exclude<Comparison, "!=" | "!~">;
  readonly left: Operand;
  readonly right: Operand;
}

function positiveSql(scope: Scope, { operator, left, right }: Positive): Sql {
  if (operator === "~") return containsSql(scope, left, right);
  if (operator === "=" && isNull(right)) return isNullSql(scope, left);
  if (operator === "=" && isNull(left)) return isNullSql(scope, right);
  if (left.type === "path" && left.valueType === "json") return jsonSql(scope, { operator, json: left, other: right });
  if (right.type === "path" && right.valueType === "json")
    return jsonSql(scope, { operator: swapped[operator], json: right, other: left });
  if (operator === "=" && crossesRelation(left) && isConstant(right))
    return lookUpColumn(scope, left, (column) => join([`${column} = `, valueSql(scope, right)]));
  if (operator === "=" && crossesRelation(right) && isConstant(left))
    return positiveSql(scope, { operator, left: right, right: left });
  // Two fields without a value are equal; a missing caller equals no field.
  const areFields = !isConstant(left) && !isConstant(right);
  const sign = operator === "=" && areFields ? "IS" : operator;
  return join([valueSql(scope, left), ` ${sign} `, valueSql(scope, right)]);
}

function isNullSql(scope: Scope, operand: Operand): Sql {
  if (operand.valueType !== "json" || operand.type !== "path") return join([valueSql(scope, operand), " IS NULL"]);
  // JSON's null, a missing member and a missing value.
  return join(["coalesce(", jsonTypeSql(scope, operand), ", 'null') = 'null'"]);
}

interface JsonComparison {
  readonly operator: Ordering | "=";
  readonly json: Path;
  readonly other: Operand;
}

function jsonSql(scope: Scope, { operator, json, other }: JsonComparison): Sql {
  const type = jsonTypeSql(scope, json);
  const scalar = valueSql(scope, other);
  const isNumber = other.valueType === "number";
  const value = isNumber ? jsonNumberSql(scope, json) : jsonValueSql(scope, json);
  const types = jsonTypes[isNumber ? "number" : "text"];
  const condition =
    other.valueType === "boolean"
      ? join([type, " = CASE ", scalar, " WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"])
      : join(["(", type, ` IN ${types} AND `, value, ` ${operator} `, scalar, ")"]);
  if (operator !== "=" || isConstant(other)) return condition;
  return join(["(", condition, " OR (", isNullSql(scope, json), " AND ", scalar, " IS NULL))"]);
}

function containsSql(scope: Scope, left: Operand, right: Operand): Sql {
  if (left.type !== "path" || left.valueType !== "json") return textContains(scope, valueSql(scope, left), right);
  const text = textContains(scope, jsonValueSql(scope, left), right);
  const list = join(["_contains_item(", jsonValueSql(scope, left), ", ", valueSql(scope, right), ")"]);
  return join(["CASE ", jsonTypeSql(scope, left), " WHEN 'text' THEN ", text, " WHEN 'array' THEN ", list, " END"]);
}

/** Whether a text contains another. ASCII does without our own SQL function, which takes three times as long. */
function textContains(scope: Scope, text: Sql, wanted: Operand): Sql {
  if (wanted.type === "value" && typeof wanted.value === "string" && isAscii(wanted.value))
    return join(["instr(lower(", text, "), ", textParameter(wanted.value.toLowerCase()), ") > 0"]);
  return join(["_contains(", text, ", ", valueSql(scope, wanted), ")"]);
}

/** The value is in a list of constants, all of them not null. */
function constantsIn(scope: Scope, left: Operand, constants: readonly Operand[]): Sql[] {
  if (left.type === "path" && left.valueType === "json") return jsonIn(scope, left, constants);
  const within = (column: Sql): Sql => join([column, " IN ", listSql(scope, constants)]);
  if (!crossesRelation(left)) return [within(valueSql(scope, left))];
  return [lookUpColumn(scope, left, (column) => within(plain(column)))];
}

/** A list for each type of JSON. */
function jsonIn(scope: Scope, json: Path, constants: readonly Operand[]): Sql[] {
  const parts = constants
    .filter(({ valueType }) => valueType === "boolean")
    .map((other) => jsonSql(scope, { operator: "=", json, other }));
  for (const valueType of ["text", "number"] as const) {
    const alike = constants.filter((item) => item.valueType === valueType);
    if (alike.length === 0) continue;
    const value = valueType === "number" ? jsonNumberSql(scope, json) : jsonValueSql(scope, json);
    const isOfType = join([jsonTypeSql(scope, json), ` IN ${jsonTypes[valueType]}`]);
    parts.push(join(["(", isOfType, " AND ", value, " IN ", listSql(scope, alike), ")"]));
  }
  return parts;
}

/** Whether an operand is a path through relations to a column. */
function crossesRelation(operand: Operand): operand is Path {
  return operand.type === "path" && operand.up === 0 && operand.hops.length > 0 && operand.members.length === 0;
}
