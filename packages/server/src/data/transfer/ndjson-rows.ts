/** Rows of newline-delimited JSON: each line is an object. Blank lines are passed over. */
import { InexactNumber, parseJsonText } from "@socle/protocol/cells";
import { excerpt, isObject, messageOf, quote } from "../../base/kernel/index.ts";
import type { ImportRow, RowReader, RowSettings } from "./rows.ts";

export class NdjsonReader implements RowReader {
  readonly #maxLength: number;
  readonly #map: RowSettings["map"];
  /** The beginning of the present line. */
  #rest = "";
  #line = 1;
  readonly skipped = 0;

  /** @param maxLength characters of a line. */
  constructor(maxLength: number, { map }: RowSettings) {
    this.#maxLength = maxLength;
    this.#map = map;
  }

  push(text: string, isLast: boolean): ImportRow[] {
    const [first = "", ...others] = text.split("\n");
    // The beginning of a line that is too long is enough to refuse the line.
    if (this.#rest.length <= this.#maxLength) this.#rest += first;
    const lines = [this.#rest, ...others];
    this.#rest = isLast ? "" : (lines.pop() ?? "");
    return lines.flatMap((line) => this.#rowsOf(line));
  }

  lineAt(text: string): number {
    return this.#line + text.split("\n").length - 1;
  }

  #rowsOf(text: string): ImportRow[] {
    const line = this.#line++;
    if (text.length > this.#maxLength) return [{ line, values: `it is longer than ${this.#maxLength} characters` }];
    return text.trim() === "" ? [] : [{ line, values: this.#valuesOf(text) }];
  }

  #valuesOf(text: string): ImportRow["values"] {
    try {
      const value = parseJsonText(text);
      if (!isObject(value)) return "the row is no JSON object";
      return this.#map.size === 0 ? value : this.#mapped(value);
    } catch (thrown) {
      if (thrown instanceof InexactNumber) return thrown.message;
      return `it is not valid JSON: ${excerpt(messageOf(thrown).replace(/^JSON Parse error: /, ""), 100)}`;
    }
  }

  #mapped(values: Record<string, unknown>): ImportRow["values"] {
    const mapped = new Map<string, unknown>();
    for (const [key, value] of Object.entries(values)) {
      const name = this.#map.get(key) ?? key;
      if (mapped.has(name)) return `it names ${quote(name)} twice`;
      if (name !== "") mapped.set(name, value);
    }
    return Object.fromEntries(mapped);
  }
}
