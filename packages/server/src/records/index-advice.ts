import type { Expression, Path } from "../expressions/index.ts";
import type { ListQuery } from "./list-query.ts";

/** The comparisons that must all hold, at the top of a filter. */
function conjuncts(filter: Expression | null): Expression[] {
  if (filter === null) return [];
  return filter.type === "and" ? filter.items.flatMap(conjuncts) : [filter];
}

/** A field that an index can hold, and whether it is compared for equality or for order. */
function searchedField(expression: Expression): { path: Path; isEqual: boolean } | null {
  if (expression.type === "in" && expression.left.type === "path") return { path: expression.left, isEqual: true };
  if (expression.type !== "compare") return null;
  const { operator, left, right } = expression;
  if (operator === "!=" || operator === "~" || operator === "!~") return null;
  const path = left.type === "path" ? left : right.type === "path" ? right : null;
  if (path === null || (left.type === "path" && right.type === "path")) return null;
  return { path, isEqual: operator === "=" };
}

/**
 * The index that would help a query, as a definition has it, or why none would: first what is compared for equality, then
 * what the list is sorted by, else what is compared for order.
 */
export function indexAdvice({ collection, filter, sort }: ListQuery): string {
  const searched = conjuncts(filter).flatMap((each) => searchedField(each) ?? []);
  const isOwn = ({ path }: { path: Path }): boolean => path.hops.length === 0 && path.kind !== "json";
  const names = (isEqual: boolean): string[] =>
    searched.filter((each) => isOwn(each) && each.isEqual === isEqual).map(({ path }) => path.field.name);
  const sorted = sort.leadingFields;
  const fields = [...new Set([...names(true), ...(sorted.length > 0 ? sorted : names(false).slice(0, 1))])];
  if (fields.length > 0) return `"indexes": [${JSON.stringify(fields)}] in "${collection.name}"`;
  const reached = searched.find(({ path }) => path.hops.length > 0 && path.kind !== "json");
  const target = reached?.path.hops.at(-1)?.target.name;
  if (reached !== undefined && target !== undefined && target !== "users")
    return `"indexes": [${JSON.stringify([reached.path.field.name])}] in "${target}"`;
  return "none: only =, in, >, >=, < and <= on fields of a collection, joined by &&, and the fields of a sort use one";
}
