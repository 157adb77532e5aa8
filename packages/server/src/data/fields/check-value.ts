/** The check of one value: the type of the field, and the rules without the database. */
import { boundsOf, type ErrorRule, type FieldDefinition, FORMATS_IN_WORDS, isFormatted } from "@socle/protocol";
import { count, nearest, oneOf, quote } from "../../base/kernel/index.ts";
import type { Value } from "../../store/database/index.ts";
import { emptyOf, type FieldType, maxItemLength, maxItemsOf, type OperatorName, typeOf } from "./types.ts";

/** A compiled `regex` rule. The test takes time linear in the text, whatever the pattern. */
export interface Pattern {
  /** Whether the pattern occurs in the text. */
  test(text: string): boolean;
}

/** The broken rule, and the end of a sentence after the name of the field. `item` is the position of the bad item, from 0. */
export interface ValueProblem {
  readonly rule: ErrorRule;
  readonly message: string;
  readonly item?: number;
  /** The operator whose operand is bad; absent if the value of the field is bad. */
  readonly operator?: OperatorName;
}

/** The value to store, or its problem. */
export type CheckedValue = { readonly stored: Value } | ValueProblem;

/** The most `values` that a message lists. */
const maxShown = 20;

function codePoints(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit <= 0xdbff) {
      length -= 1;
      i += 1;
    }
  }
  return length;
}

function boundProblem(field: FieldDefinition, value: Value): ValueProblem | null {
  const { min, max } = field;
  if (min === undefined && max === undefined) return null;
  const isText = boundsOf(field) === "length";
  const measure = isText ? codePoints(String(value)) : Number(value);
  const unit = (bound: number): string => (isText ? `${count(bound, "character")} long` : String(bound));
  if (min !== undefined && measure < min) return { rule: "min", message: `must be at least ${unit(min)}` };
  if (max !== undefined && measure > max) return { rule: "max", message: `must be at most ${unit(max)}` };
  return null;
}

/** A value that is neither null nor several, by the type. */
function checkType(field: FieldDefinition, type: FieldType, value: unknown): CheckedValue {
  const stored = type.encode(value);
  if (stored === undefined) return { rule: "type", message: type.problem?.(value) ?? `must be ${type.expected}` };
  const outside = field.values === undefined ? null : valuesProblem(field.values, String(stored));
  if (outside !== null) return { rule: "type", message: outside };
  const { format } = field;
  if (format === undefined || isFormatted(String(stored), format)) return { stored };
  return { rule: "type", message: `must be ${FORMATS_IN_WORDS[format]}` };
}

/** The problem of a text that is not among the `values` of the field; null for an allowed text. */
function valuesProblem(all: readonly string[], text: string): string | null {
  if (all.includes(text)) return null;
  const shown = all.slice(0, maxShown).map(quote);
  const list = all.length > maxShown ? `${shown.join(", ")}, …` : oneOf(shown);
  const near = all.length === 1 ? null : nearest(text, all);
  return `must be ${list}${near === null ? "" : `; did you mean ${quote(near)}?`}`;
}

function patternProblem(field: FieldDefinition, stored: Value, pattern: Pattern | undefined): ValueProblem | null {
  const isMatch = pattern === undefined || pattern.test(String(stored));
  return isMatch ? null : { rule: "regex", message: `must match ${field.regex}` };
}

/** The rules of an item beside the type. */
function itemProblem(field: FieldDefinition, stored: Value, pattern: Pattern | undefined): ValueProblem | null {
  if (stored === "") return { rule: "type", message: "must not be empty" };
  if (codePoints(String(stored)) > maxItemLength)
    return { rule: "max", message: `must be at most ${count(maxItemLength, "character")} long` };
  return patternProblem(field, stored, pattern);
}

/** Checks the value of a multiple field. The first bad item is told. */
function checkItems(
  field: FieldDefinition,
  type: FieldType,
  { value, pattern }: { value: unknown; pattern: Pattern | undefined },
): CheckedValue {
  const { item = type } = type;
  if (!Array.isArray(value)) return { rule: "type", message: `must be ${type.expected}` };
  const [min, max] = [field.min ?? 0, maxItemsOf(field)];
  if (value.length < min) return { rule: "min", message: `must have at least ${count(min, "item")}` };
  if (value.length > max) return { rule: "max", message: `must have at most ${count(max, "item")}` };
  const places = new Map<Value, number>();
  for (const [place, each] of value.entries()) {
    const checked = checkType(field, item, each);
    if ("rule" in checked) return { ...checked, item: place };
    const { stored } = checked;
    const problem = itemProblem(field, stored, pattern);
    if (problem !== null) return { ...problem, item: place };
    const twin = places.get(stored);
    if (twin !== undefined)
      return {
        item: place,
        rule: "unique",
        message: `is ${quote(stored)}, as item ${twin} is, and items are distinct`,
      };
    places.set(stored, place);
  }
  return { stored: JSON.stringify(value) };
}

function isEmpty(value: unknown, field: FieldDefinition): boolean {
  if (field.multiple === true) return value === null || (Array.isArray(value) && value.length === 0);
  return value === null || (value === "" && field.required === true);
}

/** The check of a field's values. @param pattern the `regex` rule of the field. */
export function checkOf(field: FieldDefinition, pattern: Pattern | undefined): (value: unknown) => CheckedValue {
  const type = typeOf(field);
  const empty: CheckedValue =
    field.required === true ? { rule: "required", message: "is required" } : { stored: emptyOf(field) };
  return (value) => {
    if (isEmpty(value, field)) return empty;
    if (type.item !== undefined) return checkItems(field, type, { value, pattern });
    const checked = checkType(field, type, value);
    if ("rule" in checked) return checked;
    const { stored } = checked;
    return boundProblem(field, stored) ?? patternProblem(field, stored, pattern) ?? checked;
  };
}
