/**
 * The builder's view of an expression: a quick search, and conditions of which all or any must hold. Expressions with
 * deeper nesting, negation or comparisons of two fields have no such view and stay raw.
 */
import type { FieldDefinition, FieldType } from "@socle/protocol";
import { type Comparison, writeLiteral } from "../../../kit/expression/tokens.ts";
import { type Operand, parseExpression, type Tree, writeOperand } from "./expression.ts";

export interface Condition {
  readonly path: string;
  readonly operator: Comparison | "in";
  /** One, but for `in`. */
  readonly values: readonly Operand[];
}

export interface Builder {
  /** Looked for in all texts; empty without a quick search. */
  readonly quick: string;
  readonly join: "all" | "any";
  readonly conditions: readonly Condition[];
}

export const emptyBuilder: Builder = { quick: "", join: "all", conditions: [] };

/** The language allows 100 comparisons: a quick search leaves most of them to conditions. */
const mostQuickFields = 20;

/** The fields in which a quick search looks. */
export function quickFields(fields: readonly FieldDefinition[]): string[] {
  return fields
    .filter(({ type }) => type === "string" || type === "text")
    .map(({ name }) => name)
    .slice(0, mostQuickFields);
}

function conditionOf(tree: Tree): Condition | null {
  if (tree.type === "compare") return { path: tree.path, operator: tree.operator, values: [tree.right] };
  if (tree.type === "in") return { path: tree.path, operator: "in", values: tree.items };
  return null;
}

function conditionsOf(trees: readonly Tree[]): Condition[] | null {
  const conditions = trees.map(conditionOf).filter((each) => each !== null);
  return conditions.length === trees.length ? conditions : null;
}

/** The text of a group such as `(title ~ "x" || body ~ "x")`, over texts of the collection only. */
function quickOf(tree: Tree, allowed: readonly string[]): string | null {
  if (tree.type !== "group") return null;
  const items = tree.item.type === "or" ? tree.item.items : [tree.item];
  let found: string | null = null;
  for (const item of items) {
    if (item.type !== "compare" || item.operator !== "~" || !allowed.includes(item.path)) return null;
    if (item.right.type !== "value" || typeof item.right.value !== "string") return null;
    if (found !== null && found !== item.right.value) return null;
    found = item.right.value;
  }
  return found;
}

function read(tree: Tree, quick: string): Builder | null {
  if (tree.type === "group") return read(tree.item, quick);
  const items = tree.type === "and" || tree.type === "or" ? tree.items : [tree];
  const conditions = conditionsOf(items);
  return conditions === null ? null : { quick, join: tree.type === "or" ? "any" : "all", conditions };
}

/** The builder's view, or null where it cannot show the expression. */
export function toBuilder(expression: string, fields: readonly FieldDefinition[]): Builder | null {
  if (expression.trim() === "") return emptyBuilder;
  const tree = parseExpression(expression);
  if (tree === null) return null;
  const allowed = quickFields(fields);
  const alone = quickOf(tree, allowed);
  if (alone !== null) return { ...emptyBuilder, quick: alone };
  if (tree.type === "and") {
    const [first, ...rest] = tree.items;
    const quick = first === undefined ? null : quickOf(first, allowed);
    const [second] = rest;
    if (quick !== null && second !== undefined)
      return read(rest.length === 1 ? second : { type: "and", items: rest }, quick);
  }
  return read(tree, "");
}

function writeCondition({ path, operator, values }: Condition): string {
  if (operator === "in") return `${path} in (${values.map(writeOperand).join(", ")})`;
  const [value = { type: "value", value: null }] = values;
  return `${path} ${operator} ${writeOperand(value)}`;
}

