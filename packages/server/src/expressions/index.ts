/** The filter language: text → typed tree → parameterised SQL, and → a predicate in memory. */
export {
  type Constant,
  constantValue,
  type EvaluationContext,
  type Expression,
  eachOperand,
  isNull,
  type Operand,
  type Path,
} from "./expression.ts";
export { ExpressionError } from "./expression-error.ts";
export { parseExpression, parsePath } from "./parse.ts";
export { toPredicate } from "./predicate.ts";
export type { ExpressionSchema, SchemaField } from "./schema.ts";
export { pathSql, toSql } from "./sql.ts";
export { isName } from "./tokens.ts";
