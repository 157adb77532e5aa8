import { identifier, visited } from "../database/index.ts";
import { isAscii } from "../kernel/index.ts";
import { type Constant, type Expression, isNull, type Operand, type Path } from "./expression.ts";
import type { Comparison } from "./tokens.ts";

/** A part of an SQL text and the constants that stand for its `?`, in their order. */
export interface Sql {
  readonly text: string;
  readonly values: readonly Constant[];
}

/** The id of whoever asks. */
export const caller: Constant = { type: "macro", name: "user.id", valueType: "text" };

function constant(value: string): Constant {
  return { type: "value", value, valueType: "text" };
}

/** What SQLite calls the types of JSON that are one valueType. */
const jsonTypes = { text: "('text')", number: "('integer', 'real')" } as const;

function pathIn({ members }: Path): string {
  return `$${members.map((member) => `."${member}"`).join("")}`;
}

/** The bytes of a value, as SQL; they are known without reading it. */
export function lengthOf(column: string): string {
  return `coalesce(octet_length(${column}), 0)`;
}

/**
 * The value of a field as SQL.
 * @param place the alias of the table in which the path begins.
 * @param read what is read of the column, as `"a"."b"` gives it.
 */
function reach(path: Path, place: string, read: (column: string) => Sql): Sql {
  let from = place;
  const opening: string[] = [];
  const owners: Constant[] = [];
  const conditions: string[] = [];
  for (const [i, { field, target }] of path.hops.entries()) {
    const alias = `_r${i + 1}`;
    const own = target.ownColumn === null ? "" : ` AND ${alias}.${identifier(target.ownColumn)} = ?`;
    if (own !== "") owners.push(caller);
    opening.push(`${identifier(target.table)} ${alias}`);
    conditions.push(`${alias}.id = ${from}.${identifier(field.column)}${own}`);
    from = alias;
  }
  const column = `${from}.${identifier(path.field.column)}`;
  const inner = read(column);
  if (opening.length === 0) return inner;
  // What is here is looked at for each row elsewhere; that it is long is noticed here alone.
  if (path.field.isLong) conditions.push(visited(from, lengthOf(column)));
  return {
    text: `(SELECT ${inner.text} FROM ${opening.join(", ")} WHERE ${conditions.join(" AND ")})`,
    values: [...inner.values, ...owners],
  };
}

/** A number in JSON may have more digits than a number of ours: what we write back must be the same one. */
function jsonScalar(column: string): string {
  return `CASE json_type(${column}, ?) WHEN 'integer' THEN CAST(json_extract(${column}, ?) AS REAL) ELSE json_extract(${column}, ?) END`;
}

/** The scalar that a path leads to, as SQL: also what inside JSON is a text, a number or, as 0 and 1, a boolean. */
export function pathSql(path: Path, place: string): Sql {
  return reach(path, place, (column) => {
    if (path.members.length === 0) return { text: column, values: [] };
    const way = constant(pathIn(path));
    return { text: jsonScalar(column), values: [way, way, way] };
  });
}

/**
 * A condition on what a path leads to, asked the other way round: the records that meet it are looked up once, and then
 * those that point to them. `condition` is one that NULL does not meet.
 */
function lookUp(path: Path, place: string, condition: (column: string) => Sql): Sql {
  const places = [place, ...path.hops.map((_, i) => `_r${i + 1}`)];
  let inner = condition(`${places.at(-1)}.${identifier(path.field.column)}`);
  for (const [i, { field, target }] of [...path.hops.entries()].reverse()) {
    const [from, alias] = [places[i], places[i + 1]];
    const opening = `${from}.${identifier(field.column)} IN (SELECT ${alias}.id FROM ${identifier(target.table)} ${alias} WHERE `;
    const own = target.ownColumn === null ? "" : ` AND ${alias}.${identifier(target.ownColumn)} = ?`;
    const owner: Sql = { text: own, values: own === "" ? [] : [caller] };
    const weight =
      i === path.hops.length - 1 && path.field.isLong ? lengthOf(`${alias}.${identifier(path.field.column)}`) : null;
    inner = join([`${opening}${visited(alias ?? "", weight)} AND `, inner, owner, ")"]);
  }
  return inner;
}

