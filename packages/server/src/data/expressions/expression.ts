/**
 * Expressions: conditions over a record, with known names and types that fit, and the operands of conditions. `lookup.ts`
 * looks up the names.
 */
import type { GeoPoint, VectorShape } from "@socle/protocol";
import type { Comparison, Macro } from "@socle/protocol/filter";
import { AppError, startOfToday } from "../../base/kernel/index.ts";
import type { ValueType } from "../fields/index.ts";

/** An error in the text of an expression: the message names the position and the problem. */
export class ExpressionError extends AppError {
  /** In the text, from 0. */
  readonly offset: number;
  /** Without the position. */
  readonly problem: string;

  constructor(offset: number, problem: string) {
    super("bad_request", `at position ${offset + 1}: ${problem}`);
    this.offset = offset;
    this.problem = problem;
  }
}

export interface SchemaField {
  readonly name: string;
  /** The type of the value; for a multiple field, the type of an item. */
  readonly valueType: ValueType;
  /** The column, unquoted. */
  readonly column: string;
  /** Whether the value, or each item, is the id of a record, so that a path can go on. */
  readonly isRelation: boolean;
  /** Whether an index begins with the field, so that the records with a value are found without looking at others. */
  readonly isIndexed: boolean;
  /** For a multiple field: the SQL name of the table of items, unquoted, and the allowed texts of an item. The column is JSON. */
  readonly items?: { readonly table: string; readonly values: readonly string[] | null };
  /** The texts that an item may be. */
  readonly allowed?: readonly string[];
  /** For a field with `values`: the values in order, and the column of the position, unquoted. */
  readonly order?: { readonly values: readonly string[]; readonly column: string };
  /** For a place: the columns of the degrees, unquoted. */
  readonly place?: { readonly [axis in keyof GeoPoint]: string };
  /** For a vector. */
  readonly vector?: VectorShape;
}

/** The records of a collection for expressions, and for a class of callers. */
export interface ExpressionSchema {
  /** The name of the collection in messages. */
  readonly name: string;
  /** The SQL name of the table, unquoted. */
  readonly table: string;
  /** The condition under which the caller may read a record that a path enters; null for all records. */
  readonly condition: Expression | null;
  /** Whether `@key` stands for the key of a room. */
  readonly hasKey?: boolean;
  /** The time zone of `@today`. Absent for UTC, as in every rule. */
  readonly zone?: string;
  field(name: string): SchemaField | undefined;
  fieldNames(): readonly string[];
  /** The records that a relation leads to. @throws AppError for a caller that may read no record of the target. */
  follow(field: SchemaField): ExpressionSchema;
  /**
   * The records of a collection with a field that points to records of this collection. Answers the reason, a sentence
   * without the end, for a collection or field that does not.
   * @throws AppError for a caller that may read no record of the collection.
   */
  back(collection: string, field: string): { target: ExpressionSchema; pointer: SchemaField } | string;
}

export type Scalar = string | number | boolean;

/** A step into JSON: a member of an object, an item of an array (from 0), or null for any item of an array. */
export type Member = string | number | null;

/** A way from a record to a value: through relations, to a field, and on into the JSON. */
export interface Path {
  readonly type: "path";
  /** How many steps to several, backward or to items, lie between the record of the path and the compared value. */
  readonly up: number;
  /** Whether the path climbs out of brackets by `@record`. */
  readonly isOfRecord?: boolean;
  readonly hops: readonly Hop[];
  readonly field: SchemaField;
  /** From the outermost, with at most a single `null`. */
  readonly members: readonly Member[];
  readonly valueType: ValueType;
}

/** A step through a relation: the field that holds the id, and the records of the target. */
export interface Hop {
  readonly field: SchemaField;
  readonly target: ExpressionSchema;
}

/** A value that does not depend on the record. */
export type Constant =
  /** A datetime has its stored form. */
  | { readonly type: "value"; readonly value: Scalar | null; readonly valueType: ValueType | "null" }
  /** `user.…` is null without a caller, and then equals no field. `shift` is in milliseconds. */
  | {
      readonly type: "macro";
      readonly name: Macro;
      readonly shift: number;
      readonly valueType: ValueType;
      /** The time zone of `@today`; absent for UTC. */
      readonly zone?: string;
    };

