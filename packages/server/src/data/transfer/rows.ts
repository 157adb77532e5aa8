/** Rows of a file to import, whatever the format: unchecked values, and the settings of the file. */
import type { CellStyle } from "@socle/protocol/cells";

/** A row of a file to import, unchecked. */
export interface ImportRow {
  /** The first line of the row, from 1. */
  readonly line: number;
  /** The values by name, or the reason why the row is invalid. */
  readonly values: Record<string, unknown> | string;
}

/** A value that the file does not tell; the end of a sentence after the name of the field. */
export class UnreadValue {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

export interface RowSettings {
  /** The field of a column, by the name of the column; "" leaves the column out. */
  readonly map: ReadonlyMap<string, string>;
  readonly style: CellStyle;
}

/** Finds the rows in pieces of the text of a file. */
export interface RowReader {
  /** Rows without any value, which are passed over. */
  readonly skipped: number;
  /** The rows that end in the piece. @throws AppError `bad_request` when the rest cannot be read. */
  push(text: string, isLast: boolean): ImportRow[];
  /** The line of the end of a text that follows the pieces so far. */
  lineAt(text: string): number;
}
