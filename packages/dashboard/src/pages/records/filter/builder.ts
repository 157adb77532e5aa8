/**
 * The builder's view of an expression: a quick search, and conditions of which all or any must hold. Expressions with
 * deeper nesting, negation or comparisons of two fields have no builder view and stay raw text.
 */
import { filter } from "@socle/client";
import type { FieldDefinition, FieldType } from "@socle/protocol";
import {
  type Comparison,
  FilterSyntaxError,
  parseSyntax,
  type Syntax,
  type Term,
  textOf as textOfPath,
} from "@socle/protocol/filter";
import { kinds, type Operand, type Operator } from "../../../fields/index.ts";

export type { Operator };

export interface Condition {
  readonly path: string;
  readonly operator: Comparison | "in";
  /** More than a single value only for `in`. */
  readonly values: readonly Operand[];
}

export interface Builder {
  /** The text of the quick search over all text fields; empty without a quick search. */
  readonly quick: string;
  readonly join: "all" | "any";
  readonly conditions: readonly Condition[];
}

export const emptyBuilder: Builder = { quick: "", join: "all", conditions: [] };

/** The language allows 100 comparisons: a quick search leaves most comparisons to conditions. */
const mostQuickFields = 20;

/** The fields of a quick search. */
export function quickFields(fields: readonly FieldDefinition[]): string[] {
  return fields
    .filter(({ type }) => kinds[type].isText)
    .map(({ name }) => name)
    .slice(0, mostQuickFields);
}

/** A part of a filter, with the text around the part. */
interface Part {
  readonly text: string;
  readonly node: Syntax;
}

const macros: readonly string[] = ["now", "today", "user.id"];

function operandOf(term: Term): Operand | null {
  if (term.type === "value") return { type: "value", value: term.value };
  const isKnown = term.type === "macro" && term.shift === 0 && macros.includes(term.name);
  return isKnown ? { type: "macro", name: `@${term.name}` } : null;
}

function conditionOf(node: Syntax): Condition | null {
  if ((node.type !== "compare" && node.type !== "in") || node.left.type !== "path") return null;
  if (node.left.isOfRecord || !node.left.steps.every(({ type }) => type === "name")) return null;
  const values = (node.type === "in" ? node.items : [node.right]).map(operandOf).filter((each) => each !== null);
  if (values.length < (node.type === "in" ? node.items.length : 1)) return null;
  return { path: textOfPath(node.left), operator: node.type === "in" ? "in" : node.operator, values };
}

/** The text of a group in brackets, for example `(title ~ "x" || body ~ "x")`, over text fields of the collection only. */
function quickOf({ text, node }: Part, allowed: readonly string[]): string | null {
  if (!/\(\s*$/.test(text.slice(0, node.start)) || !/^\s*\)/.test(text.slice(node.end))) return null;
  const conditions = (node.type === "or" ? node.items : [node]).map(conditionOf);
  const [first] = conditions;
  const [value] = first?.values ?? [];
  const isQuick = conditions.every(
    (each) => each?.operator === "~" && allowed.includes(each.path) && each.values[0]?.type === "value",
  );
  const isOne = conditions.every((each) => JSON.stringify(each?.values) === JSON.stringify(first?.values));
  return isQuick && isOne && value?.type === "value" && typeof value.value === "string" ? value.value : null;
}

function read(node: Syntax, quick: string): Builder | null {
  const items = node.type === "and" || node.type === "or" ? node.items : [node];
  const conditions = items.map(conditionOf).filter((each) => each !== null);
  if (conditions.length < items.length) return null;
  return { quick, join: node.type === "or" ? "any" : "all", conditions };
}

/** The syntax tree of a filter; null for a text with a syntax error: the service's error has the position. */
function syntaxOf(text: string): Syntax | null {
  try {
    return parseSyntax(text);
  } catch (error) {
    if (error instanceof FilterSyntaxError) return null;
    throw error;
  }
}

/** The builder's view of a filter; null for a filter without a builder view. */
export function toBuilder(text: string, fields: readonly FieldDefinition[]): Builder | null {
  if (text.trim() === "") return emptyBuilder;
  const node = syntaxOf(text);
  if (node === null) return null;
  const allowed = quickFields(fields);
  const alone = quickOf({ text, node }, allowed);
  if (alone !== null) return { ...emptyBuilder, quick: alone };
  if (node.type !== "and") return read(node, "");
  const [first, second, ...rest] = node.items;
  const quick = first === undefined ? null : quickOf({ text, node: first }, allowed);
  if (quick === null || second === undefined) return read(node, "");
  return read(rest.length === 0 ? second : { ...node, items: node.items.slice(1) }, quick);
}

function writeOperand(operand: Operand): string {
  return operand.type === "macro" ? operand.name : filter`${operand.value}`;
}

function writeCondition({ path, operator, values }: Condition): string {
  if (operator === "in") return `${path} in (${values.map(writeOperand).join(", ")})`;
  const [value = { type: "value", value: null }] = values;
  return `${path} ${operator} ${writeOperand(value)}`;
}

/** The expression of a builder; empty without conditions and without a quick search. */
export function fromBuilder({ quick, join, conditions }: Builder, fields: readonly FieldDefinition[]): string {
  const all = conditions.map(writeCondition);
  const names = quickFields(fields);
  const search =
    quick === "" || names.length === 0 ? "" : `(${names.map((name) => `${name} ${filter`~ ${quick}`}`).join(" || ")})`;
  if (join === "all") return [...(search === "" ? [] : [search]), ...all].join(" && ");
  if (search === "") return all.join(" || ");
  if (all.length === 0) return search;
  return `${search} && ${all.length === 1 ? all[0] : `(${all.join(" || ")})`}`;
}

/** The operators of multiple fields. Null is not an item. */
const items: readonly Operator[] = ["=", "!=", "in"];
const itemTexts: readonly Operator[] = ["=", "!=", "~", "!~", "in"];

/** The operators for a field. A field with values compares by their order; a condition on a multiple field is about some items. */
export function operatorsFor({ type, values, multiple }: FieldDefinition): readonly Operator[] {
  if (multiple === true) return type === "string" && values === undefined ? itemTexts : items;
  return values === undefined ? kinds[type].operators : kinds.integer.operators;
}

/** The operator in the form: a comparison with null has its own operator. */
export function operatorOf({ operator, values }: Condition): Operator {
  const [value] = values;
  const isNull = value?.type === "value" && value.value === null;
  if (isNull && operator === "=") return "isNull";
  if (isNull && operator === "!=") return "isNotNull";
  return operator;
}

/** A condition from the form, or null while a value is missing or not a value of the type. */
export function conditionFrom(
  path: string,
  type: FieldType,
  form: { operator: Operator; text: string },
): Condition | null {
  const { operator, text } = form;
  if (operator === "isNull" || operator === "isNotNull")
    return { path, operator: operator === "isNull" ? "=" : "!=", values: [{ type: "value", value: null }] };
  // Every text contains the empty text.
  if (text === "" && (operator === "~" || operator === "!~")) return null;
  const parts =
    operator === "in"
      ? text
          .split(",")
          .map((part) => part.trim())
          .filter((part) => part !== "")
      : [text];
  const values = parts.map(kinds[type].read);
  const known = values.filter((each) => each !== null);
  return known.length === 0 || known.length < values.length ? null : { path, operator, values: known };
}

/** The values in a single text, for the form's control. */
export function textOf({ values }: Condition): string {
  return values.map((value) => (value.type === "macro" ? value.name : String(value.value ?? ""))).join(", ");
}
