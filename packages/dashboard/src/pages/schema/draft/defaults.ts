/** Defaults of fields in the form: the typed text, and the value of the text. */
import type { FieldType, JsonValue } from "@socle/protocol";
import { kinds } from "../../../fields/index.ts";

/** The properties of a field that decide about its default. */
interface Shape {
  readonly type: FieldType;
  /** Whether a value is an array; the text is its JSON then. */
  readonly isMultiple: boolean;
}

function isWritten({ type, isMultiple }: Shape): boolean {
  if (isMultiple) return false;
  return type === "string" || type === "text" || type === "datetime" || type === "relation";
}

/** A stored default as text for the form. */
export function defaultText(shape: Shape, value: JsonValue): string {
  return isWritten(shape) && typeof value === "string" ? value : JSON.stringify(value);
}

/** The value of a typed default. A text that is no value stays a text, and the service refuses the text. */
export function defaultValue(shape: Shape, typed: string): JsonValue {
  if (isWritten(shape)) return typed;
  try {
    return JSON.parse(typed) as JsonValue;
  } catch {
    return typed;
  }
}

/** Whether the default of a multiple field has items, and all items are texts. */
function areItems(value: JsonValue): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string");
}

/** The items of a typed default of a multiple field. */
export function defaultItems(shape: Shape, typed: string): string[] {
  const value = defaultValue(shape, typed);
  return areItems(value) ? value : [];
}

/** The first default of a field when the user asks for a default. */
export function firstDefault({ type, isMultiple }: Shape, values: readonly string[]): string {
  if (isMultiple) return JSON.stringify(type === "relation" ? ["@user.id"] : values.slice(0, 1));
  return values[0] ?? kinds[type].firstDefault;
}

/** Whether a typed default is a value of its type, as far as the browser can check. */
export function isDefault(shape: Shape, typed: string, values: readonly string[]): boolean {
  const { type, isMultiple } = shape;
  const value = defaultValue(shape, typed);
  if (isMultiple) return areItems(value) && (values.length === 0 || value.every((item) => values.includes(item)));
  return (values.length === 0 || values.includes(typed)) && kinds[type].isDefault(value, typed);
}
