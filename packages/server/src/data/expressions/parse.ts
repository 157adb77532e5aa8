/**
 * Parsing: the text of an expression becomes a checked tree. Every name is looked up, and the two sides of every
 * comparison fit.
 *
 * Beside an allowed text, a field with `values` stands for the position of its text, so that `<` and `>` follow the
 * order that sorts, and the same index serves both. Beside anything else the field is a text.
 */

import {
  type Comparison,
  type Macro,
  type PathTerm,
  parseSyntax,
  parseTermSyntax,
  type Syntax,
  showNumber,
  type Term,
  textOf,
} from "@socle/protocol/filter";
import { nearest, parseDatetime, quote } from "../../base/kernel/index.ts";
import type { ValueType } from "../fields/index.ts";
import {
  type CallOperand,
  type DistanceCall,
  type Expression,
  ExpressionError,
  type ExpressionSchema,
  inOrder,
  type Operand,
  type Path,
  valueTypeNames,
} from "./expression.ts";
import { beginOf, type FieldReference, type LookupScope, pathIn, rootScope } from "./lookup.ts";
import { alongPath, failingPath, type PathFrom } from "./multi-valued.ts";
import { inForm } from "./paths.ts";

/** The tree of an expression's text; no name is looked up. @throws ExpressionError. */
export function syntaxOf(text: string): Syntax {
  return inForm(parseSyntax, text);
}

/**
 * Parses an expression over the records of a collection.
 * @param bytes the most bytes of the text; by default the bytes of a rule.
 * @throws ExpressionError with the position and the expectation; the errors of the schema.
 */
export function parseExpression(text: string, schema: ExpressionSchema, bytes?: number): Expression {
  return checkSyntax(
    inForm((each) => parseSyntax(each, bytes), text),
    schema,
  );
}

/**
 * Parses what a list can be sorted by beside a path: `distance(field, lat, lon)`.
 * @throws ExpressionError; the errors of the schema.
 */
export function parseDistance(text: string, schema: ExpressionSchema): DistanceCall {
  const term = inForm(parseTermSyntax, text);
  const operand = operandOf(term, rootScope(schema), 0);
  if (operand.type === "call" && operand.call === "distance") return operand;
  throw new ExpressionError(0, `${quote(text)} is no distance(field, lat, lon)`);
}

/**
 * Looks up every name of an expression and makes sure that the sides of each comparison fit. Throws as `parseExpression` does.
 * @param references gets the fields that the expression names.
 */
export function checkSyntax(syntax: Syntax, schema: ExpressionSchema, references: FieldReference[] = []): Expression {
  return check(syntax, rootScope(schema, references));
}

/** The fields that an expression names, with the place in the text. Throws as `parseExpression` does. */
export function referencesOf(text: string, schema: ExpressionSchema): FieldReference[] {
  const references: FieldReference[] = [];
  checkSyntax(syntaxOf(text), schema, references);
  return references;
}

const examples: { readonly [valueType in ValueType]: string } = {
  text: 'a text such as "news"',
  number: "a number such as 5",
  boolean: "true or false",
  datetime: 'a datetime such as "2026-03-01" or "2026-03-01T09:30:00Z", or @now',
  json: "a text, a number, true, false or null",
  geo: "null, or distance(field, lat, lon) < 5km for the places nearby",
  vector: "null",
};

interface Side {
  readonly term: Term;
  readonly operand: Operand;
  /** The field at the end of a path; null for another operand. */
  readonly reference: FieldReference | null;
}

/** @param scope has looked up the operand, and nothing since. */
function sideOf(term: Term, operand: Operand, { references }: LookupScope): Side {
  return { term, operand, reference: operand.type === "path" ? (references.at(-1) ?? null) : null };
}

/** Notes the text that a comparison puts beside a field. */
function noteText({ reference }: Side, { term }: Side): void {
  if (term.type !== "value" || typeof term.value !== "string") return;
  reference?.texts.push({ text: term.value, offset: term.offset, end: term.end });
}

/** The types of macros that are no texts. */
const macroTypes: { readonly [name in Macro]?: ValueType } = {
  now: "datetime",
  today: "datetime",
  "user.anonymous": "boolean",
};

