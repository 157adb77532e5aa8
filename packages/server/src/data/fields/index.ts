/** Field types: columns, stored and JSON forms, and rules. */

export {
  attributeProblems,
  type Creation,
  derivedOf,
  fillOf,
  foldedSql,
  positionSql,
  scopeOf,
  scopeProblems,
  storedDefault,
} from "./attributes.ts";
export { type CheckedValue, checkOf, type Pattern, type ValueProblem } from "./check-value.ts";
export { mayBeOperators, operated } from "./operators.ts";
export { compilePattern, storedPattern } from "./pattern.ts";
export {
  type DerivedColumn,
  decode,
  emptyOf,
  isEmptySql,
  maxItemLength,
  maxItemsOf,
  needsDecoding,
  noItems,
  type OperatorName,
  typeNamed,
  typeOf,
  type ValueType,
} from "./types.ts";
