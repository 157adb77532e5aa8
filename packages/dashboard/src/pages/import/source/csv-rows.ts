/**
 * Splits pieces of text into CSV rows. Papa Parse finds the cells. This file tells an empty cell in quotes from an empty cell
 * without quotes: `a,,""` is a text, null, and the empty text.
 */
import Papa, { type ParseResult } from "papaparse";

/** Null is an empty cell without quotes. */
export type CsvCell = string | null;

export interface CsvShape {
  readonly delimiter: string;
  readonly quote: string;
  /** "mixed" accepts both newlines, for hand-made files. */
  readonly newline: "\n" | "\r\n" | "\r" | "mixed";
}

export interface CsvRow {
  readonly cells: CsvCell[];
  /** The part of the piece up to the end of the row: 0 to 1. */
  readonly part: number;
}

const DELIMITERS = [",", ";", "\t", "|"] as const;

/** A row with more characters means a quote without its end. */
const longestRow = 16_777_216;

/** A row without an end: the rest of the file cannot be read. */
export class EndlessRowError extends Error {
  override readonly name = "EndlessRowError";
}

/** The delimiter and the newline of a sample. */
export function guessCsvShape(sample: string, quote = '"'): CsvShape {
  const found = Papa.parse<string[]>(sample, {
    preview: 50,
    quoteChar: quote,
    delimitersToGuess: [...DELIMITERS],
    skipEmptyLines: true,
  });
  return { delimiter: found.meta.delimiter, quote, newline: guessNewline(sample, quote) };
}

function guessNewline(sample: string, quote: string): CsvShape["newline"] {
  const mark = quote.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&");
  // Newlines inside quotes end no row.
  const bare = quote === "" ? sample : sample.replace(new RegExp(`${mark}[^${mark}]*(?:${mark}|$)`, "g"), "");
  const pairs = bare.match(/\r\n/g)?.length ?? 0;
  const feeds = (bare.match(/\n/g)?.length ?? 0) - pairs;
  if (pairs > 0) return feeds > 0 ? "mixed" : "\r\n";
  return feeds === 0 && bare.includes("\r") ? "\r" : "\n";
}

/** The indexes of empty cells in quotes. */
function quotedEmpties(raw: string, cells: readonly string[], { delimiter, quote }: CsvShape): Set<number> {
  const found = new Set<number>();
  let at = 0;
  for (const [i, cell] of cells.entries()) {
    const isQuoted = raw.startsWith(quote, at);
    if (isQuoted && cell === "") found.add(i);
    at += isQuoted ? cell.length + 2 + (cell.split(quote).length - 1) * quote.length : cell.length;
    const next = raw.indexOf(delimiter, at);
    if (next === -1) break;
    at = next + delimiter.length;
  }
  return found;
}

export class CsvSplitter {
  readonly #shape: CsvShape;
  #rest = "";

  constructor(shape: CsvShape) {
    this.#shape = shape;
  }

  /** The rows that end in this piece of text. @throws EndlessRowError. */
  push(text: string, isLast: boolean): CsvRow[] {
    const { delimiter, quote, newline } = this.#shape;
    const buffer = this.#rest + text;
    // A piece may end between "\r" and "\n": the "\n" is in the next piece.
    const held = !isLast && buffer.endsWith("\r") ? 1 : 0;
    const input = held === 0 ? buffer : buffer.slice(0, -1);
    const rows: CsvRow[] = [];
    let from = 0;
    const config = {
      delimiter,
      quoteChar: quote,
      newline: newline === "mixed" ? ("\n" as const) : newline,
      step: (result: ParseResult<string[]>) => {
        const to = result.meta.cursor;
        // After a newline at the end of the file, no row begins.
        if (from >= input.length) return;
        rows.push({ cells: this.#cellsOf(input.slice(from, to), result.data), part: to / input.length });
        from = to;
      },
    };
    if (input !== "") new Papa.Parser(config).parse(input, 0, !isLast);
    this.#rest = isLast ? "" : buffer.slice(from);
    if (this.#rest.length > longestRow) throw new EndlessRowError();
    return rows;
  }

  #cellsOf(raw: string, data: readonly (readonly string[])[]): CsvCell[] {
    const cells = [...(data[0] ?? [])];
    const { quote, newline } = this.#shape;
    const last = cells.at(-1);
    // The "\r" of a quoted cell stays: the newline comes after the quote.
    if (newline === "mixed" && last?.endsWith("\r") === true && !/["']\r?\n?$/.test(raw))
      cells[cells.length - 1] = last.slice(0, -1);
    const quoted =
      quote !== "" && raw.includes(quote + quote) ? quotedEmpties(raw, cells, this.#shape) : new Set<number>();
    return cells.map((cell, i) => (cell === "" && !quoted.has(i) ? null : cell));
  }
}