/** The expression of a builder; empty without conditions. */
export function fromBuilder({ quick, join, conditions }: Builder, fields: readonly FieldDefinition[]): string {
  const all = conditions.map(writeCondition);
  const names = quickFields(fields);
  const search =
    quick === "" || names.length === 0
      ? ""
      : `(${names.map((name) => `${name} ~ ${writeLiteral(quick)}`).join(" || ")})`;
  if (join === "all") return [...(search === "" ? [] : [search]), ...all].join(" && ");
  if (search === "") return all.join(" || ");
  if (all.length === 0) return search;
  return `${search} && ${all.length === 1 ? all[0] : `(${all.join(" || ")})`}`;
}

export type Operator = Comparison | "in" | "isNull" | "isNotNull";

const ordered: readonly Operator[] = ["=", "!=", ">", ">=", "<", "<=", "in", "isNull", "isNotNull"];
const texts: readonly Operator[] = ["~", "!~", "=", "!=", "in", "isNull", "isNotNull"];

/** The operators of multiple fields. Null is no item. */
const items: readonly Operator[] = ["=", "!=", "in"];
const itemTexts: readonly Operator[] = ["=", "!=", "~", "!~", "in"];

/** The operators that make sense for values of a type, the most useful one first. */
const operatorsOf: { readonly [type in FieldType]: readonly Operator[] } = {
  string: texts,
  text: texts,
  integer: ordered,
  float: ordered,
  boolean: ["=", "!=", "isNull", "isNotNull"],
  datetime: [">=", "<=", ">", "<", "=", "!=", "isNull", "isNotNull"],
  json: ["~", "!~", "isNull", "isNotNull"],
  relation: ["=", "!=", "in", "isNull", "isNotNull"],
  file: ["=", "!=", "isNull", "isNotNull"],
};

/** The same for a field, which may be one of some values, in their order, or have several items, of which some are compared. */
export function operatorsFor({ type, values, multiple }: FieldDefinition): readonly Operator[] {
  if (multiple === true) return type === "string" && values === undefined ? itemTexts : items;
  return values === undefined ? operatorsOf[type] : ordered;
}

/** The operator as the form shows it: a comparison with null is one of its own. */
export function operatorOf({ operator, values }: Condition): Operator {
  const [value] = values;
  const isNull = value?.type === "value" && value.value === null;
  if (isNull && operator === "=") return "isNull";
  if (isNull && operator === "!=") return "isNotNull";
  return operator;
}

/** A condition from what stands in the form, or null while a value is missing or no value of the type. */
export function conditionFrom(
  path: string,
  type: FieldType,
  form: { operator: Operator; text: string },
): Condition | null {
  const { operator, text } = form;
  if (operator === "isNull" || operator === "isNotNull")
    return { path, operator: operator === "isNull" ? "=" : "!=", values: [{ type: "value", value: null }] };
  const parts =
    operator === "in"
      ? text
          .split(",")
          .map((part) => part.trim())
          .filter((part) => part !== "")
      : [text];
  const values = parts.map((part) => operandFrom(type, part));
  const known = values.filter((each) => each !== null);
  return known.length === 0 || known.length < values.length ? null : { path, operator, values: known };
}

function operandFrom(type: FieldType, text: string): Operand | null {
  if (text === "@now" || text === "@today")
    return type === "datetime" ? { type: "macro", name: text } : operandWith(text);
  if (text === "@user.id" && type === "relation") return { type: "macro", name: text };
  switch (type) {
    case "integer":
    case "float": {
      const number = Number(text);
      return text.trim() === "" || !Number.isFinite(number) ? null : operandWith(number);
    }
    case "boolean":
      return text === "true" || text === "false" ? operandWith(text === "true") : null;
    case "datetime":
    case "relation":
    case "file":
      return text.trim() === "" ? null : operandWith(text.trim());
    default:
      return operandWith(text);
  }
}

function operandWith(value: string | number | boolean): Operand {
  return { type: "value", value };
}

/** The values as one text, for the form's control. */
export function textOf({ values }: Condition): string {
  return values.map((value) => (value.type === "macro" ? value.name : String(value.value ?? ""))).join(", ");
}
