/**
 * CSV (RFC 4180): rows, and values in cells as text that keeps the types of JSON apart. The first row names the fields. An empty cell
 * is null; an empty cell in quotes is the empty text. The delimiter is the most frequent of comma, semicolon and tab in the first line.
 * Papa Parse finds the cells.
 */
import type { FieldDefinition, JsonValue } from "@socle/protocol";
import Papa, { type ParseResult } from "papaparse";
import { AppError, allOf, count } from "../../base/kernel/index.ts";
import { systemFields } from "../records/index.ts";
import type { ImportRow } from "./ndjson-rows.ts";

const delimiters = [",", ";", "\t"] as const;

/** A row: its text, its cells, and the problems of quotes that the parser found. */
interface CsvRow {
  readonly raw: string;
  readonly cells: readonly string[];
  readonly faults: readonly string[];
}

export class CsvRows {
  readonly #fields: ReadonlyMap<string, FieldDefinition>;
  readonly #maxLength: number;
  #rest = "";
  #line = 1;
  /** Whether the present line is too long: the rest is dropped. */
  #isTooLong = false;
  #delimiter: string | null = null;
  #columns: readonly string[] | null = null;

  /** @param maxLength characters of a row. */
  constructor(fields: readonly FieldDefinition[], maxLength: number) {
    this.#fields = new Map(fields.map((field) => [field.name, field]));
    this.#maxLength = maxLength;
  }

  /** The rows that end in the piece. @throws AppError `bad_request` when the rest cannot be read. */
  push(text: string): ImportRow[] {
    return this.#parse(text, false);
  }

  end(): ImportRow[] {
    return this.#parse("", true);
  }

