/**
 * Expressions as SQL conditions.
 *
 * A path through relations becomes a correlated subquery. Compared with a constant for equality, the path becomes a lookup: SQL
 * finds the records at the end of the path once, by an index, and then the records that point to those. A backward step becomes
 * EXISTS, or a lookup. Each entered collection adds the condition under which the caller may read its records. A condition about
 * a single record has no lookups.
 */
import type { Expression, Path } from "../expression.ts";
import { compareSql, inSql } from "./comparisons.ts";
import { someItemSql, someSql } from "./related.ts";
import { Scope, type SqlOptions } from "./scope.ts";
import { join, opposite, type Sql, separated } from "./text.ts";
import { pathSqlIn } from "./values.ts";

/** The scalar that a path leads to from a row of the table with this alias, as SQL. */
export function pathSql(path: Path, alias: string, options: SqlOptions = {}): Sql {
  return pathSqlIn(scopeOf(alias, options), path);
}

/**
 * An expression as an SQL condition over the table with this alias. The condition holds when SQL says true, not false or NULL.
 */
export function toSql(expression: Expression, alias: string, options: SqlOptions = {}): Sql {
  return compile(scopeOf(alias, options), expression, false);
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
