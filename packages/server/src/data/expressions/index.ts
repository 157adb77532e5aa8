/** The filter language: a text becomes a typed tree, then parameterised SQL or a predicate in memory. */
export {
  collectionsIn,
  columnOf,
  type DistanceCall,
  type EvaluationContext,
  type Expression,
  type ExpressionCaller,
  ExpressionError,
  type ExpressionSchema,
  inOrder,
  isCaller,
  isConstant,
  isInside,
  looksInside,
  namesCaller,
  type Operand,
  operandsIn,
  ownColumnsIn,
  type Path,
  type SchemaField,
} from "./expression.ts";
export { type FieldReference, hintFor } from "./lookup.ts";
export { parseDistance, parseExpression, referencesOf, syntaxOf } from "./parse.ts";
export { type ExpressionPart, parseParts } from "./parts.ts";
export { parseItemPath, parsePath } from "./paths.ts";
export { toPredicate } from "./predicate.ts";
export { operandSql, pathSql, toSql } from "./sql/conditions.ts";
export { lookedUpColumn } from "./sql/related.ts";
export { bind, plain, type SqlOptions, type SqlPart, separated, sqlPart, whereSql } from "./sql/scope.ts";
