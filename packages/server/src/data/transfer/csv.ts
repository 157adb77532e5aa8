/**
 * CSV of imports: the first row names the columns, and each other row has the values of a record. The cells have the meaning that the
 * protocol package gives to cells, as in the dashboard.
 */
import type { FieldDefinition, JsonValue } from "@socle/protocol";
import { type CellStyle, type CsvRow, CsvRows, guessCsvShape, readCell } from "@socle/protocol/cells";
import { AppError, allOf, count, quote } from "../../base/kernel/index.ts";
import { type ImportRow, type RowReader, type RowSettings, UnreadValue } from "./rows.ts";

/** Characters at the beginning of a file that tell the delimiter. */
const sampleLength = 64 * 1024;

/** The columns of system fields are read like fields of these types. */
const systemColumns: readonly FieldDefinition[] = [
  { name: "id", type: "string", min: 1 },
  { name: "createdAt", type: "datetime" },
  { name: "updatedAt", type: "datetime" },
];

export class CsvReader implements RowReader {
  readonly #fields: ReadonlyMap<string, FieldDefinition>;
  readonly #maxLength: number;
  readonly #settings: RowSettings;
  /** The beginning of the file, until the delimiter is known. */
  #start = "";
  #rows: CsvRows | null = null;
  /** The field of each column; null for a column that is left out. */
  #columns: readonly (FieldDefinition | null)[] | null = null;
  skipped = 0;

  /** @param maxLength characters of a row. */
  constructor(fields: readonly FieldDefinition[], maxLength: number, settings: RowSettings) {
    this.#fields = new Map([...fields, ...systemColumns].map((field) => [field.name, field]));
    this.#maxLength = maxLength;
    this.#settings = settings;
  }

  push(text: string, isLast: boolean): ImportRow[] {
    if (this.#rows !== null) return this.#read(this.#rows, text, isLast);
    this.#start += text;
    if (this.#start.length < sampleLength && !isLast) return [];
    this.#rows = new CsvRows(guessCsvShape(this.#start.slice(0, sampleLength)), this.#maxLength);
    return this.#read(this.#rows, this.#start, isLast);
  }

  lineAt(text: string): number {
    return this.#rows?.lineAt(text) ?? (this.#start + text).split("\n").length;
  }

  /** @throws AppError `bad_request` for a first row that is wrong, and for an open quote at the end of the file. */
  #read(rows: CsvRows, text: string, isLast: boolean): ImportRow[] {
    return rows.push(text, isLast).flatMap((row) => this.#rowOf(row));
  }

  #rowOf({ line, cells, problem }: CsvRow): ImportRow[] {
    if (problem === "open")
      throw new AppError("bad_request", `The row that begins in line ${line} does not end: a quote is not closed.`);
    if (this.#columns === null) {
      if (problem === "long")
        throw new AppError("bad_request", `The first row is longer than ${this.#maxLength} characters.`);
      this.#columns = this.#columnsOf(cells.map((cell) => (cell ?? "").trim()));
      return [];
    }
    const columns = this.#columns;
    if (problem === "long") return [{ line, values: `it is longer than ${this.#maxLength} characters` }];
    if (problem === "quote")
      return [{ line, values: "text follows a closing quote; a quote inside of a quoted cell is written twice" }];
    if (cells.every((cell) => cell === null || cell.trim() === "")) {
      // An empty line is no row, unless the file has a single column.
      if (cells.length > 1 || columns.length === 1 || cells[0] !== null) this.skipped += 1;
      return [];
    }
    if (cells.length !== columns.length)
      return [{ line, values: `it has ${count(cells.length, "cell")}, and the first row ${columns.length}` }];
    const values: Record<string, unknown> = {};
    for (const [i, field] of columns.entries())
      if (field !== null) values[field.name] = valueOfCell(cells[i] ?? null, field, this.#settings.style);
    return [{ line, values }];
  }

  /** @throws AppError `bad_request` for a name that is no field, or stands twice: all rows would be wrong. */
  #columnsOf(given: readonly string[]): (FieldDefinition | null)[] {
    const names = given.map((name) => this.#settings.map.get(name) ?? name);
    const unknown = names.filter((name) => name !== "" && !this.#fields.has(name));
    // A column without a name is left out only if the mapping says so.
    if (given.some((name) => name === "" && !this.#settings.map.has(name))) unknown.push("");
    if (unknown.length > 0)
      throw new AppError(
        "bad_request",
        `The first row must name fields of the collection; ${allOf(unknown.slice(0, 10).map((name) => quote(name)))} ${unknown.length === 1 ? "is none" : "are none"}. The option map gives a column the name of a field, or leaves the column out: map=column=field, map=column=.`,
      );
    const twice = names.find((name, i) => name !== "" && names.indexOf(name) !== i);
    if (twice !== undefined) throw new AppError("bad_request", `The first row names ${quote(twice)} twice.`);
    return names.map((name) => this.#fields.get(name) ?? null);
  }
}

/** The value of a cell. A text that is no value of the type stays a text, which the field refuses. */
function valueOfCell(cell: string | null, field: FieldDefinition, style: CellStyle): unknown {
  const read = readCell(cell, field, style);
  if ("value" in read) return read.value;
  if (read.problem === "decimal")
    return new UnreadValue(`may be several numbers (${quote(cell)}): the option decimal says comma or point`);
  if (read.problem === "dates")
    return new UnreadValue(`may be several days (${quote(cell)}): the option dates says dmy or mdy`);
  return field.type === "json" ? new UnreadValue("must be JSON") : cell;
}

/** The cell of a value; null for an empty value. */
export function cellOf(field: FieldDefinition | null, value: JsonValue): string | null {
  if (value === null) return null;
  if (field?.type === "json" || typeof value === "object") return JSON.stringify(value);
  return String(value);
}