function jsonSql(path: Path, place: string, called: "json_type" | "json_extract"): Sql {
  return reach(path, place, (column) => ({ text: `${called}(${column}, ?)`, values: [constant(pathIn(path))] }));
}

/** A number inside JSON; see `jsonScalar`. */
function jsonNumber(path: Path, place: string): Sql {
  return reach(path, place, (column) => ({
    text: `CAST(json_extract(${column}, ?) AS REAL)`,
    values: [constant(pathIn(path))],
  }));
}

function join(parts: readonly (string | Sql)[]): Sql {
  return {
    text: parts.map((part) => (typeof part === "string" ? part : part.text)).join(""),
    values: parts.flatMap((part) => (typeof part === "string" ? [] : part.values)),
  };
}

function separated(parts: readonly Sql[], separator: string): (Sql | string)[] {
  return parts.flatMap((part, i) => (i === 0 ? [part] : [separator, part]));
}

/**
 * Compiles expressions to SQL conditions. A condition may be NULL where it does not hold; `negated` ones say the exact
 * opposite, so that nothing is lost between the two.
 */
class Compiler {
  readonly #place: string;

  constructor(place: string) {
    this.#place = place;
  }

  compile(expression: Expression, negated: boolean): Sql {
    switch (expression.type) {
      case "not":
        return this.compile(expression.item, !negated);
      case "and":
      case "or": {
        const sign = (expression.type === "and") !== negated ? " AND " : " OR ";
        return join([
          "(",
          ...separated(
            expression.items.map((item) => this.compile(item, negated)),
            sign,
          ),
          ")",
        ]);
      }
      case "compare":
        return this.#compare(expression, negated);
      case "in":
        return this.#in(expression.left, expression.items, negated);
    }
  }

