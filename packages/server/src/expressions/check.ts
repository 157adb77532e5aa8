/** The check of an expression: every name is looked up, and the two sides of every comparison fit. */
import type { ValueType } from "../fields/index.ts";
import { nearest, parseDatetime, quote } from "../kernel/index.ts";
import { comparedInOrder, listedInOrder } from "./enums.ts";
import type { CallOperand, Expression, Hop, Member, Operand, Path } from "./expression.ts";
import { ExpressionError } from "./expression-error.ts";
import type { ExpressionSchema } from "./schema.ts";
import { type PathTerm, type Step, type Syntax, type Term, textOf } from "./syntax.ts";
import type { Comparison } from "./tokens.ts";

/** The relations that a path may go through, forward and backward. */
const maxHops = 5;

const valueTypeNames: { readonly [valueType in ValueType]: string } = {
  text: "a text",
  number: "a number",
  boolean: "a boolean",
  datetime: "a datetime",
  json: "JSON",
};

const examples: { readonly [valueType in ValueType]: string } = {
  text: 'a text such as "news"',
  number: "a number such as 5",
  boolean: "true or false",
  datetime: 'a datetime such as "2026-03-01" or "2026-03-01T09:30:00Z", or @now',
  json: "a text, a number, true, false or null",
};

/** A field that an expression names, and where its name stands in the text, from 0. */
export interface FieldReference {
  readonly collection: string;
  readonly field: string;
  readonly offset: number;
}

/** The collection in which a comparison is looked up: that of the record, or one that backward steps have entered. */
interface Scope {
  /** Where the fields that are looked up are noted. */
  readonly references: FieldReference[];
  readonly schema: ExpressionSchema;
  /** Relations that lie between the record and here. */
  readonly hops: number;
}

/** The part of a path that leads forward. `rest` begins with a backward step, or is empty. */
interface Forward {
  readonly hops: Hop[];
  readonly at: ExpressionSchema;
  readonly rest: readonly Step[];
}

/** Goes through relations as long as another step follows. */
function followRelations(scope: Scope, steps: readonly Step[]): Forward {
  const hops: Hop[] = [];
  let at = scope.schema;
  for (const [i, step] of steps.entries()) {
    const next = steps[i + 1];
    if (step.type !== "name" || next === undefined || next.type === "item") return { hops, at, rest: steps.slice(i) };
    const field = at.field(step.name);
    if (field === undefined) throw unknownField(at, step);
    if (!field.isRelation) return { hops, at, rest: steps.slice(i) };
    scope.references.push({ collection: at.name, field: step.name, offset: step.offset });
    refuseLong(scope.hops + hops.length + 1, next);
    const target = at.follow(field);
    hops.push({ field, target });
    at = target;
  }
  return { hops, at, rest: [] };
}

function refuseLong(hops: number, { offset }: Step): void {
  if (hops > maxHops) throw new ExpressionError(offset, `a path may go through ${maxHops} relations, not more`);
}

/**
 * Looks a path up that leads to one value.
 * @throws ExpressionError for an unknown name; the errors of the schema.
 */
export function resolvePath(schema: ExpressionSchema, term: PathTerm): Path {
  return pathIn({ schema, hops: 0, references: [] }, term.steps, { up: 0, offset: term.offset });
}

function pathIn(scope: Scope, steps: readonly Step[], { up, offset }: { up: number; offset: number }): Path {
  const { hops, at, rest } = followRelations(scope, steps);
  const [step, ...further] = rest;
  if (step === undefined) throw new ExpressionError(offset, "expected a field");
  if (step.type === "backward")
    throw new ExpressionError(
      step.offset,
      "a path that leads back to several records can stand only left of a comparison",
    );
  if (step.type === "item") throw new ExpressionError(step.offset, "only an array in json has items");
  const field = at.field(step.name);
  if (field === undefined) throw unknownField(at, step);
  scope.references.push({ collection: at.name, field: step.name, offset: step.offset });
  const [next] = further;
  if (next !== undefined && field.valueType !== "json") {
    const what = `${quote(step.name)} is ${valueTypeNames[field.valueType]}`;
    throw new ExpressionError(next.offset, `${what}: only relations and json have something in them`);
  }
  const members = further.map(memberOf);
  if (members.filter((member) => member === null).length > 1)
    throw new ExpressionError(offset, "a path may name any item, [*], once");
  return { type: "path", up, hops, field, members, valueType: field.valueType };
}

