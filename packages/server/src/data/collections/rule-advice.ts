/**
 * Rule advice: the missing indexes of lists under a read rule. A comparison for equality finds its records by an index of
 * the field; without an index, each list visits all records. Relations and unique fields, and so every backward step, are
 * indexed automatically.
 */
import type { Expression, Operand, Path } from "../expressions/index.ts";
import type { Collection } from "./collection.ts";

/** The advice for the read rule of a collection, in the form of a definition. */
export function readRuleAdvice({ name, policies }: Collection): string[] {
  const decision = policies.read.decide(null);
  if (decision.access !== "where") return [];
  const advice = missingIn(decision.condition)?.map(
    ({ hops, field }) => `add ["${field.name}"] to "indexes" of "${hops.at(-1)?.target.name ?? name}"`,
  );
  return [...new Set(advice)];
}

/**
 * The paths without an index that would find the records of a condition; empty if an index finds the records. Null if no
 * index could.
 */
function missingIn(condition: Expression): Path[] | null {
  switch (condition.type) {
    case "compare":
      return condition.operator === "=" ? missingFor([condition.left, condition.right]) : null;
    case "in":
      return missingFor([condition.left, ...condition.items]);
    case "and": {
      // A single indexed term is enough.
      const terms = condition.items.map(missingIn).filter((paths) => paths !== null);
      return terms.toSorted((a, b) => a.length - b.length)[0] ?? null;
    }
    case "or": {
      const alternatives = condition.items.map(missingIn);
      return alternatives.includes(null) ? null : alternatives.flatMap((paths) => paths ?? []);
    }
    case "someItem":
    case "some": {
      // The index of the pointing field finds the pointing records; further hops may have no index.
      const inside = condition.item === null ? null : missingIn(condition.item);
      return (inside ?? []).filter(({ hops }) => hops.length > 0);
    }
    case "not":
      return null;
  }
}

/** The same for a comparison of a path with constants. */
function missingFor(operands: readonly Operand[]): Path[] | null {
  const [path, ...others] = operands.toSorted((a, b) => Number(b.type === "path") - Number(a.type === "path"));
  const areConstant = others.every(({ type }) => type === "value" || type === "macro");
  if (path?.type !== "path" || path.up > 0 || !areConstant) return null;
  // An index tells two values apart, and finds nothing inside JSON.
  if (path.valueType === "json" || path.valueType === "boolean") return null;
  return path.field.isIndexed ? [] : [path];
}