  #compare({ operator, left, right }: Compare, negated: boolean): Sql {
    const isOpposite = operator === "!=" || operator === "!~";
    const positive = operator === "!=" ? "=" : operator === "!~" ? "~" : operator;
    const condition = this.#positive(positive, left, right);
    return isOpposite === negated ? condition : join(["(", condition, ") IS NOT TRUE"]);
  }

  #positive(operator: Exclude<Comparison, "!=" | "!~">, left: Operand, right: Operand): Sql {
    if (operator === "~") return this.#contains(left, right);
    if (operator === "=" && isNull(right)) return this.#isNull(left);
    if (operator === "=" && isNull(left)) return this.#isNull(right);
    if (left.valueType === "json") return this.#ofJson(operator, left, right);
    if (right.valueType === "json") return this.#ofJson(turned[operator], right, left);
    if (operator === "=" && isReached(left) && right.type !== "path")
      return lookUp(left, this.#place, (column) => join([`${column} = `, this.#value(right)]));
    if (operator === "=" && isReached(right) && left.type !== "path") return this.#positive("=", right, left);
    // Two fields without a value are equal; the caller that is nobody equals none of them.
    const areFields = left.type === "path" && right.type === "path";
    const sign = operator === "=" && areFields ? "IS" : operator;
    return join([this.#value(left), ` ${sign} `, this.#value(right)]);
  }

  #isNull(operand: Operand): Sql {
    if (operand.valueType === "json" && operand.type === "path") {
      // JSON's null, no such member and no value at all.
      return join(["coalesce(", jsonSql(operand, this.#place, "json_type"), ", 'null') = 'null'"]);
    }
    return join([this.#value(operand), " IS NULL"]);
  }

  #ofJson(operator: Ordering | "=", json: Operand, other: Operand): Sql {
    if (json.type !== "path") throw new Error("JSON is in fields alone");
    const type = jsonSql(json, this.#place, "json_type");
    const scalar = this.#value(other);
    const isNumber = other.valueType === "number";
    const value = isNumber ? jsonNumber(json, this.#place) : jsonSql(json, this.#place, "json_extract");
    const types = jsonTypes[isNumber ? "number" : "text"];
    const condition =
      other.valueType === "boolean"
        ? join([type, " = CASE ", scalar, " WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"])
        : join(["(", type, ` IN ${types} AND `, value, ` ${operator} `, scalar, ")"]);
    if (operator !== "=" || other.type !== "path") return condition;
    return join(["(", condition, " OR (", this.#isNull(json), " AND ", scalar, " IS NULL))"]);
  }

  #contains(left: Operand, right: Operand): Sql {
    if (left.type !== "path" || left.valueType !== "json")
      return holds(this.#value(left), right, (other) => this.#value(other));
    const type = jsonSql(left, this.#place, "json_type");
    const text = holds(jsonSql(left, this.#place, "json_extract"), right, (other) => this.#value(other));
    const array = jsonSql(left, this.#place, "json_extract");
    const list = join(["_contains_item(", array, ", ", this.#value(right), ")"]);
    return join(["CASE ", type, " WHEN 'text' THEN ", text, " WHEN 'array' THEN ", list, " END"]);
  }

  #in(left: Operand, items: readonly Operand[], negated: boolean): Sql {
    const constants = items.filter((item) => item.type !== "path" && !isNull(item));
    const parts =
      left.valueType === "json" && left.type === "path"
        ? this.#jsonIn(left, constants)
        : constants.length === 0
          ? []
          : [this.#plainIn(left, constants)];
    for (const item of items) if (!constants.includes(item)) parts.push(this.#positive("=", left, item));
    const oneOfThem = join(["(", ...separated(parts, " OR "), ")"]);
    return negated ? join([oneOfThem, " IS NOT TRUE"]) : oneOfThem;
  }

  #plainIn(left: Operand, constants: readonly Operand[]): Sql {
    const within = (column: Sql): Sql => join([column, " IN ", this.#list(constants)]);
    if (!isReached(left)) return within(this.#value(left));
    return lookUp(left, this.#place, (column) => within({ text: column, values: [] }));
  }

  /** One list for each type that JSON knows. */
  #jsonIn(json: Path, constants: readonly Operand[]): Sql[] {
    const parts = constants
      .filter(({ valueType }) => valueType === "boolean")
      .map((item) => this.#ofJson("=", json, item));
    for (const valueType of ["text", "number"] as const) {
      const alike = constants.filter((item) => item.valueType === valueType);
      if (alike.length === 0) continue;
      const value = valueType === "number" ? jsonNumber(json, this.#place) : jsonSql(json, this.#place, "json_extract");
      const type = jsonSql(json, this.#place, "json_type");
      parts.push(join(["(", type, ` IN ${jsonTypes[valueType]} AND `, value, " IN ", this.#list(alike), ")"]));
    }
    return parts;
  }

  #list(items: readonly Operand[]): Sql {
    return join([
      "(",
      ...separated(
        items.map((item) => this.#value(item)),
        ", ",
      ),
      ")",
    ]);
  }

  #value(operand: Operand): Sql {
    return operand.type === "path" ? pathSql(operand, this.#place) : { text: "?", values: [operand] };
  }
}

/** Whether a path goes through relations to a column. */
function isReached(operand: Operand): operand is Path {
  return operand.type === "path" && operand.hops.length > 0 && operand.members.length === 0;
}

type Compare = Extract<Expression, { type: "compare" }>;

type Ordering = ">" | ">=" | "<" | "<=";

/** The same comparison with its sides changed. */
const turned: { readonly [operator in Ordering | "="]: Ordering | "=" } = {
  "=": "=",
  ">": "<",
  ">=": "<=",
  "<": ">",
  "<=": ">=",
};

/** Whether a text holds another. What is ASCII needs no function of ours, which takes three times as long. */
function holds(text: Sql, wanted: Operand, toValue: (operand: Operand) => Sql): Sql {
  if (wanted.type === "value" && typeof wanted.value === "string" && isAscii(wanted.value))
    return join(["instr(lower(", text, "), ", { text: "?", values: [constant(wanted.value.toLowerCase())] }, ") > 0"]);
  return join(["_contains(", text, ", ", toValue(wanted), ")"]);
}

/**
 * An expression as an SQL condition over the table with the alias `place`; it holds where it is true, not where it is
 * false or NULL.
 */
export function toSql(expression: Expression, place: string): Sql {
  return new Compiler(place).compile(expression, false);
}
