/**
 * Expressions as SQL conditions.
 *
 * A path through relations becomes a correlated subquery; where it is compared with a constant for equality, it becomes
 * a lookup the other way round: the records that fulfil the condition are found once, by an index where there is one,
 * and then those that point to them. A backward step becomes EXISTS, or, where an index finds the records that fulfil
 * its condition, such a lookup. Each collection that is entered adds the condition under which the caller may read its
 * records. A condition that is asked of one record begins there, in any case.
 */
import { identifier, stopProbe } from "../database/index.ts";
import { isAscii } from "../kernel/index.ts";
import {
  type Constant,
  columnOf,
  type Expression,
  eachOperand,
  type Hop,
  isConstant,
  isNull,
  type Member,
  type Operand,
  type Path,
  pathOf,
  type Some,
} from "./expression.ts";
import type { ExpressionSchema } from "./schema.ts";
import type { Comparison } from "./tokens.ts";

/** A part of an SQL text and the constants that stand for its `?`, in their order. */
export interface Sql {
  readonly text: string;
  readonly values: readonly Constant[];
}

export interface SqlOptions {
  /** Whether subqueries say how far they have come, so that a thread can be stopped. */
  readonly isProbed?: boolean;
  /** The SQL name of the table of users, unquoted: `@user.email` is looked up there. */
  readonly users?: string;
  /** The alias of a row with the columns `id` and `role` of the caller, in place of constants. */
  readonly caller?: string;
  /** Whether the condition is asked of one record: subqueries begin at it, and not at all records that fulfil them. */
  readonly isOfOneRecord?: boolean;
}

function constant(value: string): Constant {
  return { type: "value", value, valueType: "text" };
}

/** SQLite's names for the types of JSON, by value type. */
const jsonTypes = { text: "('text')", number: "('integer', 'real')" } as const;

