/** Index advice: the indexes that would help a slow query, for the log. */
import { isView } from "@socle/protocol";
import { indexesOf } from "../collections/index.ts";
import type { Expression, Operand, Path } from "../expressions/index.ts";
import type { ListQuery } from "./list-query.ts";

/** The comparisons that must all hold, at the top of a filter. */
function conjuncts(filter: Expression | null): Expression[] {
  if (filter === null) return [];
  return filter.type === "and" ? filter.items.flatMap(conjuncts) : [filter];
}

/** A field that an index can hold. */
interface Searched {
  readonly path: Path;
  readonly isEqual: boolean;
}

function searchedField(expression: Expression): Searched | null {
  if (expression.type === "in" && expression.left.type === "path") return { path: expression.left, isEqual: true };
  if (expression.type !== "compare") return null;
  const { operator, left, right } = expression;
  if (operator === "!=" || operator === "~" || operator === "!~") return null;
  const near = placeWithin(left, operator, "<") ?? placeWithin(right, operator, ">");
  if (near !== null) return { path: near, isEqual: false };
  const path = left.type === "path" ? left : right.type === "path" ? right : null;
  if (path === null || (left.type === "path" && right.type === "path")) return null;
  return { path, isEqual: operator === "=" };
}

/** The place of a distance below a bound; null for any other operand. */
function placeWithin(operand: Operand, operator: string, below: "<" | ">"): Path | null {
  return operand.type === "call" && operand.call === "distance" && operator.startsWith(below) ? operand.argument : null;
}

/** Whether an index can hold the values of a path. */
function isIndexed({ valueType }: Path): boolean {
  return valueType !== "json" && valueType !== "vector";
}

/** Names of fields as in a definition. */
function listOf(fields: readonly string[]): string {
  return `[${fields.map((field) => `"${field}"`).join(", ")}]`;
}

/** Advice for the list's own collection: fields compared for equality, then the sort fields, else fields compared for order. */
function ownAdvice({ collection, entered, sort }: ListQuery, searched: readonly Searched[]): string | null {
  const { definition } = collection;
  const own = searched.filter(({ path }) => path.hops.length === 0 && isIndexed(path));
  const names = (isEqual: boolean): string[] =>
    own.filter((each) => each.isEqual === isEqual).map(({ path }) => path.field.name);
  const isOwn = entered.get(collection)?.access === "own";
  const owner = definition.fields.filter((field) => isOwn && field.owner === true);
  const paths = sort.keys.map(({ operand }) => (operand.type === "path" ? operand : null));
  const end = paths.findIndex((path) => path === null || path.hops.length > 0 || path.members.length > 0);
  const sorted = paths.slice(0, end < 0 ? undefined : end).flatMap((path) => path?.field.name ?? []);
  const isMixed = new Set(sort.keys.map(({ isDescending }) => isDescending)).size > 1;
  const range = sorted.length > 0 ? sorted : names(false).slice(0, 1);
  const wanted = [...new Set([...owner.map(({ name }) => name), ...names(true), ...range])];
  // A definition may not index `id`, which has an index, and after which no field decides.
  const fields = wanted.includes("id") ? wanted.slice(0, wanted.indexOf("id")) : wanted;
  if (fields.length === owner.length) return null;
  const isThere = indexesOf(definition).some((index) => fields.every((field, i) => index.fields[i] === field));
  if (isThere && isMixed) return `none: ${listOf(fields)} exists, but gives an order in one direction alone`;
  if (isThere && sorted.length === 0 && range.length > 0)
    return `${listOf(fields)} is there; it helps with "sort" by ${range[0]}`;
  if (isThere) return `none: ${listOf(fields)} exists`;
  return `add ${listOf(fields)} to "indexes" of "${collection.name}"`;
}

function reachedAdvice(searched: readonly Searched[]): string[] {
  const advice = searched.flatMap(({ path, isEqual }) => {
    const target = path.hops.at(-1)?.target.name;
    if (target === undefined || target === "users" || !isEqual || !isIndexed(path) || path.field.name === "id")
      return [];
    return [`add ${listOf([path.field.name])} to "indexes" of "${target}"`];
  });
  return [...new Set(advice)];
}

/** The indexes that would help a query, or the reason why no index helps. */
export function indexAdvice(query: ListQuery): string {
  if (isView(query.collection.definition)) return "none: a view uses the indexes of the collections that it reads";
  const searched = conjuncts(query.filter).flatMap((each) => searchedField(each) ?? []);
  const own = ownAdvice(query, searched);
  const advice = [...reachedAdvice(searched), ...(own === null ? [] : [own])];
  if (advice.length > 0) return advice.join("; ");
  return "none: only =, in, >, >=, < and <= on fields, joined by &&, and a sort by fields of the collection use an index";
}