interface Called {
  readonly type: "call";
  readonly argument: Path;
  readonly valueType: ValueType;
}

/** `lower(text)`, or `length(text)`: code points, or the items of a JSON array. */
interface TextCall extends Called {
  readonly call: "lower" | "length";
}

/** `distance(field, lat, lon)`: the metres between the place of a record and a point. */
export interface DistanceCall extends Called {
  readonly call: "distance";
  readonly point: GeoPoint;
}

export type CallOperand = TextCall | DistanceCall;

export type Operand = Path | CallOperand | Constant;

export type Expression =
  | { readonly type: "and" | "or"; readonly items: readonly Expression[] }
  | { readonly type: "not"; readonly item: Expression }
  | { readonly type: "compare"; readonly operator: Comparison; readonly left: Operand; readonly right: Operand }
  | { readonly type: "in"; readonly left: Operand; readonly items: readonly Operand[] }
  | Some
  | SomeItem;

/** Some record of `target` fulfils `item`, and points with the field `pointer` to the record at the end of `from`. */
export interface Some {
  readonly type: "some";
  /** How many steps to several lie between the record that `from` begins at and here. */
  readonly up: number;
  readonly from: readonly Hop[];
  readonly target: ExpressionSchema;
  readonly pointer: SchemaField;
  /** Null for any record. */
  readonly item: Expression | null;
}

/** Some item of the multiple field `field`, of the record at the end of `from`, or the record of the item, fulfils `item`. */
export interface SomeItem {
  readonly type: "someItem";
  /** See `Some`. */
  readonly up: number;
  readonly from: readonly Hop[];
  readonly field: SchemaField & { readonly items: NonNullable<SchemaField["items"]> };
  /** The records of the items, for an `item` about records; null for an `item` about the items. */
  readonly record: ExpressionSchema | null;
  /** Null for any item. The field stands for the item: see `itemOf`. */
  readonly item: Expression | null;
}

/** An item of a multiple field, as a column of the rows of the table and of the JSON. */
export function itemOf({ items, ...field }: SomeItem["field"]): SchemaField {
  return { ...field, column: "value", isIndexed: true, ...(items.values !== null && { allowed: items.values }) };
}

export interface ExpressionCaller {
  /** Null for a service key. */
  readonly id: string | null;
  readonly role: string;
  /** Null for an unknown address: SQL looks `@user.email` and `@user.anonymous` up in the table of users. */
  readonly email: string | null;
  readonly anonymous?: boolean | null;
}

/** The values of macros, as `@now`, for an evaluation. */
export interface EvaluationContext {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Null without a caller. */
  readonly user: ExpressionCaller | null;
  /** The key of a room. */
  readonly key?: string;
}

/** The stored form of a constant. */
export function constantValue(constant: Constant, { now, user, key }: EvaluationContext): Scalar | null {
  if (constant.type === "value") return constant.value;
  switch (constant.name) {
    case "now":
      return new Date(now + constant.shift).toISOString();
    case "today":
      if (constant.zone !== undefined) return new Date(startOfToday(now, constant.shift, constant.zone)).toISOString();
      return new Date(Math.floor(now / 86_400_000) * 86_400_000 + constant.shift).toISOString();
    case "user.id":
      return user?.id ?? null;
    case "user.role":
      return user?.role ?? null;
    case "user.email":
      return user?.email ?? null;
    case "user.anonymous":
      return user?.anonymous ?? null;
    case "key":
      return key ?? null;
  }
}

/** The field holds the id of the caller. Null, a missing caller or a missing value, equals nothing. */
export function isCaller(field: SchemaField): Expression {
  const left: Path = { type: "path", up: 0, hops: [], field, members: [], valueType: field.valueType };
  const caller: Constant = { type: "macro", name: "user.id", shift: 0, valueType: "text" };
  return { type: "compare", operator: "=", left, right: caller };
}

/** Whether an operand is the word `null`. */
export function isNull(operand: Operand): boolean {
  return operand.type === "value" && operand.value === null;
}

/** Whether an operand is the same for every record. */
export function isConstant(operand: Operand): operand is Constant {
  return operand.type === "value" || operand.type === "macro";
}

