/**
 * Rows of CSV (RFC 4180) from pieces of a text. A row ends with LF or CRLF, both may stand in a file, or with CR alone in files
 * without LF. A quote in a quoted cell is written twice. Memory holds a row, and no row that is too long.
 */

export interface CsvShape {
  readonly delimiter: string;
  /** A character, or "" if cells have no quotes. */
  readonly quote: string;
  /** `\n` also ends rows with `\r\n`. */
  readonly newline: "\n" | "\r";
}

/** An empty cell without quotes is null, and an empty cell in quotes is "". */
export type CsvCell = string | null;

export interface CsvRow {
  /** The first line of the row, from 1. */
  readonly line: number;
  readonly cells: readonly CsvCell[];
  /**
   * `long`: the row has more characters than allowed, and is passed over. `quote`: text follows a closing quote. `open`: a quote does
   * not end before the end of the file.
   */
  readonly problem: "long" | "quote" | "open" | null;
}

/** A row in a text: `end` is the position behind the newline. */
interface FoundRow {
  readonly cells: CsvCell[];
  readonly end: number;
  readonly isBroken: boolean;
}

export class CsvRows {
  readonly #shape: CsvShape;
  readonly #maxLength: number;
  /** The beginning of the present row. */
  #rest = "";
  #line = 1;
  /** While a row that is too long is passed over: the first line of the row. */
  #longLine: number | null = null;
  #isQuoted = false;
  /** Whether the last character closed a quote: another quote then opens the cell again. */
  #isClosed = false;
  /** The next delimiter and the next newline of the text, so that no part of the text is searched twice. */
  #delimiterAt = -1;
  #newlineAt = -1;

  /** @param maxLength characters of a row. */
  constructor(shape: CsvShape, maxLength: number) {
    this.#shape = shape;
    this.#maxLength = maxLength;
  }