  #parse(text: string, isLast: boolean): ImportRow[] {
    if (this.#isTooLong) {
      const end = text.indexOf("\n");
      if (end < 0) return [];
      this.#isTooLong = false;
      this.#line += 1;
      return this.#parse(text.slice(end + 1), isLast);
    }
    const input = this.#rest + text;
    this.#delimiter ??= delimiterOf(input, isLast);
    if (this.#delimiter === null) return this.#keep(input);
    const delimiter = this.#delimiter;
    const found: CsvRow[] = [];
    let from = 0;
    const step = ({ data, meta, errors }: ParseResult<string[]>): void => {
      const faults = errors.map(({ code }) => code);
      // A newline at the end of the file begins no row.
      if (from < input.length)
        found.push(rowOf({ raw: input.slice(from, meta.cursor), cells: data[0] ?? [], faults }, delimiter));
      from = meta.cursor;
    };
    if (input !== "") new Papa.Parser({ delimiter, newline: "\n", step }).parse(input, 0, !isLast);
    const rows = found.flatMap((row) => this.#rowOf(row));
    return [...rows, ...this.#keep(isLast ? "" : input.slice(from))];
  }

  /**
   * Keeps the beginning of a row for the next piece. A row that is too long is refused, and the line is dropped.
   * @throws AppError for a quote that may be open: the row would take in the rest of the file.
   */
  #keep(rest: string): ImportRow[] {
    this.#rest = rest;
    if (rest.length <= this.#maxLength) return [];
    if (this.#columns === null || rest.includes('"'))
      throw new AppError(
        "bad_request",
        `The row that begins in line ${this.#line} is longer than ${this.#maxLength} characters: is a quote not closed?`,
      );
    this.#rest = "";
    this.#isTooLong = true;
    return [{ line: this.#line, values: `it is longer than ${this.#maxLength} characters` }];
  }

  /** @throws AppError for an open quote at the end of the file, and for a wrong first row. */
  #rowOf({ raw, cells, faults }: CsvRow): ImportRow[] {
    const line = this.#line;
    if (faults.includes("MissingQuotes"))
      throw new AppError("bad_request", `The row that begins in line ${line} does not end: a quote is not closed.`);
    this.#line += raw.split("\n").length - 1;
    if (this.#columns === null) {
      this.#columns = this.#checkColumns(cells);
      return [];
    }
    if (cells.length === 1 && cells[0]?.trim() === "" && !raw.includes('"')) return [];
    const columns = this.#columns;
    if (faults.length > 0)
      return [{ line, values: "text follows a closing quote; a quote inside of a quoted cell is written twice" }];
    if (cells.length !== columns.length)
      return [{ line, values: `it has ${count(cells.length, "cell")}, and the first row ${columns.length}` }];
    const empties = raw.includes('""') ? quotedEmpties(raw, cells, this.#delimiter ?? ",") : null;
    const values: Record<string, unknown> = {};
    for (const [i, column] of columns.entries()) {
      const cell = cells[i] ?? "";
      const field = this.#fields.get(column);
      if (cell === "" && empties?.has(i) !== true) values[column] = null;
      else values[column] = field === undefined ? cell : valueOfCell(field, cell);
    }
    return [{ line, values }];
  }

  /** @throws AppError `bad_request` for a name that is no field, or stands twice: all rows would be wrong. */
  #checkColumns(cells: readonly string[]): readonly string[] {
    const columns = cells.map((cell) => cell.trim());
    const unknown = columns.filter((name) => !this.#fields.has(name) && !systemFields.includes(name));
    if (unknown.length > 0)
      throw new AppError(
        "bad_request",
        `The first row must name fields of the collection; ${allOf(unknown.slice(0, 10).map((name) => JSON.stringify(name)))} ${unknown.length === 1 ? "is none" : "are none"}.`,
      );
    const twice = columns.find((name, i) => columns.indexOf(name) !== i);
    if (twice !== undefined) throw new AppError("bad_request", `The first row names ${JSON.stringify(twice)} twice.`);
    return columns;
  }
}

/** A row without the carriage return of the line end, which the parser leaves in a last cell without quotes. */
function rowOf(row: CsvRow, delimiter: string): CsvRow {
  const { raw, cells } = row;
  const last = cells.at(-1) ?? "";
  if (!last.endsWith("\r")) return row;
  const line = raw.endsWith("\n") ? raw.slice(0, -1) : raw;
  // Without quotes, a cell is the text from the delimiter to the end of the line.
  const before = line.at(-last.length - 1);
  if (!line.endsWith(last) || (before !== undefined && before !== delimiter)) return row;
  return { ...row, cells: [...cells.slice(0, -1), last.slice(0, -1)] };
}

/** The character between the cells of a file; null while the first line has not ended. */
function delimiterOf(text: string, isLast: boolean): string | null {
  const end = text.indexOf("\n");
  if (end < 0 && !isLast) return null;
  const first = end < 0 ? text : text.slice(0, end);
  const countOf = (delimiter: string): number => first.split(delimiter).length;
  return delimiters.reduce((best, each) => (countOf(each) > countOf(best) ? each : best));
}

/** The cells of a row that are empty and stand in quotes. */
function quotedEmpties(raw: string, cells: readonly string[], delimiter: string): Set<number> {
  const found = new Set<number>();
  let at = 0;
  for (const [i, cell] of cells.entries()) {
    const isQuoted = raw[at] === '"';
    if (isQuoted && cell === "") found.add(i);
    at += isQuoted ? cell.length + 2 + cell.split('"').length - 1 : cell.length;
    const next = raw.indexOf(delimiter, at);
    if (next < 0) break;
    at = next + delimiter.length;
  }
  return found;
}

/** The value of a cell that the type of the field refuses. */
export const noValue = Symbol("no value");

const number = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;
const booleans: { readonly [text: string]: boolean } = { true: true, false: false, "1": true, "0": false };

/** The value of a cell. A text that is no number or boolean stays a text, which the field refuses. */
function valueOfCell(field: FieldDefinition, cell: string): unknown {
  if (field.multiple === true) return itemsOfCell(cell);
  switch (field.type) {
    case "integer":
    case "float":
      return number.test(cell) ? Number(cell) : cell;
    case "boolean":
      return booleans[cell.trim().toLowerCase()] ?? cell;
    case "json":
      return jsonOfCell(cell);
    default:
      return cell;
  }
}

function jsonOfCell(cell: string): unknown {
  try {
    return JSON.parse(cell);
  } catch {
    return noValue;
  }
}

/** The items of a multiple field: a JSON array, as in an export, or a single item. */
function itemsOfCell(cell: string): unknown {
  return cell.trimStart().startsWith("[") ? jsonOfCell(cell) : [cell];
}

/** The cell of a value; null for an empty value. */
export function cellOf(field: FieldDefinition | null, value: JsonValue): string | null {
  if (value === null) return null;
  if (field?.type === "json" || typeof value === "object") return JSON.stringify(value);
  return String(value);
}
