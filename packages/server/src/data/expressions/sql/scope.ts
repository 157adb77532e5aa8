/**
 * Parts of SQL, and scopes: a scope is the row that a part of a condition is about, under the alias in the statement. A
 * path through relations enters further tables from the row; a backward step opens a scope inside, from which a path
 * may climb back.
 */
import { identifier, stopProbe, type Value } from "../../../store/database/index.ts";
import {
  type Constant,
  columnOf,
  constantValue,
  type EvaluationContext,
  type Expression,
  type ExpressionSchema,
  type Hop,
  type Member,
  type Path,
} from "../expression.ts";

/** A part of an SQL text, and the values or constants that stand for each `?`, in order. */
export interface SqlPart {
  readonly text: string;
  readonly values: readonly (Value | Constant)[];
}

/** The values for the `?` of an SQL text, in order. */
export function bind(values: readonly (Value | Constant)[], context: EvaluationContext): Value[] {
  return values.map((value) => {
    if (typeof value !== "object" || value === null) return value;
    const bound = constantValue(value, context);
    return typeof bound === "boolean" ? Number(bound) : bound;
  });
}

export function plain(text: string): SqlPart {
  return { text, values: [] };
}

/**
 * A `?` and its constant. With a sign: a column that equals a bare parameter takes its place in ORDER BY, and SQLite
 * then plans the statement anew for each value (4 µs).
 */
export function parameter(value: Constant): SqlPart {
  return { text: "+?", values: [value] };
}

/** A `?` and its text. */
export function textParameter(value: string): SqlPart {
  return parameter({ type: "value", value, valueType: "text" });
}

/** A `?` and its number. */
export function numberParameter(value: number): SqlPart {
  return parameter({ type: "value", value, valueType: "number" });
}

/** A part of SQL as a template: a string inside is SQL, never a value, and a part brings its values. */
export function sqlPart(texts: TemplateStringsArray, ...inside: readonly (string | number | SqlPart)[]): SqlPart {
  const values: (Value | Constant)[] = [];
  let text = "";
  for (let i = 0; i < texts.length; i++) {
    const each = inside[i] ?? "";
    text += texts[i] ?? "";
    text += typeof each === "object" ? each.text : each;
    if (typeof each === "object") for (const value of each.values) values.push(value);
  }
  return { text, values };
}

export function separated(parts: readonly SqlPart[], separator: string): SqlPart {
  return { text: parts.map(({ text }) => text).join(separator), values: parts.flatMap(({ values }) => values) };
}

/** A WHERE of conditions that must all hold: a text that begins with a space, or an empty text. */
export function whereSql(conditions: readonly SqlPart[]): SqlPart {
  return conditions.length === 0 ? plain("") : sqlPart` WHERE ${separated(conditions, " AND ")}`;
}

/** The end of a SELECT, from FROM on. */
export function fromWhere(tables: readonly string[], conditions: readonly SqlPart[]): SqlPart {
  return sqlPart` FROM ${tables.join(", ")}${whereSql(conditions)}`;
}

/** The condition, or the exact opposite: not true. */
export function opposite(condition: SqlPart, negated: boolean): SqlPart {
  return negated ? sqlPart`(${condition}) IS NOT TRUE` : condition;
}

/** The names of members as SQLite writes a path into JSON, after the beginning. */
export function memberPath(members: readonly Member[]): string {
  return members.map((member) => (typeof member === "number" ? `[${member}]` : `."${member}"`)).join("");
}

export interface SqlOptions {
  /** Whether subqueries have stop probes, so that a thread can be stopped. */
  readonly isProbed?: boolean;
  /** The SQL name of the table of users, unquoted, for `@user.email` and `@user.anonymous`. */
  readonly users?: string;
  /** The alias of a row with the columns `id` and `role` of the caller, in place of constants. */
  readonly caller?: string;
  /** Whether the condition is about a single record: subqueries begin at that record, without lookups. */
  readonly isOfOneRecord?: boolean;
}

/** The parts that all scopes of a condition share. */
interface Statement {
  readonly options: SqlOptions;
  /** The number of the next alias: no alias hides another alias. */
  nextAlias: number;
  compile(expression: Expression, scope: Scope): SqlPart;
}

export class Scope {
  readonly alias: string;
  /** The alias of the items, while a comparison of any item of a JSON array is compiled. */
  readonly item: string | null;
  /** The scope that a backward step has left; null for the record. */
  readonly #outer: Scope | null;
  readonly #statement: Statement;

  private constructor(
    alias: string,
    { outer = null, item = null }: { outer?: Scope | null; item?: string | null },
    statement: Statement,
  ) {
    this.alias = alias;
    this.item = item;
    this.#outer = outer;
    this.#statement = statement;
  }

  /** The scope of the record that a condition is about. */
  static of(alias: string, options: SqlOptions, compile: Statement["compile"]): Scope {
    return new Scope(alias, {}, { options, nextAlias: 1, compile });
  }

  get options(): SqlOptions {
    return this.#statement.options;
  }

  compile(expression: Expression): SqlPart {
    return this.#statement.compile(expression, this);
  }

  newAlias(): string {
    return `_r${this.#statement.nextAlias++}`;
  }

  /** The scope of a record that a backward step leads to, or of an item. */
  inside(): Scope {
    return new Scope(this.newAlias(), { outer: this }, this.#statement);
  }

  /** The scope of a record that a relation is looked up from. */
  beside(): Scope {
    return new Scope(this.newAlias(), { outer: this.#outer }, this.#statement);
  }

  /** The same scope while any item of an array is compared. */
  withItem(item: string): Scope {
    return new Scope(this.alias, { outer: this.#outer, item }, this.#statement);
  }

  column(name: string): string {
    return `${this.alias}.${identifier(name)}`;
  }

  /** Conditions that are always true, and let a thread be stopped. @param column of a table without rowids. */
  probes(column?: string): SqlPart[] {
    return this.options.isProbed === true ? [plain(stopProbe(this.alias, column))] : [];
  }

  /** The condition under which the caller may read a record that is entered. */
  readable({ condition }: ExpressionSchema, alias = this.alias): SqlPart[] {
    if (condition === null) return [];
    return [this.#statement.compile(condition, new Scope(alias, {}, this.#statement))];
  }

  /** The tables along relations, from the record `up` steps to several before this record on, and the joins. */
  enter(hops: readonly Hop[], up = 0): { tables: string[]; conditions: SqlPart[]; alias: string } {
    const [tables, conditions]: [string[], SqlPart[]] = [[], []];
    let from = this.#climb(up).alias;
    for (const { field, target } of hops) {
      const alias = this.newAlias();
      tables.push(`${identifier(target.table)} ${alias}`);
      conditions.push(plain(`${alias}.id = ${from}.${identifier(field.column)}`), ...this.readable(target, alias));
      from = alias;
    }
    return { tables, conditions, alias: from };
  }

  /** The value of a field. @param read makes the value of the column, `"a"."b"`. */
  along(path: Path, read: (column: string) => SqlPart): SqlPart {
    if (path.up > 0) return this.#climb(path.up).along({ ...path, up: 0 }, read);
    if (path.hops.length === 0) return read(this.column(columnOf(path)));
    const { tables, conditions, alias } = this.enter(path.hops);
    const inner = read(`${alias}.${identifier(columnOf(path))}`);
    return sqlPart`(SELECT ${inner}${fromWhere(tables, conditions)})`;
  }

  #climb(up: number): Scope {
    let at: Scope = this;
    for (let left = up; left > 0; left--) {
      if (at.#outer === null) throw new Error("A path begins outside of its expression");
      at = at.#outer;
    }
    return at;
  }
}
