/** The filter language: text → typed tree → parameterised SQL, and → a predicate in memory. */
export { type Constant, constantValue, type Expression, eachOperand, type Facts, type Path } from "./expression.ts";
export { ExpressionError } from "./expression-error.ts";
export { parseExpression, parsePath } from "./parse.ts";
export type { Kind, NamedField, Shape } from "./shape.ts";
export { caller, lengthOf, pathSql, toSql } from "./sql.ts";
export { isName } from "./tokens.ts";
