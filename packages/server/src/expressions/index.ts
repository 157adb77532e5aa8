/** The filter language: text → typed tree → parameterised SQL, and → a predicate in memory. */
export { bind } from "./bind.ts";
export {
  type Constant,
  collectionsIn,
  columnOf,
  type EvaluationContext,
  type Expression,
  type ExpressionCaller,
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
} from "./expression.ts";
export { ExpressionError } from "./expression-error.ts";
export { checkSyntaxOf, parseExpression, parsePath, referencesOf } from "./parse.ts";
export { type ExpressionPart, parseParts } from "./parts.ts";
export type { FieldReference } from "./paths.ts";
export { toPredicate } from "./predicate.ts";
export type { ExpressionSchema, SchemaField } from "./schema.ts";
export { keysOf, pathSql, toSql } from "./sql/compile.ts";
export type { SqlOptions } from "./sql/scope.ts";
export { isName } from "./tokens.ts";
