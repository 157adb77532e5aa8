/**
 * Records as CSV (RFC 4180). The import reads the same format: null is an empty cell, the empty text is `""` in quotes, JSON is
 * its text. On request, a text that a spreadsheet would run as a formula has an apostrophe in front.
 */
import type { FieldType, JsonValue } from "@socle/protocol";

/** For Excel: without the mark, Excel does not read the file as UTF-8. */
export const byteOrderMark = "\ufeff";

/**
 * A text that no spreadsheet takes for a formula. A text with apostrophes before a formula character gets a further apostrophe,
 * so that the removal of a single apostrophe restores every text.
 */
export function protect(cell: string): string {
  return /^'*[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
}

/** A value of a record as the text of a cell. */
export function csvValue(value: JsonValue | undefined, type: FieldType | "id", isProtected: boolean): string | null {
  if (value === null || value === undefined) return null;
  if (type === "json" || typeof value === "object") return JSON.stringify(value);
  // A number is never a formula: -5 stays a number in a spreadsheet.
  if (typeof value !== "string") return String(value);
  return isProtected ? protect(value) : value;
}