/** The column that holds the value of a path, or the position of the value. */
export function columnOf({ field, valueType }: Path): string {
  return isPosition({ field, valueType }) ? (field.order?.column ?? field.column) : field.column;
}

/** Whether a path stands for the position of a text among the values of the field. */
export function isPosition({ field, valueType }: Pick<Path, "field" | "valueType">): boolean {
  return field.order !== undefined && valueType === "number";
}

/** The path to the position of a text among the `values` of the field; for any other field, the path. */
export function inOrder(path: Path): Path {
  return path.field.order === undefined ? path : { ...path, valueType: "number" };
}

/** The path of an operand; null for a constant. */
export function pathOf(operand: Operand): Path | null {
  if (operand.type === "call") return operand.argument;
  return operand.type === "path" ? operand : null;
}

/** The operands of a comparison or of `in`. */
function operandsOf(expression: Expression): readonly Operand[] {
  if (expression.type === "compare") return [expression.left, expression.right];
  return expression.type === "in" ? [expression.left, ...expression.items] : [];
}

export function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.type) {
    case "and":
    case "or":
      return expression.items;
    case "not":
      return [expression.item];
    case "some":
    case "someItem":
      return expression.item === null ? [] : [expression.item];
    default:
      return [];
  }
}

/** An expression and the expressions inside, with the number of steps to several on the way. */
function* within(expression: Expression, steps = 0): Generator<[expression: Expression, steps: number]> {
  yield [expression, steps];
  const isOfSeveral = expression.type === "some" || expression.type === "someItem";
  for (const part of partsOf(expression)) yield* within(part, isOfSeveral ? steps + 1 : steps);
}

/** The columns of the record that an expression needs. */
export function ownColumnsIn(expression: Expression): Set<string> {
  const columns = new Set<string>();
  for (const [each, steps] of within(expression)) {
    for (const operand of operandsOf(each)) {
      const path = pathOf(operand);
      if (path?.up === steps) columns.add(path.hops[0]?.field.column ?? path.field.column);
    }
    if (each.type === "some" && each.up === steps) columns.add(each.from[0]?.field.column ?? "id");
    if (each.type === "someItem" && each.up === steps) columns.add(each.from[0]?.field.column ?? each.field.column);
  }
  return columns;
}

/** The names of the collections that an expression enters, "users" included. */
export function collectionsIn(expression: Expression): Set<string> {
  const names = new Set<string>();
  for (const [each] of within(expression)) {
    const paths = operandsOf(each).map((operand) => pathOf(operand)?.hops ?? []);
    const from = each.type === "some" || each.type === "someItem" ? each.from : [];
    for (const { target } of [...paths.flat(), ...from]) names.add(target.name);
    if (each.type === "some") names.add(each.target.name);
    if (each.type === "someItem" && each.record !== null) names.add(each.record.name);
  }
  return names;
}

/** All operands, also inside backward steps and of items. */
export function operandsIn(expression: Expression): Operand[] {
  return [...operandsOf(expression), ...partsOf(expression).flatMap(operandsIn)];
}

/** Whether an expression looks for texts inside texts, calls a function or looks into JSON: a single record may then take long. */
export function looksInside(expression: Expression): boolean {
  for (const [each] of within(expression)) {
    if (each.type === "compare" && each.operator.endsWith("~")) return true;
    if (operandsOf(each).some(isInside)) return true;
  }
  return false;
}

/** Whether the value of an operand is computed of a text of any length, or is in JSON. */
export function isInside(operand: Operand): boolean {
  if (operand.type === "call") return operand.call !== "distance";
  return operand.type === "path" && (operand.members.length > 0 || operand.valueType === "json");
}

/** Whether an expression depends on the caller. */
export function namesCaller(expression: Expression): boolean {
  return operandsIn(expression).some((operand) => operand.type === "macro" && operand.name.startsWith("user."));
}

export const valueTypeNames: { readonly [valueType in ValueType]: string } = {
  text: "a text",
  number: "a number",
  boolean: "a boolean",
  datetime: "a datetime",
  json: "JSON",
  geo: "a place",
  vector: "a vector",
};
