/** Values: the operands of an expression as SQL scalars, also those inside JSON. */
import { identifier } from "../../../store/database/index.ts";
import type { Constant, Operand, Path } from "../expression.ts";
import type { Scope } from "./scope.ts";
import { join, memberPath, parameter, plain, type Sql, separated, textParameter } from "./text.ts";

export function valueSql(scope: Scope, operand: Operand): Sql {
  switch (operand.type) {
    case "path":
      return pathSqlIn(scope, operand);
    case "call":
      return operand.call === "lower"
        ? join(["_lower(", pathSqlIn(scope, operand.argument), ")"])
        : lengthSql(scope, operand.argument);
    case "macro":
      return macroSql(scope, operand);
    case "value":
      return parameter(operand);
  }
}

/** Values in parentheses, for IN. */
export function listSql(scope: Scope, items: readonly Operand[]): Sql {
  const values = items.map((item) => valueSql(scope, item));
  return join(["(", separated(values, ", "), ")"]);
}

/** The scalar that a path leads to: also a text, a number or, as 0 and 1, a boolean inside JSON. */
export function pathSqlIn(scope: Scope, path: Path): Sql {
  return scope.along(path, (column) => {
    if (path.members.length === 0) return plain(column);
    const way = wayInto(scope, path);
    // A number in JSON may have more digits than a double: a sent-back number must stay the same.
    return join([
      `CASE json_type(${column}, `,
      way,
      `) WHEN 'integer' THEN CAST(json_extract(${column}, `,
      way,
      `) AS REAL) ELSE json_extract(${column}, `,
      way,
      ") END",
    ]);
  });
}

export function jsonTypeSql(scope: Scope, path: Path): Sql {
  return scope.along(path, (column) => join([`json_type(${column}, `, wayInto(scope, path), ")"]));
}

export function jsonValueSql(scope: Scope, path: Path): Sql {
  return scope.along(path, (column) => join([`json_extract(${column}, `, wayInto(scope, path), ")"]));
}

/** A number inside JSON; see `pathSqlIn`. */
export function jsonNumberSql(scope: Scope, path: Path): Sql {
  return scope.along(path, (column) => join([`CAST(json_extract(${column}, `, wayInto(scope, path), ") AS REAL)"]));
}

/** The way into JSON that a path goes; while any item is compared, from the item on. */
function wayInto(scope: Scope, { members }: Path): Sql {
  const any = members.indexOf(null);
  if (any < 0 || scope.item === null) return textParameter(`$${memberPath(members)}`);
  return join([`(${scope.item}.fullkey || `, textParameter(memberPath(members.slice(any + 1))), ")"]);
}

function lengthSql(scope: Scope, path: Path): Sql {
  if (path.valueType !== "json") return join(["length(", pathSqlIn(scope, path), ")"]);
  const length = scope.along(path, (column) => join([`json_array_length(${column}, `, wayInto(scope, path), ")"]));
  const [type, text] = [jsonTypeSql(scope, path), jsonValueSql(scope, path)];
  return join(["CASE ", type, " WHEN 'array' THEN ", length, " WHEN 'text' THEN length(", text, ") END"]);
}

function macroSql({ options: { caller, users } }: Scope, macro: Constant & { type: "macro" }): Sql {
  if (!macro.name.startsWith("user.")) return parameter(macro);
  if (macro.name === "user.email" && users !== undefined) {
    const id = caller === undefined ? parameter({ ...macro, name: "user.id" }) : plain(`${caller}.id`);
    return join([`(SELECT email FROM ${identifier(users)} WHERE id = `, id, ")"]);
  }
  return caller === undefined ? parameter(macro) : plain(`${caller}.${macro.name.slice("user.".length)}`);
}
