/** Conditions of queries about a record in memory: whether an optimistic change belongs in a live query. */
import { type Condition, isComparison, isCondition } from "@socle/protocol/query";

interface Values {
  readonly [field: string]: unknown;
}

/** Undefined if the record alone does not decide: for conditions on other records, and for text of the filter language. */
type Verdict = boolean | undefined;

export function matches(condition: Condition | string, record: Values): Verdict {
  if (typeof condition === "string") return condition.trim() === "" ? true : undefined;
  return both(
    Object.entries(condition).map(([name, value]) => {
      if (name === "$and") return both((value as Condition[]).map((each) => matches(each, record)));
      if (name === "$or") return not(both((value as Condition[]).map((each) => not(matches(each, record)))));
      if (name === "$not") return not(matches(value as Condition, record));
      return holds(value, record[name]);
    }),
  );
}

/** False if any is false; otherwise undefined if any is undefined. */
function both(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes(false)) return false;
  return verdicts.includes(undefined) ? undefined : true;
}

function not(verdict: Verdict): Verdict {
  return verdict === undefined ? undefined : !verdict;
}

/** @param given the value of a field; undefined for a path, and for a value that is not known. */
function holds(condition: unknown, given: unknown): Verdict {
  if (given === undefined) return undefined;
  if (Array.isArray(condition)) return compare("in", condition, given);
  if (!isCondition(condition)) return compare("eq", condition, given);
  if (!isComparison(condition)) return undefined;
  return both(Object.entries(condition).map(([operator, operand]) => compare(operator, operand, given)));
}

/** A multiple field stands for the items: some item is equal; `ne` and `lacks` are the opposites. */
function compare(operator: string, operand: unknown, given: unknown): Verdict {
  if (operator === "ne") return not(compare("eq", operand, given));
  if (operator === "lacks") return not(compare("contains", operand, given));
  if (operator === "in") return (operand as unknown[]).some((each) => compare("eq", each, given));
  if (Array.isArray(given))
    return operand === null ? given.length === 0 : given.some((item) => compare(operator, operand, item));
  const order = compareValues(given, operand instanceof Date ? operand.toISOString() : operand);
  if (operator === "eq") return order === 0;
  if (operator === "contains") return given !== null && lower(given).includes(lower(operand));
  // An order with null never holds.
  if (order === 0) return operator.endsWith("e");
  return given !== null && operator.startsWith("g") === order > 0;
}

function lower(text: unknown): string {
  return String(text).toLowerCase();
}

/** The order of a list: null comes first, texts by their characters. */
export function compareValues(a: unknown, b: unknown): number {
  if (a === b) return 0;
  return a == null || (b != null && a < b) ? -1 : 1;
}
