/** The rules and attributes that a field of a draft may have, by its type. The service refuses other rules and attributes. */
import { FIELD_TYPES, type FieldDefinition, type FieldType } from "@socle/protocol";

export interface Rules {
  /** The unit of `min` and `max`: characters, the number, or items; null when bounds mean nothing. */
  readonly bounds: "text" | "number" | "items" | null;
  readonly regex: boolean;
  readonly unique: boolean;
  readonly target: boolean;
  readonly owner: boolean;
  readonly values: boolean;
  readonly multiple: boolean;
}

/** The parts of a field of the form that decide about the rules. */
interface RuledField {
  /** The definition that the service stores; null for a new field. */
  readonly stored: FieldDefinition | null;
  readonly type: FieldType;
  readonly isMultiple: boolean;
  /** The allowed texts, a text per line. */
  readonly values: string;
  readonly collection: string;
}

const multipleTypes: readonly FieldType[] = ["string", "relation", "file"];

/** The types that a field may have: any for a new field; a stored integer may become a float. */
export function typesFor({ stored }: Pick<RuledField, "stored">): readonly FieldType[] {
  if (stored === null) return FIELD_TYPES;
  return stored.type === "integer" ? ["integer", "float"] : [stored.type];
}

export function isText(type: FieldType): boolean {
  return type === "string" || type === "text";
}

/** Whether the value of a field is an array of items. */
export function isMultiple({ type, isMultiple: isOn }: Pick<RuledField, "type" | "isMultiple">): boolean {
  return isOn && multipleTypes.includes(type);
}

/** The allowed texts of a field; an empty list allows any text. */
export function valuesOf({ type, values }: Pick<RuledField, "type" | "values">): string[] {
  if (type !== "string") return [];
  return values
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** The values of a draft that the stored field does not have, and the stored values that the draft does not have. */
export function valueChanges(field: Pick<RuledField, "stored" | "type" | "values">): {
  readonly came: readonly string[];
  readonly gone: readonly string[];
} {
  const [before, after] = [field.stored?.values ?? [], valuesOf(field)];
  return {
    came: after.filter((value) => !before.includes(value)),
    gone: before.filter((value) => !after.includes(value)),
  };
}

export function rulesOf(field: Omit<RuledField, "stored">): Rules {
  const { type, collection } = field;
  const isSeveral = isMultiple(field);
  const hasValues = valuesOf(field).length > 0;
  return {
    bounds: isSeveral ? "items" : boundsOf(type, hasValues),
    regex: isText(type) && !hasValues,
    unique: type !== "json" && !isSeveral,
    target: type === "relation",
    owner: type === "relation" && collection === "users" && !isSeveral,
    values: type === "string",
    multiple: multipleTypes.includes(type),
  };
}

/** Bounds have no meaning for a field with a list of allowed values. */
function boundsOf(type: FieldType, hasValues: boolean): Rules["bounds"] {
  if (type === "integer" || type === "float") return "number";
  return isText(type) && !hasValues ? "text" : null;
}

/** The number of a typed text; null for an empty text or a text that is no number. */
export function numberOf(typed: string): number | null {
  const value = Number(typed);
  return typed.trim() === "" || !Number.isFinite(value) ? null : value;
}