/** The names of members as SQLite writes a path into JSON, after its beginning. */
function memberPath(members: readonly Member[]): string {
  return members.map((member) => (typeof member === "number" ? `[${member}]` : `."${member}"`)).join("");
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

function plain(text: string): Sql {
  return { text, values: [] };
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
  /** The compiler of the record that a backward step has left; null for that of the record itself. */
  readonly #outer: Compiler | null;
  /** The number of the next alias: conditions may enter further collections, and no alias hides another. */
  readonly #next: { alias: number };
  /** The path to the array and the alias of its items, while a comparison of any item is compiled. */
  #anyItem: string | null = null;

  constructor(alias: string, options: SqlOptions, from: { outer: Compiler | null; next: { alias: number } }) {
    this.#alias = alias;
    this.#options = options;
    this.#outer = from.outer;
    this.#next = from.next;
  }

  /** The scalar that a path leads to, as SQL: also a text, a number or, as 0 and 1, a boolean inside JSON. */
  path(path: Path): Sql {
    return this.#along(path, (column) => {
      if (path.members.length === 0) return plain(column);
      const way = this.#way(path);
      // A number in JSON may have more digits than a double: writing it back must give the same number.
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

  /** The value of a field. @param read its column, as `"a"."b"` gives it. */
  #along(path: Path, read: (column: string) => Sql): Sql {
    if (path.up > 0) return this.#climb(path.up).#along({ ...path, up: 0 }, read);
    if (path.hops.length === 0) return read(`${this.#alias}.${identifier(columnOf(path))}`);
    const { tables, conditions, alias } = this.#enter(path.hops);
    const inner = read(`${alias}.${identifier(columnOf(path))}`);
    return join(["(SELECT ", inner, ` FROM ${tables.join(", ")} WHERE `, ...separated(conditions, " AND "), ")"]);
  }

  #climb(up: number): Compiler {
    let at: Compiler = this;
    for (let left = up; left > 0; left--) {
      if (at.#outer === null) throw new Error("A path begins outside of its expression");
      at = at.#outer;
    }
    return at;
  }

  /** The tables that relations lead through, from this record on, and how they are joined. */
  #enter(hops: readonly Hop[]): { tables: string[]; conditions: Sql[]; alias: string } {
    const [tables, conditions]: [string[], Sql[]] = [[], []];
    let from = this.#alias;
    for (const { field, target } of hops) {
      const alias = this.#newAlias();
      tables.push(`${identifier(target.table)} ${alias}`);
      conditions.push(plain(`${alias}.id = ${from}.${identifier(field.column)}`), ...this.#readable(target, alias));
      from = alias;
    }
    return { tables, conditions, alias: from };
  }

  /** The records whose relations lead to records that fulfil a condition, looked up from their end. */
  #lookUp(hops: readonly Hop[], atEnd: (compiler: Compiler) => Sql): Sql {
    const [hop, ...rest] = hops;
    if (hop === undefined) return atEnd(this);
    const inner = this.#at(this.#newAlias(), this.#outer);
    const conditions = [...inner.#probes(), inner.#lookUp(rest, atEnd), ...this.#readable(hop.target, inner.#alias)];
    const table = `${identifier(hop.target.table)} ${inner.#alias}`;
    const column = `${this.#alias}.${identifier(hop.field.column)}`;
    const opening =
      this.#options.isOfOneRecord === true
        ? `EXISTS (SELECT 1 FROM ${table} WHERE ${inner.#alias}.id = ${column} AND `
        : `${column} IN (SELECT ${inner.#alias}.id FROM ${table} WHERE `;
    return join([opening, ...separated(conditions, " AND "), ")"]);
  }

  #lookUpColumn(path: Path, condition: ColumnCondition): Sql {
    return this.#lookUp(path.hops, (at) => condition(`${at.#alias}.${identifier(columnOf(path))}`));
  }

  /** Some record that points to the end of `from` fulfils `item`. */
  #some(some: Some): Sql {
    const { from, target, pointer, item } = some;
    const callers = this.#callersIn(some);
    if (callers !== null) return callers;
    if (this.#options.isOfOneRecord !== true && item !== null && isSelective(item))
      return this.#lookUp(from, (at) => at.#pointedBy({ target, pointer, item }));
    const { tables, conditions, alias } = this.#enter(from);
    const inner = this.#at(this.#newAlias(), this);
    const column = `${inner.#alias}.${identifier(pointer.column)}`;
    const all = [
      ...inner.#probes(),
      ...conditions,
      plain(`${column} = ${alias}.id`),
      ...this.#readable(target, inner.#alias),
      ...(item === null ? [] : [inner.compile(item, false)]),
    ];
    const from_ = [...tables, `${identifier(target.table)} ${inner.#alias}`].join(", ");
    return join([`EXISTS (SELECT 1 FROM ${from_} WHERE `, ...separated(all, " AND "), ")"]);
  }

  /**
   * The caller is one of those that the records name, where a term of `item` says so: the records are read once for all
   * callers, and not once for each. Null where no term does, or the caller is a constant.
   */
  #callersIn({ from, target, pointer, item }: Some): Sql | null {
    const { caller } = this.#options;
    if (caller === undefined || item === null) return null;
    const terms = item.type === "and" ? item.items : [item];
    const naming = terms.find((term) => callerPath(term) !== null);
    const path = naming === undefined ? null : callerPath(naming);
    if (path === null) return null;
    const { tables, conditions, alias } = this.#enter(from);
    const inner = this.#at(this.#newAlias(), this);
    const all = [
      ...inner.#probes(),
      ...conditions,
      plain(`${inner.#alias}.${identifier(pointer.column)} = ${alias}.id`),
      ...this.#readable(target, inner.#alias),
      ...terms.filter((term) => term !== naming).map((term) => inner.compile(term, false)),
    ];
    const entered = [...tables, `${identifier(target.table)} ${inner.#alias}`].join(", ");
    const column = `${inner.#alias}.${identifier(path.field.column)}`;
    return join([`${caller}.id IN (SELECT ${column} FROM ${entered} WHERE `, ...separated(all, " AND "), ")"]);
  }

  /** This record is one of those that records which fulfil `item` point to. */
  #pointedBy({ target, pointer, item }: Omit<Some, "type" | "from">): Sql {
    const inner = this.#at(this.#newAlias(), this);
    const column = `${inner.#alias}.${identifier(pointer.column)}`;
    const conditions = [
      ...inner.#probes(),
      ...(item === null ? [] : [inner.compile(item, false)]),
      ...this.#readable(target, inner.#alias),
    ];
    const table = `${identifier(target.table)} ${inner.#alias}`;
    return join([
      `${this.#alias}.id IN (SELECT ${column} FROM ${table} WHERE `,
      ...separated(conditions, " AND "),
      ")",
    ]);
  }

  #at(alias: string, outer: Compiler | null): Compiler {
    return new Compiler(alias, this.#options, { outer, next: this.#next });
  }

  #probes(): Sql[] {
    return this.#options.isProbed === true ? [plain(stopProbe(this.#alias))] : [];
  }

  /** The condition under which the caller may read a record that is entered. */
  #readable({ condition }: ExpressionSchema, alias: string): Sql[] {
    return condition === null ? [] : [this.#at(alias, null).compile(condition, false)];
  }

  #newAlias(): string {
    const alias = `_r${this.#next.alias}`;
    this.#next.alias += 1;
    return alias;
  }

  /** The way into JSON that a path goes; while any item is compared, from the item on. */
  #way({ members }: Path): Sql {
    const any = members.indexOf(null);
    if (any < 0 || this.#anyItem === null) return { text: "?", values: [constant(`$${memberPath(members)}`)] };
    return { text: `(${this.#anyItem}.fullkey || ?)`, values: [constant(memberPath(members.slice(any + 1)))] };
  }

  #jsonSql(path: Path, called: "json_type" | "json_extract"): Sql {
    return this.#along(path, (column) => join([`${called}(${column}, `, this.#way(path), ")"]));
  }

  /** A number inside JSON; see `path`. */
  #jsonNumber(path: Path): Sql {
    return this.#along(path, (column) => join([`CAST(json_extract(${column}, `, this.#way(path), ") AS REAL)"]));
  }

  /** A condition on any item of the array that a path names: `condition` is compiled for one item. */
  #anyItemOf(path: Path, condition: () => Sql): Sql {
    const array = path.members.slice(0, path.members.indexOf(null));
    const alias = this.#newAlias();
    const column = this.#along({ ...path, members: [] }, plain);
    this.#anyItem = alias;
    const inner = condition();
    this.#anyItem = null;
    const way: Sql = { text: "?", values: [constant(`$${memberPath(array)}`)] };
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
      case "some":
        return opposite(this.#some(expression), negated);
    }
  }

  #compare(comparison: Compare, negated: boolean): Sql {
    const { operator, left, right } = comparison;
    if (left.type === "path" && left.members.includes(null) && this.#anyItem === null)
      return opposite(
        this.#anyItemOf(left, () => this.#compare(comparison, false)),
        negated,
      );
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
    if (operator === "=" && crossesRelation(left) && isConstant(right))
      return this.#lookUpColumn(left, (column) => join([`${column} = `, this.#value(right)]));
    if (operator === "=" && crossesRelation(right) && isConstant(left)) return this.#positive("=", right, left);
    // Two fields without a value are equal; the caller that is nobody equals none of them.
    const areFields = !isConstant(left) && !isConstant(right);
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
    if (operator !== "=" || isConstant(other)) return condition;
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
    if (left.type === "path" && left.members.includes(null) && this.#anyItem === null)
      return opposite(
        this.#anyItemOf(left, () => this.#in(left, items, false)),
        negated,
      );
    const constants = items.filter((item) => isConstant(item) && !isNull(item));
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
    return this.#lookUpColumn(left, (column) => within({ text: column, values: [] }));
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
    switch (operand.type) {
      case "path":
        return this.path(operand);
      case "call":
        return this.#callSql(operand.call, operand.argument);
      case "macro":
        return this.#macro(operand);
      case "value":
        return { text: "?", values: [operand] };
    }
  }

  #callSql(call: "lower" | "length", argument: Path): Sql {
    if (call === "lower") return join(["_lower(", this.path(argument), ")"]);
    if (argument.valueType !== "json") return join(["length(", this.path(argument), ")"]);
    const length = this.#along(argument, (column) => join([`json_array_length(${column}, `, this.#way(argument), ")"]));
    const type = this.#jsonSql(argument, "json_type");
    const text = this.#jsonSql(argument, "json_extract");
    return join(["CASE ", type, " WHEN 'array' THEN ", length, " WHEN 'text' THEN length(", text, ") END"]);
  }

  #macro(macro: Constant & { type: "macro" }): Sql {
    const { caller, users } = this.#options;
    if (!macro.name.startsWith("user.")) return { text: "?", values: [macro] };
    const id: Sql =
      caller === undefined ? { text: "?", values: [{ ...macro, name: "user.id" }] } : plain(`${caller}.id`);
    if (macro.name === "user.email" && users !== undefined)
      return join([`(SELECT email FROM ${identifier(users)} WHERE id = `, id, ")"]);
    return caller === undefined
      ? { text: "?", values: [macro] }
      : plain(`${caller}.${macro.name.slice("user.".length)}`);
  }
}

