/** Conditions as values: `{ done: false, n: { gte: 3 } }` becomes text of the filter language. */
import { toLiteral } from "./filter.ts";
import type { FilterValue } from "./types.ts";

/** A condition at run time; `Where` of `types.ts` is the type for callers. */
export interface Condition {
  readonly [name: string]: unknown;
}

/** The operators, by name, and the operators of the filter language. */
const comparisons: { readonly [operator: string]: string } = {
  eq: "=",
  ne: "!=",
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
  contains: "~",
  lacks: "!~",
  in: "in",
};
const quantifiers = /^(some|every|none)$/;

/** No record has this condition: every record has an id. The text of a condition that all records have is empty. */
const never = "id = null";

/** Whether a value is an object of conditions, and no value to compare with. */
export function isCondition(value: unknown): value is Condition {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** Whether an object has the names of operators alone, and so is about the value of a field, not about fields of a record. */
export function isComparison(condition: Condition): boolean {
  return hasOnly(condition, (name) => Object.hasOwn(comparisons, name));
}

function hasOnly(condition: Condition, isAllowed: (name: string) => boolean): boolean {
  const names = Object.keys(condition);
  return names.length > 0 && names.every(isAllowed);
}

/**
 * The text of a condition; empty if all records have the condition.
 * @param path leads to the record that the condition is about: empty, or a relation with a dot.
 * @throws TypeError for a value that the language does not have, for example undefined.
 */
export function filterOf(where: Condition, path = ""): string {
  return all(
    Object.entries(where).map(([name, value]) => {
      if (name === "$and") return all((value as Condition[]).map((each) => filterOf(each, path)));
      if (name === "$or") return any((value as Condition[]).map((each) => filterOf(each, path)));
      if (name === "$not") return not(filterOf(value as Condition, path));
      return textOf(path + name, value);
    }),
  );
}

/** Joins conditions of which each must hold. */
export function all(texts: readonly string[]): string {
  return texts.filter(Boolean).join(" && ");
}

function any(texts: readonly string[]): string {
  if (texts.length === 0) return never;
  return texts.includes("") ? "" : `(${texts.join(" || ")})`;
}

function not(text: string): string {
  return text === "" ? never : `!(${text})`;
}

/** @param path of a field, or of records. */
function textOf(path: string, value: unknown): string {
  if (Array.isArray(value)) return compare(path, "in", value);
  if (!isCondition(value)) return compare(path, "eq", value);
  // Else a value of a request would be no condition.
  if (Object.keys(value).length === 0) throw new TypeError(`A filter has no value for {}: ${path}`);
  if (isComparison(value)) return all(Object.entries(value).map(([name, operand]) => compare(path, name, operand)));
  if (!hasOnly(value, (name) => quantifiers.test(name))) return filterOf(value, `${path}.`);
  return all(
    Object.entries(value).map(([quantifier, condition]) => {
      const text = filterOf(condition as Condition);
      if (quantifier === "every") return text === "" ? "" : `every(${path}, ${text})`;
      const records = `${path}[${text === "" ? "id != null" : text}]`;
      return quantifier === "some" ? records : `!(${records})`;
    }),
  );
}

function compare(path: string, operator: string, value: unknown): string {
  if (value === undefined) throw new TypeError(`A filter has no value for undefined: ${path}`);
  if (operator === "in" && Array.isArray(value) && value.length === 0) return never;
  return `${path} ${comparisons[operator]} ${toLiteral(value as FilterValue)}`;
}
