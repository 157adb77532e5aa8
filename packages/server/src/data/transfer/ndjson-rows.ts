/** Rows of newline-delimited JSON: each line is an object. Blank lines are passed over. */
import { excerpt, isObject, messageOf } from "../../base/kernel/index.ts";
import type { ImportRow, ImportRows } from "./row.ts";

export class NdjsonRows implements ImportRows {
  readonly #maxLength: number;
  #rest = "";
  #line = 0;
  /** Whether the present line is too long: its rest is dropped. */
  #isTooLong = false;

  /** @param maxLength characters of a line. */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  push(text: string): ImportRow[] {
    const rows: ImportRow[] = [];
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      this.#take(text.slice(from, end));
      this.#close(rows);
      from = end + 1;
    }
    this.#take(text.slice(from));
    return rows;
  }

  end(): ImportRow[] {
    const rows: ImportRow[] = [];
    if (this.#rest !== "" || this.#isTooLong) this.#close(rows);
    return rows;
  }

  #take(text: string): void {
    if (this.#isTooLong) return;
    this.#rest += text;
    if (this.#rest.length <= this.#maxLength) return;
    this.#isTooLong = true;
    this.#rest = "";
  }

  #close(rows: ImportRow[]): void {
    const text = this.#rest;
    this.#line += 1;
    if (this.#isTooLong) rows.push({ line: this.#line, values: `it is longer than ${this.#maxLength} characters` });
    else if (text.trim() !== "") rows.push({ line: this.#line, values: valuesOf(text) });
    this.#rest = "";
    this.#isTooLong = false;
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
