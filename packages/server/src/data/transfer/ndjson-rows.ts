/** Rows of newline-delimited JSON: each line is an object. Blank lines are passed over. */
import { excerpt, isObject, messageOf } from "../../base/kernel/index.ts";

/** A row of a file to import, unchecked. */
export interface ImportRow {
  /** The first line of the row, from 1. */
  readonly line: number;
  /** The values by name, or the reason why the row is invalid. */
  readonly values: Record<string, unknown> | string;
}

export class NdjsonRows {
  readonly #maxLength: number;
  /** The beginning of the present line. */
  #rest = "";
  #line = 0;

  /** @param maxLength characters of a line. */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** The rows that end in the piece. */
  push(text: string): ImportRow[] {
    const [first = "", ...others] = text.split("\n");
    // The beginning of a line that is too long is enough to refuse the line.
    if (this.#rest.length <= this.#maxLength) this.#rest += first;
    const lines = [this.#rest, ...others];
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#rowsOf(line));
  }

  end(): ImportRow[] {
    return this.#rest === "" ? [] : this.#rowsOf(this.#rest);
  }

  #rowsOf(text: string): ImportRow[] {
    this.#line += 1;
    if (text.length > this.#maxLength)
      return [{ line: this.#line, values: `it is longer than ${this.#maxLength} characters` }];
    return text.trim() === "" ? [] : [{ line: this.#line, values: valuesOf(text) }];
  }
}

function valuesOf(text: string): Record<string, unknown> | string {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : "it is no JSON object";
  } catch (thrown) {
    return `it is not valid JSON: ${excerpt(messageOf(thrown).replace(/^JSON Parse error: /, ""), 100)}`;
  }
}
