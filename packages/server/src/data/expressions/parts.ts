/** Parts of an expression: operands and comparisons with places in the text, each part a separate condition. */

import type { Span, Syntax } from "@socle/protocol/filter";
import type { Expression, ExpressionSchema, Some, SomeItem } from "./expression.ts";
import { checkSyntax, syntaxOf } from "./parse.ts";

const kinds = {
  and: "and",
  or: "or",
  not: "not",
  exists: "some",
  compare: "comparison",
  in: "comparison",
} as const;

export interface ExpressionPart extends Span {
  /** The parts of `some` are the parts in the brackets: see `within`. */
  readonly kind: (typeof kinds)[Syntax["type"]];
  readonly condition: Expression;
  readonly parts: readonly ExpressionPart[];
}

/** Parses an expression into parts. Throws as `parseExpression` does. */
export function parseParts(text: string, schema: ExpressionSchema): ExpressionPart {
  const syntax = syntaxOf(text);
  return partOf(syntax, checkSyntax(syntax, schema));
}

function partOf(syntax: Syntax, condition: Expression): ExpressionPart {
  const { type, start, end } = syntax;
  return { kind: kinds[type], start, end, condition, parts: partsBelow(syntax, condition) };
}

/** The two trees have the same shape: the condition was made of the syntax. */
function partsBelow(syntax: Syntax, condition: Expression): ExpressionPart[] {
  if (syntax.type === "not" && condition.type === "not") return [partOf(syntax.item, condition.item)];
  if ((syntax.type === "and" || syntax.type === "or") && condition.type === syntax.type)
    return syntax.items.flatMap((item, i) => {
      const inner = condition.items[i];
      return inner === undefined ? [] : [partOf(item, inner)];
    });
  if (syntax.type !== "exists" || (condition.type !== "some" && condition.type !== "someItem")) return [];
  const backward = syntax.path.steps.filter((step) => step.type === "backward" || step.type === "items");
  const [step] = backward;
  // A way through several collections would need the records of each collection.
  if (backward.length !== 1 || step === undefined || step.filter === null || condition.item === null) return [];
  const inner = within(condition, partOf(step.filter, condition.item), []);
  return inner.kind === "and" ? [...inner.parts] : [inner];
}

/**
 * The condition that some record in the brackets fulfils the part and, joined by &&, the parts before. So the first part that
 * fails is the part that excludes the last records.
 */
function within(some: Some | SomeItem, part: ExpressionPart, before: readonly Expression[]): ExpressionPart {
  const items = [...before, part.condition];
  const item: Expression = items.length > 1 ? { type: "and", items } : part.condition;
  const condition: Expression = { ...some, item };
  const parts = part.parts.map((each, i) => {
    const joined = part.kind === "and" ? part.parts.slice(0, i).map((other) => other.condition) : [];
    return within(some, each, [...before, ...joined]);
  });
  return { ...part, condition, parts };
}
