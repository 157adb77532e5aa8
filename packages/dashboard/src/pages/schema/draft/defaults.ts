/** Defaults of fields as the form holds them: a text that is typed, and the value that it stands for. */
import type { FieldType, JsonValue } from "@socle/protocol";

/** A field as its default sees it. */
interface Shape {
  readonly type: FieldType;
  /** Whether a value is an array; the text is its JSON then. */
  readonly isMultiple: boolean;
}

/** Whether a default means something on a field; the service refuses it on others. */
export function hasDefault(field: {
  readonly type: FieldType;
  readonly collection: string;
  readonly isOwner: boolean;
}): boolean {
  const { type, collection, isOwner } = field;
  return type !== "file" && (type !== "relation" || (collection === "users" && !isOwner));
}

function isWritten({ type, isMultiple }: Shape): boolean {
  if (isMultiple) return false;
  return type === "string" || type === "text" || type === "datetime" || type === "relation";
}

/** A stored default as the form shows it. */
export function defaultText(shape: Shape, value: JsonValue): string {
  return isWritten(shape) && typeof value === "string" ? value : JSON.stringify(value);
}

/** The value of a typed default. A text that is none stays a text, which the service refuses. */
export function defaultValue(shape: Shape, typed: string): JsonValue {
  if (isWritten(shape)) return typed;
  try {
    return JSON.parse(typed) as JsonValue;
  } catch {
    return typed;
  }
}

/** Whether a default of a multiple field has items, all of them texts. */
function areItems(value: JsonValue): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string");
}

/** The items of a typed default of a multiple field. */
export function defaultItems(shape: Shape, typed: string): string[] {
  const value = defaultValue(shape, typed);
  return areItems(value) ? value : [];
}

/** The default that a field begins with when somebody asks for one. */
export function firstDefault({ type, isMultiple }: Shape, values: readonly string[]): string {
  if (isMultiple) return JSON.stringify(type === "relation" ? ["@user.id"] : values.slice(0, 1));
  switch (type) {
    case "relation":
      return "@user.id";
    case "datetime":
      return "@now";
    case "boolean":
      return "false";
    case "integer":
    case "float":
      return "0";
    case "json":
      return "{}";
    default:
      return values[0] ?? "";
  }
}

/** Whether a typed default is a value of its type, as far as that can be told here. */
export function isDefault(shape: Shape, typed: string, values: readonly string[]): boolean {
  const { type, isMultiple } = shape;
  const value = defaultValue(shape, typed);
  if (isMultiple) return areItems(value) && (values.length === 0 || value.every((item) => values.includes(item)));
  switch (type) {
    case "integer":
      return Number.isSafeInteger(value);
    case "float":
      return typeof value === "number" && Number.isFinite(value);
    case "boolean":
      return typeof value === "boolean";
    case "datetime":
      return typed === "@now" || !Number.isNaN(Date.parse(typed));
    case "json":
      return typed.trim() !== "null" && (typeof value !== "string" || typed.trim().startsWith('"'));
    default:
      return values.length === 0 || values.includes(typed);
  }
}
