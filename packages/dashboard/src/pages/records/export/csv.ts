/**
 * Records as CSV (RFC 4180). The import reads back what is written here: null is an empty cell, the empty text is `""` in quotes, JSON is
 * its text, and a text that a spreadsheet would run as a formula has an apostrophe before it, where that is asked for.
 */
import type { FieldType, JsonValue } from "@socle/protocol";

export interface CsvStyle {
  readonly delimiter: string;
  readonly quote: string;
}

const standardStyle: CsvStyle = { delimiter: ",", quote: '"' };

/** For Excel, which reads UTF-8 only with it. */
export const byteOrderMark = "\ufeff";

/** One row with its newline. Null is an empty cell; the empty text stands in quotes. */
export function csvLine(cells: readonly (string | null)[], style: CsvStyle = standardStyle): string {
  // A row of one empty cell would be an empty line, which is no row.
  return `${cells.map((cell) => csvCell(cell, style)).join(style.delimiter)}\r\n`;
}

function csvCell(cell: string | null, { delimiter, quote }: CsvStyle): string {
  if (cell === null) return "";
  const needsQuotes =
    cell === "" || cell.includes(delimiter) || cell.includes(quote) || /[\r\n\ufeff]|^\s|\s$/.test(cell);
  return needsQuotes ? quote + cell.replaceAll(quote, quote + quote) + quote : cell;
}

/**
 * A text that no spreadsheet takes for a formula. One that begins with apostrophes before such a character gets one more, so that
 * taking one away gives every text back.
 */
export function protect(cell: string): string {
  return /^'*[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
}

/** A value of a record as the text of a cell. */
export function csvValue(value: JsonValue | undefined, type: FieldType | "id", isProtected: boolean): string | null {
  if (value === null || value === undefined) return null;
  if (type === "json" || typeof value === "object") return JSON.stringify(value);
  // A number is no formula: -5 stays a number for spreadsheets.
  if (typeof value !== "string") return String(value);
  return isProtected ? protect(value) : value;
}
