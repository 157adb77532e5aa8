/** The attribute `default`: the value of a new record whose body does not name the field. */
import type { FieldDefinition, JsonValue } from "@socle/protocol";
import type { Value } from "../../../store/database/index.ts";
import { checkOf } from "../check-value.ts";
import type { Attribute, Pattern } from "../field-type.ts";
import { emptyOf, typeOf } from "../registry.ts";

/** The defaults that are another value for each record. */
const now = "@now";
const caller = "@user.id";

/** The moment and the caller of a create. */
export interface Creation {
  readonly now: string;
  readonly userId: string | null;
}

function problemsOf(field: FieldDefinition, pattern: Pattern | undefined): string[] {
  const { type, default: value } = field;
  if (value === null) return ["must be a value; a field without a default is null by itself"];
  if (type === "relation" && field.multiple === true) return callerProblems(field);
  if (type === "relation") return value === caller ? [] : [`must be "${caller}" on a relation`];
  if (value === caller) return [`is "${caller}", which is for a relation to "users"`];
  if (value === now && type !== "datetime") return [`is "${now}", which is for datetime`];
  if (field.unique === true) return ["would be the same in every record, and the field is unique"];
  if (value === now) return [];
  const checked = checkOf(field, pattern)(value);
  return "stored" in checked ? [] : [`breaks a rule of its own field: it ${checked.message}`];
}

/** The default of a multiple relation has one item, the caller. */
function callerProblems({ default: value, min = 0 }: FieldDefinition): string[] {
  if (!Array.isArray(value) || value.length !== 1 || value[0] !== caller)
    return [`must be ["${caller}"] on a multiple relation`];
  return min > 1 ? [`has one item, and "min" is ${min}`] : [];
}

export const defaultValue: Attribute = {
  name: "default",
  isFor: 'every type but file, and of relations for those to "users"',
  means: ({ type, collection }) => type !== "file" && (type !== "relation" || collection === "users"),
  excludes: () => ["owner"],
  problems: problemsOf,
};

/** The stored default of a field; the empty value without a default, and for an anonymous caller. */
export function storedDefault(field: FieldDefinition, creation: Creation): Value {
  const { default: value = null } = field;
  if (value === null) return emptyOf(field);
  if (field.type === "relation") return callerIn(field, creation);
  if (value === now && field.type === "datetime") return creation.now;
  return typeOf(field).encode(value) ?? null;
}

function callerIn(field: FieldDefinition, { userId }: Creation): Value {
  if (userId === null) return emptyOf(field);
  return field.multiple === true ? JSON.stringify([userId]) : userId;
}

/** The value that existing records get when a required field is added; undefined if the default is the caller. */
export function fillOf({ type, required, default: value }: FieldDefinition): JsonValue | undefined {
  return required === true && type !== "relation" ? value : undefined;
}