function memberOf(step: Step): Member {
  if (step.type === "name") return step.name;
  if (step.type === "item") return step.index;
  throw new ExpressionError(step.offset, "no relation leads on from json");
}

function unknownField(schema: ExpressionSchema, { name, offset }: Step & { type: "name" }): ExpressionError {
  const names = schema.fieldNames();
  const near = nearest(name, names);
  const shown = `${names.slice(0, 20).join(", ")}${names.length > 20 ? ", …" : ""}`;
  const hint = near === null ? `; there are: ${shown}` : `; did you mean "${near}"?`;
  return new ExpressionError(offset, `"${schema.name}" has no field ${quote(name)}${hint}`);
}

/** Looks a term up in a scope. `up` backward steps lie between that scope and the comparison. */
function operandOf(term: Term, scope: Scope, up: number): Operand {
  switch (term.type) {
    case "path":
      return pathIn(scope, term.steps, { up, offset: term.offset });
    case "macro": {
      const valueType = term.name === "now" || term.name === "today" ? "datetime" : "text";
      return { type: "macro", name: term.name, shift: term.shift, valueType };
    }
    case "value": {
      const { value } = term;
      if (value === null) return { type: "value", value, valueType: "null" };
      const valueType = typeof value === "string" ? "text" : typeof value === "number" ? "number" : "boolean";
      return { type: "value", value, valueType };
    }
    case "call":
      return callOf(term, operandOf(term.argument, scope, up));
  }
}

function callOf({ call, offset }: Term & { type: "call" }, argument: Operand): CallOperand {
  if (argument.type !== "path" || argument.members.includes(null))
    throw new ExpressionError(offset, `${call}(…) takes a field`);
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
      return quote(term.value);
    case "call":
      return `${term.call}(${shown(term.argument).replaceAll('"', "")})`;
  }
}

/** One side, as a message names it. */
function describe({ term, operand }: Side): string {
  return operand.valueType === "null" ? shown(term) : `${shown(term)}, ${valueTypeNames[operand.valueType]}`;
}

interface Side {
  readonly term: Term;
  readonly operand: Operand;
}

/** A text beside a datetime is one, too. */
function asDatetime({ term, operand }: Side): Side {
  if (operand.type !== "value" || typeof operand.value !== "string") return { term, operand };
  const value = parseDatetime(operand.value);
  if (value === null)
    throw new ExpressionError(term.offset, `${quote(operand.value)} is no datetime; expected ${examples.datetime}`);
  return { term, operand: { type: "value", value, valueType: "datetime" } };
}

