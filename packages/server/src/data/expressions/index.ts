/** The filter language: a text becomes a typed tree, then parameterised SQL or a predicate in memory. */
export {
  bind,
  type Constant,
  collectionsIn,
  columnOf,
  type EvaluationContext,
  type Expression,
  type ExpressionCaller,
  type ExpressionSchema,
  eachOperand,
  inOrder,
  isCaller,
  isConstant,
  isNull,
  isOwn,
  type Operand,
  ownColumnsIn,
  ownPath,
  type Path,
  type SchemaField,
} from "./expression.ts";
export { ExpressionError } from "./expression-error.ts";
export { parseExpression, parsePath, referencesOf, syntaxOf } from "./parse.ts";
export { type ExpressionPart, parseParts } from "./parts.ts";
export type { FieldReference } from "./paths.ts";
export { toPredicate } from "./predicate.ts";
export { pathSql, toSql } from "./sql/compile.ts";
export { lookedUpColumn } from "./sql/related.ts";
export type { SqlOptions } from "./sql/scope.ts";
