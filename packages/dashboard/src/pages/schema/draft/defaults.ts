/** Defaults of fields as the form holds them: a text that is typed, and the value that it stands for. */
import type { FieldType, JsonValue } from "@socle/protocol";

/** Whether a default means something on a field; the service refuses it on others. */
export function hasDefault(field: {
  readonly type: FieldType;
  readonly collection: string;
  readonly isOwner: boolean;
}): boolean {
  const { type, collection, isOwner } = field;
  return type !== "file" && (type !== "relation" || (collection === "users" && !isOwner));
}

function isWritten(type: FieldType): boolean {
  return type === "string" || type === "text" || type === "datetime" || type === "relation";
}

/** A stored default as the form shows it. */
export function defaultText(type: FieldType, value: JsonValue): string {
  return isWritten(type) && typeof value === "string" ? value : JSON.stringify(value);
}

/** The value of a typed default. A text that is none stays a text, which the service refuses. */
export function defaultValue(type: FieldType, typed: string): JsonValue {
  if (isWritten(type)) return typed;
  try {
    return JSON.parse(typed) as JsonValue;
  } catch {
    return typed;
  }
}

/** The default that a field begins with when somebody asks for one. */
export function firstDefault(type: FieldType, values: readonly string[]): string {
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
export function isDefault(type: FieldType, typed: string, values: readonly string[]): boolean {
  const value = defaultValue(type, typed);
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
