/** Parsing: the text of an expression, or of a path, becomes a checked tree. */
import { quote } from "../kernel/index.ts";
import { checkSyntax, referencesIn } from "./check.ts";
import type { Expression, Path } from "./expression.ts";
import { ExpressionError } from "./expression-error.ts";
import { type FieldReference, resolvePath } from "./paths.ts";
import type { ExpressionSchema } from "./schema.ts";
import { parsePathSyntax, parseSyntax } from "./syntax.ts";
import { isName } from "./tokens.ts";

/**
 * Parses an expression over the records of a collection.
 * @throws ExpressionError with the position and the expectation; the errors of the schema.
 */
export function parseExpression(text: string, schema: ExpressionSchema): Expression {
  return checkSyntax(parseSyntax(text), schema);
}

/** Looks at the form of an expression alone. @throws ExpressionError. */
export function checkSyntaxOf(text: string): void {
  parseSyntax(text);
}

/** The fields that an expression names, where they stand in its text. Throws as `parseExpression` does. */
export function referencesOf(text: string, schema: ExpressionSchema): FieldReference[] {
  return referencesIn(parseSyntax(text), schema);
}

/**
 * Looks up a path to one value, such as `author.name`.
 * @throws ExpressionError; what the schema throws.
 */
export function parsePath(text: string, schema: ExpressionSchema): Path {
  const odd = text.split(".").find((part) => !isName(part.replace(/(\[\d+\])+$/, "")));
  if (odd !== undefined) throw new ExpressionError(0, `${quote(text)} is no path: ${quote(odd)} is no name`);
  const path = resolvePath(schema, parsePathSyntax(text));
  return path;
}
