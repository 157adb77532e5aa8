/** The check of one value: by the type of its field and by the rules that need no database. */
import type { ErrorRule, FieldDefinition } from "@socle/protocol";
import type { Value } from "../database/index.ts";
import { count } from "../kernel/index.ts";
import { valuesProblem } from "./attributes/values.ts";
import { typeOf } from "./registry.ts";

/** A compiled `regex` rule. */
export interface Pattern {
  test(text: string): boolean;
}

/** The value to store, or the rule that the value breaks, with the end of a sentence that begins with the field's name. */
export type CheckedValue = { readonly stored: Value } | { readonly rule: ErrorRule; readonly message: string };

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

function boundProblem(field: FieldDefinition, value: Value): CheckedValue | null {
  if (field.min === undefined && field.max === undefined) return null;
  const isText = typeOf(field).rules.bounds === "length";
  const measure = isText ? codePoints(String(value)) : Number(value);
  const unit = (bound: number): string => (isText ? `${count(bound, "character")} long` : String(bound));
  if (field.min !== undefined && measure < field.min)
    return { rule: "min", message: `must be at least ${unit(field.min)}` };
  if (field.max !== undefined && measure > field.max)
    return { rule: "max", message: `must be at most ${unit(field.max)}` };
  return null;
}

/** Checks a value of a field. @param pattern its `regex` rule. */
export function checkValue(field: FieldDefinition, value: unknown, pattern: Pattern | undefined): CheckedValue {
  if (value === null || (value === "" && field.required === true))
    return field.required === true ? { rule: "required", message: "is required" } : { stored: null };
  const type = typeOf(field);
  const stored = type.encode(value);
  if (stored === undefined) return { rule: "type", message: `must be ${type.expected}` };
  const outside = field.values === undefined ? null : valuesProblem(field.values, stored);
  if (outside !== null) return { rule: "type", message: outside };
  const outOfBounds = boundProblem(field, stored);
  if (outOfBounds !== null) return outOfBounds;
  if (pattern !== undefined && !pattern.test(String(stored)))
    return { rule: "regex", message: `must match ${field.regex}` };
  return { stored };
}
