/** Parsing: the text of an expression, or of a path, becomes a checked tree. */
import { FilterSyntaxError, isName, parsePathSyntax, parseSyntax, type Syntax } from "@socle/protocol/filter";
import { quote } from "../../base/kernel/index.ts";
import { checkSyntax, referencesIn } from "./check.ts";
import type { Expression, ExpressionSchema, Path } from "./expression.ts";
import { ExpressionError } from "./expression-error.ts";
import { type FieldReference, resolvePath } from "./paths.ts";

/** The tree of an expression's text; no name is looked up. @throws ExpressionError. */
export function syntaxOf(text: string): Syntax {
  return inForm(parseSyntax, text);
}

/**
 * Parses an expression over the records of a collection.
 * @throws ExpressionError with the position and the expectation; the errors of the schema.
 */
export function parseExpression(text: string, schema: ExpressionSchema): Expression {
  return checkSyntax(syntaxOf(text), schema);
}

/** The fields that an expression names, each with its place in the text. Throws as `parseExpression` does. */
export function referencesOf(text: string, schema: ExpressionSchema): FieldReference[] {
  return referencesIn(syntaxOf(text), schema);
}

/**
 * Looks up a path to a single value, as `author.name`.
 * @throws ExpressionError; the errors of the schema.
 */
export function parsePath(text: string, schema: ExpressionSchema): Path {
  const odd = text.split(".").find((part) => !isName(part.replace(/(\[\d+\])+$/, "")));
  if (odd !== undefined) throw new ExpressionError(0, `${quote(text)} is no path: ${quote(odd)} is no name`);
  return resolvePath(schema, inForm(parsePathSyntax, text));
}

function inForm<T>(parse: (text: string) => T, text: string): T {
  try {
    return parse(text);
  } catch (thrown) {
    throw thrown instanceof FilterSyntaxError ? new ExpressionError(thrown.offset, thrown.problem) : thrown;
  }
}