/** The condition, or its exact opposite: not true. */
function opposite(condition: Sql, negated: boolean): Sql {
  return negated ? join(["(", condition, ") IS NOT TRUE"]) : condition;
}

/**
 * Whether an index finds the records that fulfil a condition: one of its terms compares an indexed field with a
 * constant, and none begins at another record.
 */
function isSelective(item: Expression): boolean {
  let isInside = true;
  eachOperand(item, (operand) => {
    if ((pathOf(operand)?.up ?? 0) > 0) isInside = false;
  });
  const terms = item.type === "and" ? item.items : [item];
  return isInside && terms.some(findsByIndex);
}

function findsByIndex(term: Expression): boolean {
  if (term.type === "in") return isIndexedField(term.left) && term.items.every(isConstant);
  if (term.type !== "compare" || term.operator !== "=") return false;
  const { left, right } = term;
  return (isIndexedField(left) && isConstant(right)) || (isIndexedField(right) && isConstant(left));
}

/** The own field that a term says is the caller's id; null for any other term. */
function callerPath(term: Expression): Path | null {
  if (term.type !== "compare" || term.operator !== "=") return null;
  const { left, right } = term;
  const path = isCallerId(right) ? left : isCallerId(left) ? right : null;
  return path?.type === "path" && path.up === 0 && path.hops.length === 0 && path.members.length === 0 ? path : null;
}

