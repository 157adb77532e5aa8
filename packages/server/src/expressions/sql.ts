/**
 * Expressions as SQL conditions.
 *
 * A path through relations becomes a correlated subquery, or, where it is compared with a constant for equality, a lookup
 * the other way round: the records that meet the condition are found once, by an index where there is one, and then those
 * that point to them. Each collection that is entered adds the condition under which its records may be read.
 */
import { identifier, stopProbe } from "../database/index.ts";
import { isAscii } from "../kernel/index.ts";
import { type Constant, type Expression, type Hop, isNull, type Operand, type Path } from "./expression.ts";
import type { Comparison } from "./tokens.ts";

/** A part of an SQL text and the constants that stand for its `?`, in their order. */
export interface Sql {
  readonly text: string;
  readonly values: readonly Constant[];
}

export interface SqlOptions {
  /** Whether subqueries say how far they have come, so that a thread can be stopped. */
  readonly isProbed?: boolean;
}

function constant(value: string): Constant {
  return { type: "value", value, valueType: "text" };
}

/** What SQLite calls the types of JSON that are one value type. */
const jsonTypes = { text: "('text')", number: "('integer', 'real')" } as const;

function pathIn({ members }: Path): string {
  return `$${members.map((member) => `."${member}"`).join("")}`;
}

