/** The order of values in sorted lists and in groups, by the model of rules. */
import type { Literal } from "./syntax.ts";

/** Null before every value, false before true, texts by code points. */
export function compare(a: Literal, b: Literal): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? -1 : 1;
  return a < b ? -1 : 1;
}
