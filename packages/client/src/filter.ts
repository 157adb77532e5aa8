/** What can stand in a filter as a value. */
export type FilterValue = string | number | boolean | null | Date | readonly FilterValue[];

/**
 * Writes a filter with values in it, each as the filter language has it: whatever somebody typed stays a value. An array
 * becomes a list, for `in`.
 * @example filter`title ~ ${text} && status in ${["new", "open"]}`
 * @throws TypeError for a number that is not finite, and for an empty array, in which nothing could be.
 */
export function filter(parts: TemplateStringsArray, ...values: readonly FilterValue[]): string {
  return parts.map((part, i) => (i === 0 ? part : `${toLiteral(values[i - 1] ?? null)}${part}`)).join("");
}

function toLiteral(value: FilterValue): string {
  if (value instanceof Date) return toLiteral(value.toISOString());
  if (typeof value === "string") return `"${value.replace(/["\\]/g, "\\$&")}"`;
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`A filter has no value ${value}`);
  if (typeof value !== "object" || value === null) return String(value);
  if (value.length === 0) throw new TypeError("A list in a filter needs at least one value");
  return `(${value.map(toLiteral).join(", ")})`;
}