/** Looks a term up in a scope. `passed` steps to several lie between that scope and the comparison. */
function operandOf(term: Term, scope: LookupScope, passed: number): Operand {
  switch (term.type) {
    case "path":
      return singleValue(term, scope, { passed });
    case "macro": {
      if (term.name === "key" && scope.root.hasKey !== true)
        throw new ExpressionError(
          term.offset,
          "@key is the key of a room, in the rules of a room with a string as key",
        );
      const { name, shift } = term;
      const inZone = name === "today" && scope.root.zone !== undefined && { zone: scope.root.zone };
      return { type: "macro", name, shift, valueType: macroTypes[name] ?? "text", ...inZone };
    }
    case "value": {
      const { value } = term;
      if (value === null) return { type: "value", value, valueType: "null" };
      const valueType = typeof value === "string" ? "text" : typeof value === "number" ? "number" : "boolean";
      return { type: "value", value, valueType };
    }
    case "call": {
      const { argument } = term;
      if (argument.type !== "path") return callOf(term, operandOf(argument, scope, passed));
      return callOf(term, singleValue(argument, scope, { passed, isWhole: term.call === "length" }));
    }
  }
}

function singleValue(
  path: PathTerm,
  scope: LookupScope,
  { passed, isWhole = false }: { passed: number; isWhole?: boolean },
): Path {
  const begin = beginOf(path, scope);
  const value = pathIn(begin.scope, path.steps, { up: begin.up + passed, offset: path.offset, isWhole });
  return markedPath(value, begin.up);
}

/** @param up how many steps to several `@record` climbs out of. */
function markedPath(path: Path, up: number): Path {
  return up === 0 ? path : { ...path, isOfRecord: true };
}

function callOf(term: Term & { type: "call" }, argument: Operand): CallOperand {
  const { call, offset } = term;
  if (argument.type !== "path" || argument.members.includes(null))
    throw new ExpressionError(offset, `${call}(…) takes a field`);
  if (call === "distance") {
    if (argument.valueType === "geo") return { type: "call", call, argument, point: term.point, valueType: "number" };
    throw new ExpressionError(
      offset,
      `distance(…) takes a field of type geo, not ${valueTypeNames[argument.valueType]}`,
    );
  }
  const allowed: readonly ValueType[] = call === "length" ? ["text", "json"] : ["text"];
  if (!allowed.includes(argument.valueType))
    throw new ExpressionError(
      offset,
      `${call}(…) takes a text${call === "length" ? " or a JSON array" : ""}, not ${valueTypeNames[argument.valueType]}`,
    );
  return { type: "call", call, argument, valueType: call === "length" ? "number" : "text" };
}

function shown(term: Term): string {
  switch (term.type) {
    case "path":
      return quote(textOf(term));
    case "macro":
      return `@${term.name}`;
    case "value":
      return typeof term.value === "number" ? showNumber({ value: term.value, unit: term.unit }) : quote(term.value);
    case "call":
      return `${term.call}(${shown(term.argument).replaceAll('"', "")}${term.call === "distance" ? ", …" : ""})`;
  }
}

/** A side of a comparison, for a message. */
function describe({ term, operand }: Side): string {
  return operand.valueType === "null" ? shown(term) : `${shown(term)}, ${valueTypeNames[operand.valueType]}`;
}

/** A text beside a datetime is read as a datetime. */
function asDatetime(side: Side): Side {
  const { term, operand } = side;
  if (operand.type !== "value" || typeof operand.value !== "string") return side;
  const value = parseDatetime(operand.value);
  if (value === null)
    throw new ExpressionError(term.offset, `${quote(operand.value)} is no datetime; expected ${examples.datetime}`);
  return { ...side, operand: { type: "value", value, valueType: "datetime" } };
}

/** Whether the values of an operand are compared with null alone. */
function hasNoEqual({ valueType }: Operand): boolean {
  return valueType === "geo" || valueType === "vector";
}

/** Whether values of the two types can be equal at all. JSON holds texts, numbers and booleans, but no times. */
function fit(a: Operand, b: Operand): boolean {
  if (a.valueType === b.valueType && hasNoEqual(a)) return false;
  if (a.valueType === "null" || b.valueType === "null" || a.valueType === b.valueType)
    return a.valueType !== "json" || b.valueType !== "json";
  const other = a.valueType === "json" ? b.valueType : b.valueType === "json" ? a.valueType : null;
  return other !== null && other !== "datetime" && !["geo", "vector"].includes(other);
}

