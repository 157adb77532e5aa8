/** A row of a file to import, before it is looked at. */
export interface Row {
  /** The line at which it begins, counted from 1. */
  readonly line: number;
  /** Its values by name, or the reason why it is none. */
  readonly values: Record<string, unknown> | string;
}

/** Rows out of the text of a file that comes in pieces. */
export interface RowReader {
  /** The rows that end in this piece. @throws AppError `bad_request` where the rest cannot be read. */
  push(text: string): Row[];
  /** The last row. */
  end(): Row[];
}
