/**
 * Comparisons of fields with `values`. Beside such a value, a field stands for the position of its text, so that `<` and `>` follow
 * the order that sorts, and the same index serves both. Beside anything else the field is a text.
 */

import type { Comparison, Term } from "@socle/protocol/filter";
import { nearest, quote } from "../../base/kernel/index.ts";
import { ExpressionError, inOrder, type Operand, type Path } from "./expression.ts";

/** Values that a message lists. */
const maxShown = 20;

/** A side of a comparison. */
export interface Side {
  readonly term: Term;
  readonly operand: Operand;
}

type Order = NonNullable<Path["field"]["order"]>;

function orderOf({ operand }: Side): Order | null {
  return operand.type === "path" && operand.valueType === "text" ? (operand.field.order ?? null) : null;
}

/** A text of the expression, or null. */
function isLiteral({ operand }: Side): boolean {
  return operand.type === "value" && (operand.value === null || typeof operand.value === "string");
}

function hasSameOrder(a: Order, b: Order): boolean {
  return JSON.stringify(a.values) === JSON.stringify(b.values);
}

/**
 * Checks a comparison of an item of a multiple field with `values`.
 * @throws ExpressionError for a text that is not among the values, and for an operator of order: items have no order.
 */
export function checkItem(operator: Comparison | "in", { operand }: Side, other: Side): void {
  const allowed = operand.type === "path" ? operand.field.allowed : undefined;
  if (allowed === undefined || operator === "~" || operator === "!~") return;
  if (operator !== "=" && operator !== "!=" && operator !== "in")
    throw new ExpressionError(other.term.offset, `${operator} means nothing for the items of a field with "values"`);
  const value = other.operand.type === "value" ? other.operand.value : null;
  if (typeof value === "string" && !allowed.includes(value)) throw notAllowed(allowed, other, value);
}

function notAllowed(values: readonly string[], { term }: Side, value: string): ExpressionError {
  const near = nearest(value, values);
  const shown = `${values.slice(0, maxShown).map(quote).join(", ")}${values.length > maxShown ? ", …" : ""}`;
  const hint = near === null ? `; allowed: ${shown}` : `; did you mean ${quote(near)}?`;
  return new ExpressionError(term.offset, `${quote(value)} is none of the values of the field${hint}`);
}

function inOrderOf({ values }: Order, side: Side): Operand {
  const { operand } = side;
  if (operand.type === "path") return inOrder(operand);
  if (operand.type !== "value" || typeof operand.value !== "string") return operand;
  const position = values.indexOf(operand.value);
  if (position >= 0) return { type: "value", value: position, valueType: "number" };
  throw notAllowed(values, side, operand.value);
}

/**
 * The two sides of a comparison as positions; null for a comparison of texts.
 * @throws ExpressionError for a text that is not among the values, and for an order of fields with different values.
 */
export function comparedInOrder(operator: Comparison, left: Side, right: Side): [Operand, Operand] | null {
  const [ofLeft, ofRight] = [orderOf(left), orderOf(right)];
  const order = ofLeft ?? ofRight;
  if (order === null || operator === "~" || operator === "!~") return null;
  const other = ofLeft === null ? left : right;
  const isAlike = ofLeft !== null && ofRight !== null && hasSameOrder(ofLeft, ofRight);
  if (isAlike || isLiteral(other)) return [inOrderOf(order, left), inOrderOf(order, right)];
  const isText = other.operand.valueType === "text";
  if (operator === "=" || operator === "!=" || !isText) return null;
  throw new ExpressionError(
    other.term.offset,
    `${operator} follows the order of the values of a field, and needs one of them, or a field with the same values`,
  );
}

/** The same for a list; null unless every item is a text or null. */
export function listedInOrder(left: Side, items: readonly Side[]): { left: Operand; items: Operand[] } | null {
  const order = orderOf(left);
  if (order === null || !items.every(isLiteral)) return null;
  return { left: inOrderOf(order, left), items: items.map((item) => inOrderOf(order, item)) };
}
