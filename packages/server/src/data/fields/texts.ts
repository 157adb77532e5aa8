/** The parts that types stored as text share. */
import type { FieldDefinition } from "@socle/protocol";

/** Values up to this length are short. */
const shortLength = 100;

/** Text that every reader of the database gets back unchanged: without lone surrogates, and without NUL, which ends a C string. */
export function encodeText(value: unknown): string | undefined {
  return typeof value === "string" && value.isWellFormed() && !value.includes("\0") ? value : undefined;
}

/** Whether a text of the field may be long: `max` bounds its length. */
export function mayBeLongText({ max }: FieldDefinition): boolean {
  return max === undefined || max > shortLength;
}
