/** Values in filters: texts that a person typed stay values. */

import type { FilterValue } from "./types.ts";

/**
 * Writes a filter with values, in the syntax of the filter language: text that a person typed stays a value. An
 * array becomes a list, for `in`.
 * @example filter`title ~ ${text} && status in ${["new", "open"]}`
 * @throws TypeError for a value that the language does not have: a number that is not finite, an empty array, undefined.
 */
export function filter(parts: TemplateStringsArray, ...values: readonly FilterValue[]): string {
  return String.raw({ raw: parts }, ...values.map(toLiteral));
}

/** @throws TypeError for a value that the language does not have. */
export function toLiteral(value: FilterValue | undefined): string {
  if (value instanceof Date) return toLiteral(value.toISOString());
  if (typeof value === "string") return `"${value.replace(/["\\]/g, "\\$&")}"`;
  if (value === null || typeof value === "boolean" || Number.isFinite(value)) return String(value);
  if (!Array.isArray(value))
    throw new TypeError(`A filter has no value ${typeof value === "number" ? value : `for ${typeof value}`}`);
  if (value.length === 0) throw new TypeError("A list in a filter needs at least one value");
  return `(${value.map(toLiteral).join(", ")})`;
}
