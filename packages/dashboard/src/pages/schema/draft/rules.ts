/** Attributes of a field as the form holds them: typed texts, and the attributes that the field may have. */
import { ATTRIBUTES, FIELD_TYPES, type FieldDefinition, type FieldType } from "@socle/protocol";

interface TypedField {
  /** The definition that the service stores; null for a new field. */
  readonly stored: FieldDefinition | null;
  readonly type: FieldType;
  readonly isMultiple: boolean;
  /** The allowed texts, a text per line. */
  readonly values: string;
}

/** The types that a field may have: any for a new field; a stored integer may become a float. */
export function typesFor({ stored }: Pick<TypedField, "stored">): readonly FieldType[] {
  if (stored === null) return FIELD_TYPES;
  return stored.type === "integer" ? ["integer", "float"] : [stored.type];
}

/** Whether the value of a field is an array of items. */
export function isMultiple({ type, isMultiple: isOn }: Pick<TypedField, "type" | "isMultiple">): boolean {
  return isOn && ATTRIBUTES.multiple.types?.includes(type) === true;
}

/** The allowed texts of a field; an empty list allows any text. */
export function valuesOf({ type, values }: Pick<TypedField, "type" | "values">): string[] {
  if (type !== "string") return [];
  return values
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** The values of a draft that the stored field does not have, and the stored values that the draft does not have. */
export function valueChanges(field: Pick<TypedField, "stored" | "type" | "values">): {
  readonly came: readonly string[];
  readonly gone: readonly string[];
} {
  const [before, after] = [field.stored?.values ?? [], valuesOf(field)];
  return {
    came: after.filter((value) => !before.includes(value)),
    gone: before.filter((value) => !after.includes(value)),
  };
}

/** The number of a typed text; null for an empty text or a text that is no number. */
export function numberOf(typed: string): number | null {
  const value = Number(typed);
  return typed.trim() === "" || !Number.isFinite(value) ? null : value;
}
