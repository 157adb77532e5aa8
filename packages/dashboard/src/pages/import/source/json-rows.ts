/** Splits pieces of text into JSON objects: the items of an array, or an object per line. Memory holds a single object at a time. */

export interface JsonRow {
  readonly text: string;
  /** The part of the piece up to the end of the object: 0 to 1. */
  readonly part: number;
}

/** An object with more characters means a bracket without its end. */
const longestObject = 16_777_216;

/** An object without an end: the rest of the file cannot be read. */
export class EndlessObjectError extends Error {
  override readonly name = "EndlessObjectError";
}

/** Whether the text has an object per line, instead of an array or objects over several lines. */
export function hasObjectPerLine(sample: string): boolean {
  const [line = ""] = sample.trimStart().split("\n", 1);
  if (!line.startsWith("{")) return false;
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

/** Splits a text into its non-empty lines. */
export class LineSplitter {
  #rest = "";

  push(text: string, isLast: boolean): JsonRow[] {
    const lines = (this.#rest + text).split("\n");
    this.#rest = isLast ? "" : (lines.pop() ?? "");
    if (this.#rest.length > longestObject) throw new EndlessObjectError();
    return lines
      .map((line, i) => ({ text: line.trim(), part: (i + 1) / lines.length }))
      .filter((row) => row.text !== "");
  }
}

/** Finds the outermost values of a text, and skips brackets, commas and spaces between the values. */
export class ObjectSplitter {
  #rest = "";
  /** The depth of open brackets inside the value; the array around the values does not count. */
  #depth = 0;
  #isText = false;
  /** The next position in `#rest`. */
  #at = 0;
  #start = -1;

  push(text: string, isLast: boolean): JsonRow[] {
    const input = this.#rest + text;
    const rows: JsonRow[] = [];
    const take = (end: number): void => {
      rows.push({ text: input.slice(this.#start, end), part: end / Math.max(1, input.length) });
      this.#start = -1;
    };
    let at = this.#at;
    for (; at < input.length; at++) {
      const char = input[at];
      if (this.#isText) {
        if (char === "\\") at += 1;
        else if (char === '"') {
          this.#isText = false;
          if (this.#depth === 0) take(at + 1);
        }
      } else if (char === '"') {
        if (this.#start === -1) this.#start = at;
        this.#isText = true;
      } else if (char === "{" || (char === "[" && this.#depth > 0)) {
        if (this.#start === -1) this.#start = at;
        this.#depth += 1;
      } else if (this.#depth > 0) {
        if (char === "}" || char === "]") {
          this.#depth -= 1;
          if (this.#depth === 0) take(at + 1);
        }
      } else if (char !== undefined && /[\s,[\]]/.test(char)) {
        if (this.#start !== -1) take(at);
      } else if (this.#start === -1) this.#start = at;
    }
    if (isLast && this.#start !== -1) take(input.length);
    const keepFrom = this.#start === -1 ? input.length : this.#start;
    this.#rest = isLast ? "" : input.slice(keepFrom);
    // An escape at the end of a piece skips over the end: the next piece begins with the escaped character.
    this.#at = at - keepFrom;
    this.#start = this.#start === -1 ? -1 : 0;
    if (this.#rest.length > longestObject) throw new EndlessObjectError();
    return rows;
  }
}
