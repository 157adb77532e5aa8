/** The attribute `default`: the value that a new record gets where the body is silent. */
import type { FieldDefinition, JsonValue } from "@socle/protocol";
import type { Value } from "../../database/index.ts";
import { type CheckedValue, checkValue, type Pattern } from "../check-value.ts";
import { typeOf } from "../registry.ts";
import type { Attribute } from "./attribute.ts";

/** The defaults that are another value for each record. */
const now = "@now";
const caller = "@user.id";

/** The moment and the caller of a create. */
export interface Creation {
  /** As `createdAt` has it. */
  readonly now: string;
  readonly userId: string | null;
}

function problemsOf(field: FieldDefinition, pattern: Pattern | undefined): string[] {
  const { type, default: value } = field;
  if (value === null) return ["must be a value; a field without a default is null by itself"];
  if (type === "relation") return value === caller ? [] : [`must be "${caller}" on a relation`];
  if (value === caller) return [`is "${caller}", which is for a relation to "users"`];
  if (value === now && type !== "datetime") return [`is "${now}", which is for datetime`];
  if (field.unique === true) return ["would be the same in every record, and the field is unique"];
  if (value === now) return [];
  const checked: CheckedValue = checkValue(field, value, pattern);
  return "stored" in checked ? [] : [`breaks a rule of its own field: it ${checked.message}`];
}

export const defaultValue: Attribute = {
  name: "default",
  isFor: 'every type but file, and of relations for those to "users"',
  means: ({ type, collection }) => type !== "file" && (type !== "relation" || collection === "users"),
  excludes: ["owner"],
  problems: problemsOf,
};

/** The stored default of a field; null where it has none, and for the caller that is nobody. */
export function storedDefault(field: FieldDefinition, creation: Creation): Value {
  const { default: value = null } = field;
  if (value === null) return null;
  if (field.type === "relation") return creation.userId;
  if (value === now && field.type === "datetime") return creation.now;
  return typeOf(field).encode(value) ?? null;
}

/** The default that records get which are there when a field comes: that of a required one, unless it asks for a caller. */
export function fillOf({ type, required, default: value }: FieldDefinition): JsonValue | undefined {
  return required === true && type !== "relation" ? value : undefined;
}
