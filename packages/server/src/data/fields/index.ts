/** Field types: their columns, their stored and JSON forms, and their rules. All code that depends on a type uses this module. */

export { type Creation, fillOf, storedDefault } from "./attributes/default.ts";
export { attributeProblems } from "./attributes/index.ts";
export { scopeOf, scopeProblems } from "./attributes/sequence.ts";
export { positionSql } from "./attributes/values.ts";
export { type CheckedValue, checkOf } from "./check-value.ts";
export type { Pattern, ValueType } from "./field-type.ts";
export { maxItemLength, maxItemsOf, noItems } from "./multiple.ts";
export { decode, emptyOf, isEmptySql, needsDecoding, typeNamed, typeOf, typesWith } from "./registry.ts";