/** Whether values of the two types can be equal at all. JSON holds texts, numbers and booleans, but no times. */
function fit(a: Operand, b: Operand): boolean {
  if (a.valueType === "null" || b.valueType === "null" || a.valueType === b.valueType)
    return a.valueType !== "json" || b.valueType !== "json";
  const other = a.valueType === "json" ? b.valueType : b.valueType === "json" ? a.valueType : null;
  return other !== null && other !== "datetime";
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

function compared(operator: Comparison | "in", first: Side, second: Side): [Operand, Operand] {
  if (operator === "~" || operator === "!~") return contained(operator, first, second);
  const inOrder = operator === "in" ? null : comparedInOrder(operator, first, second);
  const hasNull = first.operand.valueType === "null" || second.operand.valueType === "null";
  if (inOrder !== null && (operator === "=" || operator === "!=" || !hasNull)) return inOrder;
  const isTime = first.operand.valueType === "datetime" || second.operand.valueType === "datetime";
  const left = isTime ? asDatetime(first) : first;
  const right = isTime ? asDatetime(second) : second;
  if (!fit(left.operand, right.operand)) throw refuse(left, right, "");
  const valueTypes = [left.operand.valueType, right.operand.valueType];
  const isOrder = [">", ">=", "<", "<="].includes(operator);
  if (isOrder && valueTypes.includes("null")) throw refuse(left, right, `: ${operator} needs two values`);
  if (isOrder && valueTypes.includes("boolean")) throw refuse(left, right, `: ${operator} means nothing for booleans`);
  // A value inside JSON is ordered by the value that it is compared with.
  refuseAnyItem(right, "[*], any item, can stand only left of a comparison");
  return [left.operand, right.operand];
}

function refuseAnyItem({ term, operand }: Side, problem: string): void {
  if (operand.type === "path" && operand.members.includes(null)) throw new ExpressionError(term.offset, problem);
}

/** Makes the condition of the records at the end of a path; `up` is how many backward steps have led there. */
type AtEnd = (scope: Scope, steps: readonly Step[], up: number) => Expression;

/** A path from the records of a scope; `up` is how many backward steps have led to them. */
interface PathFrom {
  readonly scope: Scope;
  readonly steps: readonly Step[];
  readonly up: number;
}

/** The condition that a path begins. Each backward step of it becomes "some record of that collection". */
function alongPath({ scope, steps, up }: PathFrom, atEnd: AtEnd): Expression {
  if (!steps.some(({ type }) => type === "backward")) return atEnd(scope, steps, up);
  const { hops: from, at, rest } = followRelations(scope, steps);
  const [step, ...further] = rest;
  if (step?.type !== "backward") {
    // A name that leads nowhere, before the backward step.
    return atEnd(scope, steps, up);
  }
  const hops = scope.hops + from.length + 1;
  refuseLong(hops, step);
  const found = at.back(step.collection, step.field);
  if (typeof found === "string") throw new ExpressionError(step.offset, found);
  const { references } = scope;
  references.push({ collection: step.collection, field: step.field, offset: step.fieldOffset });
  const inner: Scope = { schema: found.target, hops, references };
  const conditions: Expression[] = [];
  if (step.filter !== null) conditions.push(check(step.filter, inner));
  if (further.length > 0) conditions.push(alongPath({ scope: inner, steps: further, up: up + 1 }, atEnd));
  const [only = null] = conditions;
  const item: Expression | null = conditions.length > 1 ? { type: "and", items: conditions } : only;
  return { type: "some", from, ...found, item };
}

/** The left side of a comparison, and the condition that it makes with the others. */
function withLeft(term: Term, scope: Scope, make: (left: Side, side: (other: Term) => Side) => Expression): Expression {
  const sides =
    (up: number) =>
    (other: Term): Side => ({ term: other, operand: operandOf(other, scope, up) });
  if (term.type === "call" && term.argument.type === "path") {
    const { argument } = term;
    return alongPath({ scope, steps: argument.steps, up: 0 }, (inner, steps, up) => {
      const path = pathIn(inner, steps, { up: 0, offset: argument.offset });
      return make({ term, operand: callOf(term, path) }, sides(up));
    });
  }
  if (term.type !== "path") return make({ term, operand: operandOf(term, scope, 0) }, sides(0));
  return alongPath({ scope, steps: term.steps, up: 0 }, (inner, steps, up) => {
    return make({ term, operand: pathIn(inner, steps, { up: 0, offset: term.offset }) }, sides(up));
  });
}

function check(syntax: Syntax, scope: Scope): Expression {
  switch (syntax.type) {
    case "and":
    case "or":
      return { type: syntax.type, items: syntax.items.map((item) => check(item, scope)) };
    case "not":
      return { type: "not", item: check(syntax.item, scope) };
    case "exists":
      return alongPath({ scope, steps: syntax.path.steps, up: 0 }, () => {
        throw new ExpressionError(syntax.path.offset, "expected a comparison");
      });
    case "compare": {
      const { operator } = syntax;
      return withLeft(syntax.left, scope, (left, side) => {
        const [first, second] = compared(operator, left, side(syntax.right));
        return { type: "compare", operator, left: first, right: second };
      });
    }
    case "in":
      return withLeft(syntax.left, scope, (left, side) => {
        if (left.operand.type === "value")
          throw new ExpressionError(left.term.offset, `expected a field before in, found ${shown(left.term)}`);
        const sides = syntax.items.map(side);
        const inOrder = listedInOrder(left, sides);
        if (inOrder !== null) return { type: "in", ...inOrder };
        return { type: "in", left: left.operand, items: sides.map((item) => compared("in", left, item)[1]) };
      });
  }
}

/**
 * Looks up every name of an expression and makes sure that the sides of each comparison fit.
 * @throws ExpressionError with the position and the expectation; the errors of the schema.
 */
export function checkSyntax(syntax: Syntax, schema: ExpressionSchema): Expression {
  return check(syntax, { schema, hops: 0, references: [] });
}

/** The fields that an expression names, in no order. Throws as `checkSyntax` does. */
export function referencesIn(syntax: Syntax, schema: ExpressionSchema): FieldReference[] {
  const references: FieldReference[] = [];
  check(syntax, { schema, hops: 0, references });
  return references;
}
