/** Binding: the constants of an SQL text get their values for one caller and one moment. */
import type { Value } from "../database/index.ts";
import { type Constant, constantValue, type EvaluationContext } from "./expression.ts";

/** The values that stand for the `?` of a text, in their order. */
export function bind(values: readonly (Value | Constant)[], context: EvaluationContext): Value[] {
  return values.map((value) => {
    if (typeof value !== "object" || value === null) return value;
    const bound = constantValue(value, context);
    return typeof bound === "boolean" ? Number(bound) : bound;
  });
}
