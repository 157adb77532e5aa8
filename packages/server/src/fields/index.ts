/** Field types: their columns, their stored and JSON forms, the rules that apply. Everything that depends on a type asks here. */

export { type Creation, fillOf, storedDefault } from "./attributes/default.ts";
export { attributeProblems } from "./attributes/index.ts";
export { scopeOf, scopeProblems } from "./attributes/sequence.ts";
export { positionSql } from "./attributes/values.ts";
export { checkValue } from "./check-value.ts";
export type { ValueType } from "./field-type.ts";
export { maxItemLength, maxItemsOf, noItems } from "./multiple.ts";
export { decode, emptyOf, isEmptySql, needsDecoding, typeNamed, typeOf, typesWith } from "./registry.ts";
