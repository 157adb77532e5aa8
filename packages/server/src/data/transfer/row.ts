/** A row of a file to import, unchecked. */
export interface ImportRow {
  /** The first line of the row, from 1. */
  readonly line: number;
  /** The values by name, or the reason why the row is invalid. */
  readonly values: Record<string, unknown> | string;
}

/** Rows out of the text of a file that comes in pieces. */
export interface ImportRows {
  /** The rows that end in the piece. @throws AppError `bad_request` when the rest cannot be read. */
  push(text: string): ImportRow[];
  /** The last row. */
  end(): ImportRow[];
}
