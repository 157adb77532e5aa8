import { checkSyntax, resolvePath } from "./check.ts";
import type { Expression, Path } from "./expression.ts";
import type { Shape } from "./shape.ts";
import { parseSyntax } from "./syntax.ts";

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
  return resolvePath(shape, text.split("."), 0);
}
