/** The rules and attributes that mean something on a field of a draft, by its type. The service refuses the others. */
import type { FieldType } from "@socle/protocol";
import type { FieldDraft } from "./draft.ts";

export interface Rules {
  /** The measure of `min` and `max`: characters, the number itself, or items; null where they mean nothing. */
  readonly bounds: "text" | "number" | "items" | null;
  readonly regex: boolean;
  readonly unique: boolean;
  readonly target: boolean;
  readonly owner: boolean;
  readonly values: boolean;
  readonly multiple: boolean;
}

type RuledField = Pick<FieldDraft, "type" | "isMultiple" | "values" | "collection">;

const multipleTypes: readonly FieldType[] = ["string", "relation", "file"];

export function isText(type: FieldType): boolean {
  return type === "string" || type === "text";
}

/** Whether the value of a field is an array of items. */
export function isMultiple({ type, isMultiple: isOn }: Pick<FieldDraft, "type" | "isMultiple">): boolean {
  return isOn && multipleTypes.includes(type);
}

/** The texts that a field may be; none where it may be any. */
export function valuesOf({ type, values }: Pick<FieldDraft, "type" | "values">): string[] {
  if (type !== "string") return [];
  return values
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

export function rulesOf(field: RuledField): Rules {
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

/** Bounds mean nothing beside a list of all values. */
function boundsOf(type: FieldType, hasValues: boolean): Rules["bounds"] {
  if (type === "integer" || type === "float") return "number";
  return isText(type) && !hasValues ? "text" : null;
}

/** A number as it was typed; null for none and for what is no number. */
export function numberOf(typed: string): number | null {
  const value = Number(typed);
  return typed.trim() === "" || !Number.isFinite(value) ? null : value;
}
