/** Expressions as predicates over records in memory. */
import { distanceBetween, type GeoPoint, type JsonValue } from "@socle/protocol";
import type { Comparison } from "@socle/protocol/filter";
import { compareText, containsText, isObject } from "../../base/kernel/index.ts";
import {
  type CallOperand,
  constantValue,
  type EvaluationContext,
  type Expression,
  type Hop,
  isConstant,
  isNull,
  isPosition,
  type Operand,
  type Path,
  type Some,
  type SomeItem,
} from "./expression.ts";

/** A record in memory, with the names of the fields. */
export interface Fields {
  readonly [field: string]: JsonValue;
}

/** The input of a predicate beside the record. */
interface RecordSurroundings extends EvaluationContext {
  /** The records that backward steps, and steps to items, have left, in order. */
  readonly outer?: readonly Fields[];
  /** The records of a collection that point to a record by a field. Records that the caller may not read are left out. */
  pointing?(collection: string, field: string, id: string): readonly Fields[];
  /** The record of a collection that a relation names; null for a record that the caller may not read. */
  related(collection: string, id: string): Fields | null;
}

export type Predicate = (record: Fields, surroundings: RecordSurroundings) => boolean;

type Read = (record: Fields, surroundings: RecordSurroundings) => JsonValue;

function memberOf(fields: Fields, name: string): JsonValue {
  return Object.hasOwn(fields, name) ? (fields[name] ?? null) : null;
}

function recordAt(hops: readonly Hop[], record: Fields, surroundings: RecordSurroundings): Fields | null {
  let at: Fields | null = record;
  for (const hop of hops) {
    const id = memberOf(at, hop.field.name);
    at = typeof id === "string" ? surroundings.related(hop.target.name, id) : null;
    if (at === null) return null;
  }
  return at;
}

/** The record that a path begins at, `up` steps to several before a record. */
function recordUp(up: number, record: Fields, { outer }: RecordSurroundings): Fields {
  return up === 0 ? record : (outer?.at(-up) ?? record);
}

/** The value that a path leads to, or the values of all items of an array. */
function valuesOf(path: Path, record: Fields, surroundings: RecordSurroundings): JsonValue[] {
  const at = recordAt(path.hops, recordUp(path.up, record, surroundings), surroundings);
  let values: JsonValue[] = [at === null ? null : memberOf(at, path.field.name)];
  for (const member of path.members)
    values = values.flatMap((value): JsonValue[] => {
      if (member === null) return Array.isArray(value) ? value : [];
      if (typeof member === "number") return [Array.isArray(value) ? (value[member] ?? null) : null];
      return [isObject(value) ? memberOf(value, member) : null];
    });
  const { order } = path.field;
  return order !== undefined && isPosition(path) ? values.map((value) => positionOf(value, order.values)) : values;
}

function positionOf(value: JsonValue, values: readonly string[]): number | null {
  const position = typeof value === "string" ? values.indexOf(value) : -1;
  return position < 0 ? null : position;
}

function readPath(path: Path, record: Fields, surroundings: RecordSurroundings): JsonValue {
  return valuesOf(path, record, surroundings)[0] ?? null;
}

function reader(operand: Operand): Read {
  switch (operand.type) {
    case "path":
      return (record, surroundings) => readPath(operand, record, surroundings);
    case "call":
      return (record, surroundings) => called(operand, readPath(operand.argument, record, surroundings));
    default:
      return (_record, surroundings) => constantValue(operand, surroundings);
  }
}

function called(operand: CallOperand, value: JsonValue): JsonValue {
  const { call } = operand;
  // The field holds nothing but places.
  if (call === "distance") return isObject(value) ? distanceBetween(value as unknown as GeoPoint, operand.point) : null;
  if (call === "length" && Array.isArray(value)) return value.length;
  if (typeof value !== "string") return null;
  return call === "lower" ? value.toLowerCase() : [...value].length;
}

/** Whether an order, which is negative for the lesser left side, fulfils an operator. */
const orders: { readonly [operator in ">" | ">=" | "<" | "<="]: (order: number) => boolean } = {
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
};

function isOrdered(left: JsonValue, right: JsonValue, operator: keyof typeof orders): boolean {
  if (typeof left === "number" && typeof right === "number") return orders[operator](left - right);
  return typeof left === "string" && typeof right === "string" && orders[operator](compareText(left, right));
}

function holds(value: JsonValue, wanted: JsonValue): boolean {
  if (typeof wanted !== "string") return false;
  if (Array.isArray(value)) return value.some((item) => typeof item === "string" && containsText(item, wanted));
  return typeof value === "string" && containsText(value, wanted);
}

function equality(left: Operand, right: Operand): Predicate {
  const [readLeft, readRight] = [reader(left), reader(right)];
  // Null equals null, but a missing caller equals no field.
  const isForNull = isNull(left) || isNull(right) || (!isConstant(left) && !isConstant(right));
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

/** The comparison holds for any item of the array that the left side names. */
function forAnyItem(left: Operand, make: (left: Operand) => Predicate): Predicate {
  if (left.type !== "path" || !left.members.includes(null)) return make(left);
  return (record, surroundings) =>
    valuesOf(left, record, surroundings).some((value) => {
      // The item takes the place of the field with the array, before all others, so the right side finds its own record.
      const outer = [{ item: value }, ...(surroundings.outer ?? [])];
      const field = { ...left.field, name: "item" };
      const item: Path = { ...left, up: outer.length, hops: [], field, members: [] };
      return make(item)(record, { ...surroundings, outer });
    });
}

/** Some of the records, or items, that are found at the end of a path fulfils a condition. */
function someOf(
  { up, from, item }: Some | SomeItem,
  find: (at: Fields, surroundings: RecordSurroundings) => readonly Fields[],
): Predicate {
  const fulfils = item === null ? () => true : toPredicate(item);
  return (record, surroundings) => {
    const at = recordAt(from, recordUp(up, record, surroundings), surroundings);
    if (at === null) return false;
    const outer = [...(surroundings.outer ?? []), record];
    return find(at, surroundings).some((each) => fulfils(each, { ...surroundings, outer }));
  };
}

/** The records that point to a record. */
function pointing({ target, pointer }: Some, at: Fields, surroundings: RecordSurroundings): readonly Fields[] {
  return surroundings.pointing?.(target.name, pointer.name, String(memberOf(at, "id"))) ?? [];
}

/** The records that the items of a field name, or the items in place of the field. */
function itemsOf({ field, record }: SomeItem, at: Fields, surroundings: RecordSurroundings): Fields[] {
  const items = memberOf(at, field.name);
  return (Array.isArray(items) ? items : []).flatMap((each): Fields[] => {
    if (record === null) return [{ [field.name]: each }];
    const named = surroundings.related(record.name, String(each));
    return named === null ? [] : [named];
  });
}

/** An expression as a predicate over a record in memory. For each record, the result equals that of the SQL. */
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
      return forAnyItem(expression.left, (left) => comparison(expression.operator, left, expression.right));
    case "in":
      return forAnyItem(expression.left, (left) => {
        const equalities = expression.items.map((item) => equality(left, item));
        return (record, surroundings) => equalities.some((equal) => equal(record, surroundings));
      });
    case "some":
      return someOf(expression, (at, surroundings) => pointing(expression, at, surroundings));
    case "someItem":
      return someOf(expression, (at, surroundings) => itemsOf(expression, at, surroundings));
  }
}
