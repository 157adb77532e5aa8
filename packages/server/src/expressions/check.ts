import type { ValueType } from "../fields/index.ts";
import { nearest, parseDatetime, quote } from "../kernel/index.ts";
import type { Expression, Hop, Operand, Path } from "./expression.ts";
import { ExpressionError } from "./expression-error.ts";
import type { ExpressionSchema } from "./schema.ts";
import type { Syntax, Term } from "./syntax.ts";
import type { Comparison } from "./tokens.ts";

/** How many relations a path may go through. */
const maxHops = 3;

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

/**
 * Looks a path up.
 * @param offset where it stands in its text, for errors.
 * @throws ExpressionError for a name that is not there; what `ExpressionSchema.follow` throws.
 */
export function resolvePath(schema: ExpressionSchema, names: readonly string[], offset: number): Path {
  const hops: Hop[] = [];
  let [at, place] = [schema, offset];
  for (const [i, name] of names.entries()) {
    const field = at.field(name);
    if (field === undefined) throw unknownField(at, name, place);
    const rest = names.slice(i + 1);
    if (rest.length === 0) return { type: "path", hops, field, members: [], valueType: field.valueType };
    if (field.valueType === "json") return { type: "path", hops, field, members: rest, valueType: "json" };
    place += name.length + 1;
    if (!field.isRelation) {
      const what = `${quote(name)} is ${valueTypeNames[field.valueType]}`;
      throw new ExpressionError(place, `${what}: only relations and json have something in them`);
    }
    if (hops.length === maxHops)
      throw new ExpressionError(place, `a path may go through ${maxHops} relations, not more`);
    const target = at.follow(field);
    hops.push({ field, target });
    at = target;
  }
  throw new ExpressionError(offset, "expected a field");
}

function unknownField(schema: ExpressionSchema, name: string, offset: number): ExpressionError {
  const names = schema.fieldNames();
  const near = nearest(name, names);
  const shown = `${names.slice(0, 20).join(", ")}${names.length > 20 ? ", …" : ""}`;
  const hint = near === null ? `; there are: ${shown}` : `; did you mean "${near}"?`;
  return new ExpressionError(offset, `"${schema.name}" has no field ${quote(name)}${hint}`);
}

function operandOf(term: Term, schema: ExpressionSchema): Operand {
  switch (term.type) {
    case "path":
      return resolvePath(schema, term.names, term.offset);
    case "macro":
      return { type: "macro", name: term.name, valueType: term.name === "user.id" ? "text" : "datetime" };
    case "value": {
      const { value } = term;
      if (value === null) return { type: "value", value, valueType: "null" };
      const valueType = typeof value === "string" ? "text" : typeof value === "number" ? "number" : "boolean";
      return { type: "value", value, valueType };
    }
  }
}

function shown(term: Term): string {
  switch (term.type) {
    case "path":
      return quote(term.names.join("."));
    case "macro":
      return `@${term.name}`;
    case "value":
      return quote(term.value);
  }
}

/** What stands on a side, as a message names it. */
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

/** Whether values of the two valueTypes can be equal at all. JSON holds texts, numbers and booleans, but no times. */
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
  const isTime = first.operand.valueType === "datetime" || second.operand.valueType === "datetime";
  const left = isTime ? asDatetime(first) : first;
  const right = isTime ? asDatetime(second) : second;
  if (!fit(left.operand, right.operand)) throw refuse(left, right, "");
  const valueTypes = [left.operand.valueType, right.operand.valueType];
  const isOrder = [">", ">=", "<", "<="].includes(operator);
  if (isOrder && valueTypes.includes("null")) throw refuse(left, right, `: ${operator} needs two values`);
  if (isOrder && valueTypes.includes("boolean")) throw refuse(left, right, `: ${operator} means nothing for booleans`);
  // What is inside JSON is ordered by the value that it is compared with.
  return [left.operand, right.operand];
}

/**
 * Looks up every name of an expression and makes sure that what is compared can be.
 * @throws ExpressionError with the position and what was expected; what `ExpressionSchema.follow` throws.
 */
export function checkSyntax(syntax: Syntax, schema: ExpressionSchema): Expression {
  const side = (term: Term): Side => ({ term, operand: operandOf(term, schema) });
  switch (syntax.type) {
    case "and":
    case "or":
      return { type: syntax.type, items: syntax.items.map((item) => checkSyntax(item, schema)) };
    case "not":
      return { type: "not", item: checkSyntax(syntax.item, schema) };
    case "compare": {
      const { operator } = syntax;
      const [left, right] = compared(operator, side(syntax.left), side(syntax.right));
      return { type: "compare", operator, left, right };
    }
    case "in": {
      const left = side(syntax.left);
      if (left.operand.type === "value")
        throw new ExpressionError(left.term.offset, `expected a field before in, found ${shown(left.term)}`);
      const items = syntax.items.map((item) => compared("in", left, side(item))[1]);
      return { type: "in", left: left.operand, items };
    }
  }
}