  /** The rows that end in the piece, and a row that turns out to be too long. */
  push(text: string, isLast: boolean): CsvRow[] {
    const rows: CsvRow[] = [];
    const input = this.#longLine === null ? this.#rest + text : this.#behindLongRow(text, isLast, rows);
    this.#delimiterAt = -1;
    this.#newlineAt = -1;
    let at = 0;
    while (at < input.length) {
      const found = this.#rowAt(input, at, isLast);
      if (found === null) break;
      const { cells, end, isBroken } = found;
      const problem = end - at > this.#maxLength + "\r\n".length ? "long" : isBroken ? "quote" : null;
      rows.push({ line: this.#line, cells, problem });
      this.#line += this.#newlinesIn(input, at, end);
      at = end;
    }
    this.#rest = input.slice(at);
    if (isLast && this.#rest !== "") rows.push({ line: this.#line, cells: [], problem: "open" });
    if (!isLast && this.#rest.length > this.#maxLength) {
      rows.push({ line: this.#line, cells: [], problem: "long" });
      this.#longLine = this.#line;
      this.#isQuoted = false;
      this.#isClosed = true;
      this.#passOver(this.#rest);
      this.#line += this.#newlinesIn(this.#rest, 0, this.#rest.length);
      this.#rest = "";
    }
    return rows;
  }

  /** The line of a place in the piece that comes next. */
  lineAt(text: string): number {
    const before = this.#rest + text;
    return this.#line + this.#newlinesIn(before, 0, before.length);
  }

  #newlinesIn(text: string, start: number, end: number): number {
    const { newline } = this.#shape;
    let found = 0;
    for (let at = text.indexOf(newline, start); at !== -1 && at < end; at = text.indexOf(newline, at + 1)) found += 1;
    return found;
  }

  /** The row at a position; null if the text ends before the row. */
  #rowAt(input: string, start: number, isLast: boolean): FoundRow | null {
    const { delimiter, quote } = this.#shape;
    const cells: CsvCell[] = [];
    for (let at = start; ; ) {
      if (quote !== "" && input[at] === quote) {
        const close = closingQuote(input, at, quote);
        if (close === -1 || (close + 1 === input.length && !isLast)) return null;
        const text = input.slice(at + 1, close);
        cells.push(text.includes(quote) ? text.replaceAll(quote + quote, quote) : text);
        at = close + 1;
        while (input[at] === " ") at += 1;
        if (input[at] === delimiter) at += 1;
        else {
          const end = this.#newlineFrom(input, at);
          // A carriage return at the end of the piece may be a part of a newline.
          if (end === -1 && !(isLast && /^\r?$/.test(input.slice(at))))
            return isLast ? broken(cells, input.length) : null;
          const rest = input.slice(at, end === -1 ? input.length : end);
          const next = end === -1 ? input.length : end + 1;
          return { cells, end: next, isBroken: rest !== "" && rest !== "\r" };
        }
      } else {
        const next = this.#delimiterFrom(input, at);
        const newline = this.#newlineFrom(input, at);
        if (next !== -1 && (newline === -1 || next < newline)) {
          cells.push(input.slice(at, next) || null);
          at = next + 1;
        } else {
          if (newline === -1 && !isLast) return null;
          const cell = input.slice(at, newline === -1 ? input.length : newline);
          cells.push((cell.endsWith("\r") ? cell.slice(0, -1) : cell) || null);
          return { cells, end: newline === -1 ? input.length : newline + 1, isBroken: false };
        }
      }
    }
  }

  #delimiterFrom(input: string, at: number): number {
    if (this.#delimiterAt !== -2 && this.#delimiterAt < at)
      this.#delimiterAt = placeOf(input, this.#shape.delimiter, at);
    return Math.max(this.#delimiterAt, -1);
  }

  #newlineFrom(input: string, at: number): number {
    if (this.#newlineAt !== -2 && this.#newlineAt < at) this.#newlineAt = placeOf(input, this.#shape.newline, at);
    return Math.max(this.#newlineAt, -1);
  }

  /** The text behind a row that is passed over; "" if the row does not end in the piece. */
  #behindLongRow(text: string, isLast: boolean, rows: CsvRow[]): string {
    const end = this.#passOver(text);
    if (end !== -1) this.#longLine = null;
    else if (isLast && this.#isQuoted) rows.push({ line: this.#longLine ?? this.#line, cells: [], problem: "open" });
    this.#line += this.#newlinesIn(text, 0, end === -1 ? text.length : end);
    return end === -1 ? "" : text.slice(end);
  }

  /** Answers the end of the row that is passed over; -1 if the row does not end in the text. */
  #passOver(text: string): number {
    const { delimiter, quote, newline } = this.#shape;
    let closed = this.#isClosed ? -1 : -2;
    let end = text.indexOf(newline);
    for (let at = 0; ; ) {
      const mark = quote === "" ? -1 : text.indexOf(quote, at);
      if (end !== -1 && end < at) end = text.indexOf(newline, at);
      if (!this.#isQuoted && end !== -1 && (mark === -1 || end < mark)) return end + 1;
      if (mark === -1) {
        this.#isClosed = closed === text.length - 1 || text.endsWith(delimiter);
        return -1;
      }
      if (this.#isQuoted) closed = mark;
      this.#isQuoted = !this.#isQuoted && (closed === mark - 1 || text[mark - 1] === delimiter);
      at = mark + 1;
    }
  }
}

/** The place of a character; -2 if the text has no more. */
function placeOf(input: string, character: string, at: number): number {
  const found = input.indexOf(character, at);
  return found === -1 ? -2 : found;
}

/** The quote that ends a quoted cell; -1 if the text ends before. */
function closingQuote(input: string, open: number, quote: string): number {
  let close = input.indexOf(quote, open + 1);
  while (close !== -1 && input[close + 1] === quote) close = input.indexOf(quote, close + 2);
  return close;
}

function broken(cells: CsvCell[], end: number): FoundRow {
  return { cells, end, isBroken: true };
}

const delimiters = [",", ";", "\t", "|"] as const;
/** Rows of a sample that decide about the delimiter. */
const sampleRows = 50;

/** The shape of a file, from its beginning: with the delimiter, most rows have as many cells as the first row. */
export function guessCsvShape(sample: string, quote = '"'): CsvShape {
  const newline = !sample.includes("\n") && sample.includes("\r") ? "\r" : "\n";
  let best = { delimiter: delimiters[0] as string, steady: 0, cells: 1 };
  for (const delimiter of delimiters) {
    const shape = { delimiter, quote, newline } as const;
    const whole = new CsvRows(shape, sample.length).push(sample, false);
    const found = whole.length > 0 ? whole : new CsvRows(shape, sample.length).push(sample, true);
    const rows = found.filter(({ cells }) => cells.some((cell) => cell !== null)).slice(0, sampleRows);
    const cells = rows[0]?.cells.length ?? 1;
    const steady = rows.filter((row) => row.cells.length === cells).length / rows.length;
    if (cells > 1 && (steady > best.steady || (steady === best.steady && cells > best.cells)))
      best = { delimiter, steady, cells };
  }
  return { delimiter: best.delimiter, quote, newline };
}

/** A row of CSV with its newline: null is an empty cell, and the empty text is `""`, so that both come back. */
export function csvLine(cells: readonly CsvCell[], { delimiter, quote } = { delimiter: ",", quote: '"' }): string {
  const texts = cells.map((cell) => {
    if (cell === null) return "";
    const isPlain = cell !== "" && !cell.includes(delimiter) && !cell.includes(quote) && !unsafe.test(cell);
    return isPlain ? cell : quote + cell.replaceAll(quote, quote + quote) + quote;
  });
  return `${texts.join(delimiter)}\r\n`;
}

const unsafe = /[\r\n\ufeff]|^\s|\s$/;
