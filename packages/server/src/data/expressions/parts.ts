/** Parts of an expression: operands and comparisons with places in the text, each part a separate condition. */

import type { Span, Syntax } from "@socle/protocol/filter";
import type { Expression, ExpressionSchema, Some, SomeItem } from "./expression.ts";
import { checkSyntax, syntaxOf } from "./parse.ts";

const kinds = {
  and: "and",
  or: "or",
  not: "not",
  exists: "some",
  every: "every",
  compare: "comparison",
  in: "comparison",
} as const;

export interface ExpressionPart extends Span {
  /** The parts of `some` are the parts in the brackets: see `within`. The parts of `every` are the parts of its condition: see `ofAll`. */
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
  if (syntax.type === "every" && condition.type === "not") return partsOfEvery(syntax.condition, condition.item);
  if (syntax.type !== "exists" || (condition.type !== "some" && condition.type !== "someItem")) return [];
  const backward = syntax.path.steps.filter((step) => step.type === "backward" || step.type === "items");
  const [step] = backward;
  // A way through several collections would need the records of each collection.
  if (backward.length !== 1 || step === undefined || step.filter === null || condition.item === null) return [];
  return withoutAnd(within(condition, partOf(step.filter, condition.item), []));
}

/** @param some that some record fails the condition: the last term is the failed condition. */
function partsOfEvery(checked: Syntax, some: Expression): ExpressionPart[] {
  if ((some.type !== "some" && some.type !== "someItem") || some.item === null) return [];
  const terms = some.item.type === "and" ? some.item.items : [some.item];
  const failed = terms.at(-1);
  // A way through several collections ends with a step to several.
  if (failed?.type !== "not") return [];
  return withoutAnd(ofAll(some, partOf(checked, failed.item), terms.slice(0, -1)));
}

function withoutAnd(part: ExpressionPart): ExpressionPart[] {
  return part.kind === "and" ? [...part.parts] : [part];
}

/** The condition that no record fails the part. @param filter of the records. */
function ofAll(some: Some | SomeItem, part: ExpressionPart, filter: readonly Expression[]): ExpressionPart {
  const item: Expression = { type: "and", items: [...filter, { type: "not", item: part.condition }] };
  const parts = part.parts.map((each) => ofAll(some, each, filter));
  return { ...part, condition: { type: "not", item: { ...some, item } }, parts };
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
