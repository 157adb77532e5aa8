import { quote } from "../kernel/index.ts";
import { checkSyntax, resolvePath } from "./check.ts";
import type { Expression, Path } from "./expression.ts";
import { ExpressionError } from "./expression-error.ts";
import type { Shape } from "./shape.ts";
import { parseSyntax } from "./syntax.ts";
import { isName } from "./tokens.ts";

/**
 * Parses an expression over the records of a collection.
 * @throws ExpressionError with the position and what was expected there; what `Shape.follow` throws.
 */
export function parseExpression(text: string, shape: Shape): Expression {
  return checkSyntax(parseSyntax(text), shape);
}

/**
 * Looks up a path such as `author.name`.
 * @throws ExpressionError; what `Shape.follow` throws.
 */
export function parsePath(text: string, shape: Shape): Path {
  const names = text.split(".");
  const odd = names.find((name) => !isName(name));
  if (odd !== undefined) throw new ExpressionError(0, `${quote(text)} is no path: ${quote(odd)} is no name`);
  return resolvePath(shape, names, 0);
}
