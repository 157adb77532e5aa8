import type { ValueType } from "../fields/index.ts";
import type { ExpressionSchema, SchemaField } from "./schema.ts";
import type { Macro } from "./syntax.ts";
import type { Comparison } from "./tokens.ts";

export type Scalar = string | number | boolean;

/** A way from a record to a value: through relations, to a field, and on into its JSON. */
export interface Path {
  readonly type: "path";
  readonly hops: readonly Hop[];
  readonly field: SchemaField;
  /** Names of members, from the outermost. */
  readonly members: readonly string[];
  readonly valueType: ValueType;
}

/** One step through a relation: the field that holds the id, and what it leads to. */
export interface Hop {
  readonly field: SchemaField;
  readonly target: ExpressionSchema;
}

/** A value that does not depend on the record. */
export type Constant =
  /** A datetime stands as it is stored. */
  | { readonly type: "value"; readonly value: Scalar | null; readonly valueType: ValueType | "null" }
  /** `user.id` is null for somebody who is not signed in, and then equals no field. */
  | { readonly type: "macro"; readonly name: Macro; readonly valueType: ValueType };

export type Operand = Path | Constant;

/** An expression whose names are known and whose types fit. */
export type Expression =
  | { readonly type: "and" | "or"; readonly items: readonly Expression[] }
  | { readonly type: "not"; readonly item: Expression }
  | { readonly type: "compare"; readonly operator: Comparison; readonly left: Operand; readonly right: Operand }
  | { readonly type: "in"; readonly left: Operand; readonly items: readonly Operand[] };

/** What constants stand for, in the moment in which an expression is used. */
export interface EvaluationContext {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The id of the caller, or null. */
  readonly userId: string | null;
}

/** The value of a constant, as it is stored. */
export function constantValue(constant: Constant, context: EvaluationContext): Scalar | null {
  if (constant.type === "value") return constant.value;
  switch (constant.name) {
    case "now":
      return new Date(context.now).toISOString();
    case "today":
      return `${new Date(context.now).toISOString().slice(0, 10)}T00:00:00.000Z`;
    case "user.id":
      return context.userId;
  }
}

/** Whether it is the word `null`. */
export function isNull(operand: Operand): boolean {
  return operand.type === "value" && operand.value === null;
}

/** Visits every operand. */
export function eachOperand(expression: Expression, visit: (operand: Operand) => void): void {
  switch (expression.type) {
    case "and":
    case "or":
      for (const item of expression.items) eachOperand(item, visit);
      return;
    case "not":
      eachOperand(expression.item, visit);
      return;
    case "compare":
      visit(expression.left);
      visit(expression.right);
      return;
    case "in":
      visit(expression.left);
      for (const item of expression.items) visit(item);
  }
}
