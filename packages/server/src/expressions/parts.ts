/** Parts of an expression: its operands and comparisons with their places in the text, each a condition of its own. */
import { checkSyntax } from "./check.ts";
import type { Expression, Some, SomeItem } from "./expression.ts";
import type { ExpressionSchema } from "./schema.ts";
import { parseSyntax, type Span, type Syntax } from "./syntax.ts";

/** A part of an expression's text, and the condition that it is. */
export interface ExpressionPart extends Span {
  /** `some` has the parts of its brackets below it: see `within`. */
  readonly kind: "and" | "or" | "not" | "some" | "comparison";
  readonly condition: Expression;
  readonly parts: readonly ExpressionPart[];
}

/** Parses an expression into its parts. Throws as `parseExpression` does. */
export function parseParts(text: string, schema: ExpressionSchema): ExpressionPart {
  const syntax = parseSyntax(text);
  return partOf(syntax, checkSyntax(syntax, schema));
}

function partOf(syntax: Syntax, condition: Expression): ExpressionPart {
  const { start, end } = syntax;
  const kind = syntax.type === "compare" || syntax.type === "in" ? "comparison" : kindOf(syntax);
  return { kind, start, end, condition, parts: partsBelow(syntax, condition) };
}

function kindOf({ type }: Exclude<Syntax, { type: "compare" | "in" }>): ExpressionPart["kind"] {
  return type === "exists" ? "some" : type;
}

/** The two trees have the same shape: one was made of the other. */
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
  // Of a way through several collections, the records of all of them would have to be told.
  if (backward.length !== 1 || step === undefined || step.filter === null || condition.item === null) return [];
  const inner = within(condition, partOf(step.filter, condition.item), []);
  return inner.kind === "and" ? [...inner.parts] : [inner];
}

/**
 * Some record that the brackets stand for fulfils the part, and those before it that are joined to it by &&: so the
 * first one that fails is the one that no record fulfils which has come so far.
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
