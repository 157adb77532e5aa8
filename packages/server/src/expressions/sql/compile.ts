/**
 * Expressions as SQL conditions.
 *
 * A path through relations becomes a correlated subquery; where it is compared with a constant for equality, it becomes
 * a lookup the other way round: the records that fulfil the condition are found once, by an index where there is one,
 * and then those that point to them. A backward step becomes EXISTS, or such a lookup. Each collection that is entered adds
 * the condition under which the caller may read its records. A condition that is asked of one record begins there, in any case.
 */
import type { Expression, Path } from "../expression.ts";
import { compareSql, inSql } from "./comparisons.ts";
import { type Keyed, keyedBy } from "./keys.ts";
import { someItemSql, someSql } from "./related.ts";
import { Scope, type SqlOptions } from "./scope.ts";
import { join, opposite, type Sql, separated } from "./text.ts";
import { pathSqlIn } from "./values.ts";

/** The scalar that a path leads to from a row of the table with this alias, as SQL. */
export function pathSql(path: Path, alias: string, options: SqlOptions = {}): Sql {
  return pathSqlIn(scopeOf(alias, options), path);
}

/**
 * An expression as an SQL condition over the table with this alias: it holds where it is true, not where it is false or
 * NULL.
 */
export function toSql(expression: Expression, alias: string, options: SqlOptions = {}): Sql {
  return compile(scopeOf(alias, options), expression, false);
}

/** The keys of a condition; null where it has none. */
export function keysOf(condition: Expression, options: SqlOptions = {}): Keyed | null {
  return keyedBy(condition, options, (expression, scope) => compile(scope, expression, false));
}

function scopeOf(alias: string, options: SqlOptions): Scope {
  return Scope.of(alias, options, (expression, scope) => compile(scope, expression, false));
}

function compile(scope: Scope, expression: Expression, negated: boolean): Sql {
  switch (expression.type) {
    case "not":
      return compile(scope, expression.item, !negated);
    case "and":
    case "or": {
      const sign = (expression.type === "and") !== negated ? " AND " : " OR ";
      const items = expression.items.map((item) => compile(scope, item, negated));
      return join(["(", separated(items, sign), ")"]);
    }
    case "compare":
      return compareSql(scope, expression, negated);
    case "in":
      return inSql(scope, expression, negated);
    case "some":
      return opposite(someSql(scope, expression), negated);
    case "someItem":
      return opposite(someItemSql(scope, expression), negated);
  }
}
