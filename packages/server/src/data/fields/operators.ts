/**
 * Operators: in an update, an object in the place of a value, which makes the new value from the stored value:
 * `{ "$increment": -1 }` of a number, `{ "$add": ["x"], "$remove": ["y"] }` of a multiple field. Each type names its operators.
 */
import type { FieldDefinition, JsonValue } from "@socle/protocol";
import { allOf, isObject, oneOf, quote } from "../../base/kernel/index.ts";
import { checkOf, type Pattern, type ValueProblem } from "./check-value.ts";
import { type FieldType, typeOf, typesWith } from "./types.ts";

type Operands = Readonly<Record<string, unknown>>;

interface OperatedField {
  readonly field: FieldDefinition;
  readonly pattern: Pattern | undefined;
  /** The present value of the field. */
  readonly value: JsonValue;
}

/** The new value, which no rule of the field has seen yet, or the problem of an operator. */
type OperatedValue = { readonly value: JsonValue } | ValueProblem;

/** Whether a value of a body is an object that is no value of the field: operators, if the body is of an update. */
export function mayBeOperators(field: FieldDefinition, value: unknown): value is Operands {
  return typeOf(field).isObject !== true && isObject(value);
}

/** The new value of a field: null counts as 0, `$add` appends the items that are not there, `$remove` leaves items out. */
export function operated(present: OperatedField, operands: Operands): OperatedValue {
  const type = typeOf(present.field);
  const problem = formProblem(type, Object.keys(operands));
  if (problem !== null) return { rule: "type", message: problem };
  return type.item === undefined ? incremented(type, present, operands) : withItems(present, operands);
}

function formProblem({ operators, expected }: FieldType, names: readonly string[]): string | null {
  const isEmpty = names.length === 0;
  if (operators.length === 0) return isEmpty ? `must be ${expected}` : `must be ${expected}; ${whereOperatorsAre()}`;
  if (isEmpty) return `must be ${expected}, or an object with ${oneOf(operators)}; the object is empty`;
  const unknown = names.find((name) => !operators.some((operator) => operator === name));
  return unknown === undefined ? null : `has no operator ${quote(unknown)}; allowed: ${oneOf(operators)}`;
}

function whereOperatorsAre(): string {
  return `the field takes no operator: operators are for ${allOf([...typesWith(({ operators }) => operators.length > 0), "multiple fields"])}`;
}

function incremented(type: FieldType, { value }: OperatedField, { $increment }: Operands): OperatedValue {
  const by = type.encode($increment);
  if (typeof by !== "number") return { operator: "$increment", rule: "type", message: `must be ${type.expected}` };
  return { value: Number(value ?? 0) + by };
}

function withItems({ field, pattern, value }: OperatedField, operands: Operands): OperatedValue {
  // The number of items is a rule of the new value alone.
  const check = checkOf({ ...field, required: false, min: 0 }, pattern);
  const items = { $add: new Set<JsonValue>(), $remove: new Set<JsonValue>() };
  for (const operator of ["$add", "$remove"] as const) {
    const operand = operands[operator];
    if (operand === undefined) continue;
    if (!Array.isArray(operand)) return { operator, rule: "type", message: `must be ${typeOf(field).expected}` };
    const checked = check(operand);
    if ("rule" in checked) return { ...checked, operator };
    items[operator] = new Set(operand);
  }
  const { $add, $remove } = items;
  const [both] = $add.intersection($remove);
  if (both !== undefined) return { rule: "type", message: `cannot both $add and $remove ${quote(both)}` };
  return { value: [...new Set([value].flat()).difference($remove).union($add)] };
}
