import { quote } from "../kernel/index.ts";
import { checkSyntax, resolvePath } from "./check.ts";
import type { Expression, Path } from "./expression.ts";
import { ExpressionError } from "./expression-error.ts";
import type { ExpressionSchema } from "./schema.ts";
import { parseSyntax } from "./syntax.ts";
import { isName } from "./tokens.ts";

/**
 * Parses an expression over the records of a collection.
 * @throws ExpressionError with the position and what was expected there; what `ExpressionSchema.follow` throws.
 */
export function parseExpression(text: string, schema: ExpressionSchema): Expression {
  return checkSyntax(parseSyntax(text), schema);
}

/**
 * Looks up a path such as `author.name`.
 * @throws ExpressionError; what `ExpressionSchema.follow` throws.
 */
export function parsePath(text: string, schema: ExpressionSchema): Path {
  const names = text.split(".");
  const odd = names.find((name) => !isName(name));
  if (odd !== undefined) throw new ExpressionError(0, `${quote(text)} is no path: ${quote(odd)} is no name`);
  return resolvePath(schema, names, 0);
}