/** A number in JSON may have more digits than a double: what is written back must be the same one. */
function jsonScalar(column: string): string {
  return `CASE json_type(${column}, ?) WHEN 'integer' THEN CAST(json_extract(${column}, ?) AS REAL) ELSE json_extract(${column}, ?) END`;
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

/** A condition on a column that NULL does not meet. */
type ColumnCondition = (column: string) => Sql;

/**
 * Compiles expressions to SQL conditions. A condition may be NULL where it does not hold; `negated` ones say the exact
 * opposite, so that nothing is lost between the two.
 */
class Compiler {
  readonly #alias: string;
  readonly #options: SqlOptions;
  /** The number of the next alias: conditions may enter further collections, and no alias hides another. */
  readonly #next: { alias: number };

  constructor(alias: string, options: SqlOptions, next = { alias: 1 }) {
    this.#alias = alias;
    this.#options = options;
    this.#next = next;
  }

  /** The scalar that a path leads to, as SQL: also a text, a number or, as 0 and 1, a boolean inside JSON. */
  path(path: Path): Sql {
    return this.#along(path, (column) => {
      if (path.members.length === 0) return { text: column, values: [] };
      const way = constant(pathIn(path));
      return { text: jsonScalar(column), values: [way, way, way] };
    });
  }

  /** The value of a field. @param read what is read of its column, as `"a"."b"` gives it. */
  #along(path: Path, read: (column: string) => Sql): Sql {
    if (path.hops.length === 0) return read(`${this.#alias}.${identifier(path.field.column)}`);
    let from = this.#alias;
    const tables: string[] = [];
    const conditions: Sql[] = [];
    for (const hop of path.hops) {
      const alias = this.#newAlias();
      tables.push(`${identifier(hop.target.table)} ${alias}`);
      conditions.push(
        { text: `${alias}.id = ${from}.${identifier(hop.field.column)}`, values: [] },
        ...this.#readable(hop, alias),
      );
      from = alias;
    }
    const inner = read(`${from}.${identifier(path.field.column)}`);
    return join(["(SELECT ", inner, ` FROM ${tables.join(", ")} WHERE `, ...separated(conditions, " AND "), ")"]);
  }

  /** The records whose path meets a condition, looked up from its end. */
  #lookUp({ hops, field }: Path, condition: ColumnCondition): Sql {
    const [hop, ...rest] = hops;
    if (hop === undefined) return condition(`${this.#alias}.${identifier(field.column)}`);
    const alias = this.#newAlias();
    const at = new Compiler(alias, this.#options, this.#next);
    const inner = at.#lookUp({ type: "path", hops: rest, field, members: [], valueType: field.valueType }, condition);
    const probe = this.#options.isProbed === true ? [{ text: stopProbe(alias), values: [] }] : [];
    const conditions = [...probe, inner, ...this.#readable(hop, alias)];
    const opening = `${this.#alias}.${identifier(hop.field.column)} IN (SELECT ${alias}.id FROM ${identifier(hop.target.table)} ${alias} WHERE `;
    return join([opening, ...separated(conditions, " AND "), ")"]);
  }

  /** The condition under which the caller may read the records that a hop leads to. */
  #readable({ target }: Hop, alias: string): Sql[] {
    if (target.condition === null) return [];
    return [new Compiler(alias, this.#options, this.#next).compile(target.condition, false)];
  }

  #newAlias(): string {
    const alias = `_r${this.#next.alias}`;
    this.#next.alias += 1;
    return alias;
  }

  #jsonSql(path: Path, called: "json_type" | "json_extract"): Sql {
    return this.#along(path, (column) => ({ text: `${called}(${column}, ?)`, values: [constant(pathIn(path))] }));
  }

  /** A number inside JSON; see `jsonScalar`. */
  #jsonNumber(path: Path): Sql {
    return this.#along(path, (column) => ({
      text: `CAST(json_extract(${column}, ?) AS REAL)`,
      values: [constant(pathIn(path))],
    }));
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
    if (right.valueType === "json") return this.#ofJson(swapped[operator], right, left);
    if (operator === "=" && crossesRelation(left) && right.type !== "path")
      return this.#lookUp(left, (column) => join([`${column} = `, this.#value(right)]));
    if (operator === "=" && crossesRelation(right) && left.type !== "path") return this.#positive("=", right, left);
    // Two fields without a value are equal; the caller that is nobody equals none of them.
    const areFields = left.type === "path" && right.type === "path";
    const sign = operator === "=" && areFields ? "IS" : operator;
    return join([this.#value(left), ` ${sign} `, this.#value(right)]);
  }

  #isNull(operand: Operand): Sql {
    if (operand.valueType === "json" && operand.type === "path") {
      // JSON's null, no such member and no value at all.
      return join(["coalesce(", this.#jsonSql(operand, "json_type"), ", 'null') = 'null'"]);
    }
    return join([this.#value(operand), " IS NULL"]);
  }

  #ofJson(operator: Ordering | "=", json: Operand, other: Operand): Sql {
    if (json.type !== "path") throw new Error("JSON is in fields alone");
    const type = this.#jsonSql(json, "json_type");
    const scalar = this.#value(other);
    const isNumber = other.valueType === "number";
    const value = isNumber ? this.#jsonNumber(json) : this.#jsonSql(json, "json_extract");
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
    const type = this.#jsonSql(left, "json_type");
    const text = holds(this.#jsonSql(left, "json_extract"), right, (other) => this.#value(other));
    const array = this.#jsonSql(left, "json_extract");
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
    if (!crossesRelation(left)) return within(this.#value(left));
    return this.#lookUp(left, (column) => within({ text: column, values: [] }));
  }

  /** One list for each type that JSON knows. */
  #jsonIn(json: Path, constants: readonly Operand[]): Sql[] {
    const parts = constants
      .filter(({ valueType }) => valueType === "boolean")
      .map((item) => this.#ofJson("=", json, item));
    for (const valueType of ["text", "number"] as const) {
      const alike = constants.filter((item) => item.valueType === valueType);
      if (alike.length === 0) continue;
      const value = valueType === "number" ? this.#jsonNumber(json) : this.#jsonSql(json, "json_extract");
      const type = this.#jsonSql(json, "json_type");
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
    return operand.type === "path" ? this.path(operand) : { text: "?", values: [operand] };
  }
}

/** Whether an operand is a path through relations to a column. */
function crossesRelation(operand: Operand): operand is Path {
  return operand.type === "path" && operand.hops.length > 0 && operand.members.length === 0;
}

type Compare = Extract<Expression, { type: "compare" }>;

type Ordering = ">" | ">=" | "<" | "<=";

/** The same comparison with its sides changed. */
const swapped: { readonly [operator in Ordering | "="]: Ordering | "=" } = {
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

/** The scalar that a path leads to from a row of the table with this alias, as SQL. */
export function pathSql(path: Path, alias: string): Sql {
  return new Compiler(alias, {}).path(path);
}

/** An expression as an SQL condition over the table with this alias: it holds where it is true, not where it is false or NULL. */
export function toSql(expression: Expression, alias: string, options: SqlOptions = {}): Sql {
  return new Compiler(alias, options).compile(expression, false);
}
