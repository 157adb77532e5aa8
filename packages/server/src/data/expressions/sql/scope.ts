/**
 * Scopes: the row that a part of a condition is about, under its alias in the statement. A path through relations enters further
 * tables from the row; a backward step opens a scope inside, from which a path may climb back.
 */
import { identifier, stopProbe } from "../../../store/database/index.ts";
import type { ExpressionSchema } from "../expression.ts";
import { columnOf, type Expression, type Hop, type Path } from "../expression.ts";
import { allOf, join, plain, type Sql } from "./text.ts";

export interface SqlOptions {
  /** Whether subqueries have stop probes, so that a thread can be stopped. */
  readonly isProbed?: boolean;
  /** The SQL name of the table of users, unquoted, for `@user.email`. */
  readonly users?: string;
  /** The alias of a row with the columns `id` and `role` of the caller, in place of constants. */
  readonly caller?: string;
  /** Whether the condition is about a single record: subqueries begin at that record, without lookups. */
  readonly isOfOneRecord?: boolean;
}

/** The parts that all scopes of a condition share. */
interface Statement {
  readonly options: SqlOptions;
  /** The number of the next alias: no alias hides another. */
  nextAlias: number;
  compile(expression: Expression, scope: Scope): Sql;
}

interface ScopeParts {
  readonly alias: string;
  /** The scope that a backward step has left; null for the record itself. */
  readonly outer: Scope | null;
  /** The alias of the items, while a comparison of any item of a JSON array is compiled. */
  readonly item: string | null;
}

export class Scope {
  readonly alias: string;
  readonly item: string | null;
  readonly #outer: Scope | null;
  readonly #statement: Statement;

  private constructor({ alias, outer, item }: ScopeParts, statement: Statement) {
    this.alias = alias;
    this.item = item;
    this.#outer = outer;
    this.#statement = statement;
  }

  /** The scope of the record that a condition is about. */
  static of(alias: string, options: SqlOptions, compile: Statement["compile"]): Scope {
    return new Scope({ alias, outer: null, item: null }, { options, nextAlias: 1, compile });
  }

  get options(): SqlOptions {
    return this.#statement.options;
  }

  compile(expression: Expression): Sql {
    return this.#statement.compile(expression, this);
  }

  newAlias(): string {
    const alias = `_r${this.#statement.nextAlias}`;
    this.#statement.nextAlias += 1;
    return alias;
  }

  /** The scope of a record that a backward step leads to, or of an item. */
  inside(): Scope {
    return new Scope({ alias: this.newAlias(), outer: this, item: null }, this.#statement);
  }

  /** The scope of a record that a relation is looked up from. */
  beside(): Scope {
    return new Scope({ alias: this.newAlias(), outer: this.#outer, item: null }, this.#statement);
  }

  /** The same scope while any item of an array is compared. */
  withItem(item: string): Scope {
    return new Scope({ alias: this.alias, outer: this.#outer, item }, this.#statement);
  }

  column(name: string): string {
    return `${this.alias}.${identifier(name)}`;
  }

  /** Conditions that are always true, and let a thread be stopped. @param column of a table without rowids. */
  probes(column?: string): Sql[] {
    return this.options.isProbed === true ? [plain(stopProbe(this.alias, column))] : [];
  }

  /** The condition under which the caller may read a record that is entered. */
  readable({ condition }: ExpressionSchema, alias = this.alias): Sql[] {
    if (condition === null) return [];
    return [this.#statement.compile(condition, new Scope({ alias, outer: null, item: null }, this.#statement))];
  }

  /** The tables along relations, from this record on, and their joins. */
  enter(hops: readonly Hop[]): { tables: string[]; conditions: Sql[]; alias: string } {
    const [tables, conditions]: [string[], Sql[]] = [[], []];
    let from = this.alias;
    for (const { field, target } of hops) {
      const alias = this.newAlias();
      tables.push(`${identifier(target.table)} ${alias}`);
      conditions.push(plain(`${alias}.id = ${from}.${identifier(field.column)}`), ...this.readable(target, alias));
      from = alias;
    }
    return { tables, conditions, alias: from };
  }

  /** The value of a field. @param read makes the value of the column, `"a"."b"`. */
  along(path: Path, read: (column: string) => Sql): Sql {
    if (path.up > 0) return this.#climb(path.up).along({ ...path, up: 0 }, read);
    if (path.hops.length === 0) return read(this.column(columnOf(path)));
    const { tables, conditions, alias } = this.enter(path.hops);
    const inner = read(`${alias}.${identifier(columnOf(path))}`);
    return join(["(SELECT ", inner, ` FROM ${tables.join(", ")} WHERE `, allOf(conditions), ")"]);
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
