import type { JsonValue } from "@socle/protocol";
import { compareText, containsText, isObject } from "../kernel/index.ts";
import {
  constantValue,
  type EvaluationContext,
  type Expression,
  isNull,
  type Operand,
  type Path,
} from "./expression.ts";
import type { Comparison } from "./tokens.ts";

/** A record in memory, with the names of its fields. */
export interface Fields {
  readonly [field: string]: JsonValue;
}

/** What a predicate needs beside the record. */
interface Surroundings extends EvaluationContext {
  /** The record of a collection that a relation names, as far as the caller may read it; else null. */
  related(collection: string, id: string): Fields | null;
}

export type Predicate = (record: Fields, surroundings: Surroundings) => boolean;

type Read = (record: Fields, surroundings: Surroundings) => JsonValue;

/** An array has no members with a name. */
function isFields(value: JsonValue): value is { [name: string]: JsonValue } {
  return isObject(value);
}

function memberOf(fields: Fields, name: string): JsonValue {
  return Object.hasOwn(fields, name) ? (fields[name] ?? null) : null;
}

function pathReader({ hops, field, members }: Path): Read {
  return (record, surroundings) => {
    let at: Fields | null = record;
    for (const hop of hops) {
      const id = memberOf(at, hop.field.name);
      at = typeof id === "string" ? surroundings.related(hop.target.name, id) : null;
      if (at === null) return null;
    }
    let value = memberOf(at, field.name);
    for (const member of members) value = isFields(value) ? memberOf(value, member) : null;
    return value;
  };
}

function reader(operand: Operand): Read {
  return operand.type === "path"
    ? pathReader(operand)
    : (_record, surroundings) => constantValue(operand, surroundings);
}

function isOrdered(left: JsonValue, right: JsonValue, operator: ">" | ">=" | "<" | "<="): boolean {
  let order: number;
  if (typeof left === "number" && typeof right === "number") order = left - right;
  else if (typeof left === "string" && typeof right === "string") order = compareText(left, right);
  else return false;
  switch (operator) {
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
  }
}

function holds(value: JsonValue, wanted: JsonValue): boolean {
  if (typeof wanted !== "string") return false;
  if (Array.isArray(value)) return value.some((item) => typeof item === "string" && containsText(item, wanted));
  return typeof value === "string" && containsText(value, wanted);
}

function equality(left: Operand, right: Operand): Predicate {
  const [readLeft, readRight] = [reader(left), reader(right)];
  // Null equals null, but the caller that is nobody equals no field.
  const isForNull = isNull(left) || isNull(right) || (left.type === "path" && right.type === "path");
  return (record, surroundings) => {
    const value = readLeft(record, surroundings);
    return value === readRight(record, surroundings) && (value !== null || isForNull);
  };
}

function comparison(operator: Comparison, left: Operand, right: Operand): Predicate {
  const [readLeft, readRight] = [reader(left), reader(right)];
  switch (operator) {
    case "=":
      return equality(left, right);
    case "!=":
      return not(equality(left, right));
    case "~":
      return (record, surroundings) => holds(readLeft(record, surroundings), readRight(record, surroundings));
    case "!~":
      return (record, surroundings) => !holds(readLeft(record, surroundings), readRight(record, surroundings));
    default:
      return (record, surroundings) =>
        isOrdered(readLeft(record, surroundings), readRight(record, surroundings), operator);
  }
}

function not(predicate: Predicate): Predicate {
  return (record, surroundings) => !predicate(record, surroundings);
}

/** An expression as a predicate over a record in memory. It says of each record what the same expression says as SQL. */
export function toPredicate(expression: Expression): Predicate {
  switch (expression.type) {
    case "and": {
      const items = expression.items.map(toPredicate);
      return (record, surroundings) => items.every((item) => item(record, surroundings));
    }
    case "or": {
      const items = expression.items.map(toPredicate);
      return (record, surroundings) => items.some((item) => item(record, surroundings));
    }
    case "not":
      return not(toPredicate(expression.item));
    case "compare":
      return comparison(expression.operator, expression.left, expression.right);
    case "in": {
      const { left, items } = expression;
      const equalities = items.map((item) => equality(left, item));
      return (record, surroundings) => equalities.some((equal) => equal(record, surroundings));
    }
  }
}