function refuse(left: Side, right: Side, why: string): ExpressionError {
  const wanted = left.operand.valueType === "null" ? "" : `; expected ${examples[left.operand.valueType]}`;
  const problem = `${describe(left)}, cannot be compared with ${describe(right)}${why}${wanted}`;
  return new ExpressionError(right.term.offset, problem);
}

function contained(operator: "~" | "!~", left: Side, right: Side): [Operand, Operand] {
  if (left.operand.valueType !== "text" && left.operand.valueType !== "json")
    throw new ExpressionError(left.term.offset, `${operator} looks in texts; ${describe(left)}, cannot contain one`);
  if (right.operand.valueType !== "text")
    throw new ExpressionError(right.term.offset, `${operator} looks for a text, not for ${describe(right)}`);
  return [left.operand, right.operand];
}

/** @throws ExpressionError for a length beside anything but a distance. */
function refuseLength({ term }: Side, { operand }: Side): void {
  if (term.type !== "value" || term.unit === undefined) return;
  if (operand.type === "call" && operand.call === "distance") return;
  throw new ExpressionError(
    term.offset,
    `${shown(term)} is a length, which only distance(field, lat, lon) can be compared with`,
  );
}

function compared(operator: Comparison | "in", first: Side, second: Side): [Operand, Operand] {
  if (operator === "~" || operator === "!~") return contained(operator, first, second);
  refuseLength(first, second);
  refuseLength(second, first);
  noteText(first, second);
  noteText(second, first);
  const inOrder = isOfValues(first) || isOfValues(second) ? comparedAsValues(operator, first, second) : null;
  if (inOrder !== null) return inOrder;
  const isTime = first.operand.valueType === "datetime" || second.operand.valueType === "datetime";
  const left = isTime ? asDatetime(first) : first;
  const right = isTime ? asDatetime(second) : second;
  if (!fit(left.operand, right.operand)) throw refuse(left, right, "");
  const valueTypes = [left.operand.valueType, right.operand.valueType];
  const isOrder = [">", ">=", "<", "<="].includes(operator);
  if (isOrder && valueTypes.includes("null")) throw refuse(left, right, `: ${operator} needs two values`);
  if (isOrder && valueTypes.includes("boolean")) throw refuse(left, right, `: ${operator} means nothing for booleans`);
  // The other side gives a value inside JSON its order.
  if (right.operand.type === "path" && right.operand.members.includes(null))
    throw new ExpressionError(right.term.offset, "[*], any item, can stand only left of a comparison");
  return [left.operand, right.operand];
}

/** Values that a message lists. */
const maxShown = 20;

type Order = NonNullable<Path["field"]["order"]>;
type Compares = Exclude<Comparison, "~" | "!~">;

/** Whether a side is a field with `values`. */
function isOfValues({ operand }: Side): boolean {
  return operand.type === "path" && (operand.field.order ?? operand.field.allowed) !== undefined;
}

function orderOf({ operand }: Side): Order | null {
  return operand.type === "path" && operand.valueType === "text" ? (operand.field.order ?? null) : null;
}

/** A text of the expression, or null. */
function isLiteral({ operand }: Side): boolean {
  return operand.type === "value" && (operand.value === null || typeof operand.value === "string");
}

/**
 * The two sides of a comparison as positions; null for a comparison of texts.
 * @throws ExpressionError for a text that is not among the values, and for an order of fields with different values.
 */
function comparedAsValues(operator: Compares | "in", left: Side, right: Side): [Operand, Operand] | null {
  checkItem(operator, left, right);
  const [ofLeft, ofRight] = [orderOf(left), orderOf(right)];
  const order = ofLeft ?? ofRight;
  if (order === null || operator === "in") return null;
  const other = ofLeft === null ? left : right;
  const isEquality = operator === "=" || operator === "!=";
  const isAlike = JSON.stringify(ofLeft?.values) === JSON.stringify(ofRight?.values);
  if (isAlike || isLiteral(other)) {
    const sides: [Operand, Operand] = [inOrderOf(order, left), inOrderOf(order, right)];
    return isEquality || other.operand.valueType !== "null" ? sides : null;
  }
  if (isEquality || other.operand.valueType !== "text") return null;
  throw new ExpressionError(
    other.term.offset,
    `${operator} follows the order of the values of a field, and needs a value of the field, or a field with the same values`,
  );
}

/**
 * Checks a comparison of an item of a multiple field with `values`.
 * @throws ExpressionError for a text that is not among the values, and for an operator of order: items have no order.
 */