function isCallerId(operand: Operand): boolean {
  return operand.type === "macro" && operand.name === "user.id";
}

function isIndexedField(operand: Operand): boolean {
  return (
    operand.type === "path" && operand.hops.length === 0 && operand.members.length === 0 && operand.field.isIndexed
  );
}

/** Whether an operand is a path through relations to a column. */
function crossesRelation(operand: Operand): operand is Path {
  return operand.type === "path" && operand.up === 0 && operand.hops.length > 0 && operand.members.length === 0;
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

/** Whether a text contains another. ASCII does without our own SQL function, which takes three times as long. */
function holds(text: Sql, wanted: Operand, toValue: (operand: Operand) => Sql): Sql {
  if (wanted.type === "value" && typeof wanted.value === "string" && isAscii(wanted.value))
    return join(["instr(lower(", text, "), ", { text: "?", values: [constant(wanted.value.toLowerCase())] }, ") > 0"]);
  return join(["_contains(", text, ", ", toValue(wanted), ")"]);
}

function root(alias: string, options: SqlOptions): Compiler {
  return new Compiler(alias, options, { outer: null, next: { alias: 1 } });
}

/** The scalar that a path leads to from a row of the table with this alias, as SQL. */
export function pathSql(path: Path, alias: string, options: SqlOptions = {}): Sql {
  return root(alias, options).path(path);
}

/**
 * An expression as an SQL condition over the table with this alias: it holds where it is true, not where it is false or
 * NULL.
 */
export function toSql(expression: Expression, alias: string, options: SqlOptions = {}): Sql {
  return root(alias, options).compile(expression, false);
}
