/** The filter language: text → typed tree → parameterised SQL, and → a predicate in memory. */
export {
  type Constant,
  constantValue,
  type EvaluationContext,
  type Expression,
  eachOperand,
  type Path,
} from "./expression.ts";
export { ExpressionError } from "./expression-error.ts";
export { parseExpression, parsePath } from "./parse.ts";
export type { ExpressionSchema, SchemaField } from "./schema.ts";
export { caller, lengthOf, pathSql, toSql } from "./sql.ts";
export { isName } from "./tokens.ts";