function checkItem(operator: Compares | "in", { operand }: Side, other: Side): void {
  const allowed = operand.type === "path" ? operand.field.allowed : undefined;
  if (allowed === undefined) return;
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

/** The same for a list; null unless every item is a text or null. */
function listedInOrder(left: Side, items: readonly Side[]): { left: Operand; items: Operand[] } | null {
  const order = orderOf(left);
  if (order === null || !items.every(isLiteral)) return null;
  for (const item of items) noteText(left, item);
  return { left: inOrderOf(order, left), items: items.map((item) => inOrderOf(order, item)) };
}

/** A comparison without its left side. */
interface Rest {
  /**
   * @param side looks up the other side, from the end of the left side.
   * @param isOpposite the comparison is to say the opposite of `!=` or `!~`, which is taken back for all items.
   */
  make(left: Side, side: (other: Term) => Side, isOpposite: boolean): Expression;
  readonly isOpposite: boolean;
}

/** The condition of a comparison, for the value or for some of the values that the left side leads to. */
function comparison(term: Term, scope: LookupScope, { make, isOpposite }: Rest): Expression {
  const sides =
    (passed: number) =>
    (other: Term): Side =>
      sideOf(other, operandOf(other, scope, passed), scope);
  const call = term.type === "call" ? term : null;
  const path = call === null ? term : call.argument;
  if (path.type !== "path") return make(sideOf(term, operandOf(term, scope, 0), scope), sides(0), false);
  const isWhole = call?.call === "length";
  const atEnd = (end: PathFrom): Expression => {
    const value = markedPath(pathIn(end.scope, end.steps, { up: end.up, offset: path.offset, isWhole }), end.up);
    const operand = call === null ? value : callOf(call, value);
    return make(sideOf(term, operand, end.scope), sides(end.passed), isOpposite && end.isOfItem);
  };
  const from = fromStart(path, scope);
  return isOneValue(from) ? atEnd(from) : alongPath(from, { isOpposite, isWhole, check, atEnd });
}

function fromStart(path: PathTerm, scope: LookupScope): PathFrom {
  return { ...beginOf(path, scope), steps: path.steps, passed: 0, isOfItem: false };
}

/** Whether a path is the name of a field with a single value. */
function isOneValue({ scope, steps }: PathFrom): boolean {
  const [step] = steps;
  return steps.length === 1 && step?.type === "name" && scope.schema.field(step.name)?.items === undefined;
}

/** Some record is found at the end of a path. */
function someAlong(path: PathTerm, scope: LookupScope): Expression {
  const atEnd = (): never => {
    throw new ExpressionError(path.offset, "expected a comparison");
  };
  return alongPath(fromStart(path, scope), { isOpposite: false, isWhole: false, check, atEnd });
}

const opposites: { readonly [operator in Comparison]?: Comparison } = { "!=": "=", "!~": "~" };

function check(syntax: Syntax, scope: LookupScope): Expression {
  switch (syntax.type) {
    case "and":
    case "or":
      return { type: syntax.type, items: syntax.items.map((item) => check(item, scope)) };
    case "not":
      return { type: "not", item: check(syntax.item, scope) };
    case "exists":
      return someAlong(syntax.path, scope);
    case "every":
      return {
        type: "not",
        item: someAlong({ ...syntax.path, steps: failingPath(syntax.path, syntax.condition) }, scope),
      };
    case "compare": {
      const opposite = opposites[syntax.operator];
      return comparison(syntax.left, scope, {
        isOpposite: opposite !== undefined,
        make(left, side, isOpposite) {
          const operator = isOpposite ? (opposite ?? syntax.operator) : syntax.operator;
          const [first, second] = compared(operator, left, side(syntax.right));
          return { type: "compare", operator, left: first, right: second };
        },
      });
    }
    case "in":
      return comparison(syntax.left, scope, {
        isOpposite: false,
        make(left, side) {
          if (left.operand.type === "value")
            throw new ExpressionError(left.term.offset, `expected a field before in, found ${shown(left.term)}`);
          const sides = syntax.items.map(side);
          const inOrder = isOfValues(left) ? listedInOrder(left, sides) : null;
          if (inOrder !== null) return { type: "in", ...inOrder };
          return { type: "in", left: left.operand, items: sides.map((item) => compared("in", left, item)[1]) };
        },
      });
  }
}
