/** A file of records: its format (detected at the beginning of the file, and changeable), its columns, its rows. */
import type { JsonValue } from "@socle/protocol";
import { isObject } from "../../../kit/diff.ts";
import { text } from "../../../texts/index.ts";
import { type CsvCell, type CsvShape, CsvSplitter, EndlessRowError, guessCsvShape } from "./csv-rows.ts";
import { detectEncoding, type Encoding, readText, sampleBytes } from "./encoding.ts";
import { EndlessObjectError, hasObjectPerLine, LineSplitter, ObjectSplitter } from "./json-rows.ts";

/** The largest accepted file, in bytes. */
export const MAX_IMPORT_SIZE = 200 * 1_048_576;

/** Most columns of a file. */
const maxColumns = 500;
/** Rows of JSON that are read to find the columns. */
const columnRows = 1_000;

type FileKind = "csv" | "json" | "lines";

/** The format of a file. */
export interface FileFormat extends CsvShape {
  readonly kind: FileKind;
  readonly encoding: Encoding;
  /** CSV: whether the first row names the columns. */
  readonly hasHeader: boolean;
}

/** A value of a row. Undefined when the row has no value; null also for an empty cell of CSV without quotes. */
export type Cell = JsonValue | undefined;

export interface SourceRow {
  /** The row number as an editor counts: in CSV the row of names is row 1; in JSON the first object is 1. */
  readonly number: number;
  /** A cell for each column. */
  readonly cells: readonly Cell[];
  /** The reason why the row cannot be stored. */
  readonly problem: string | null;
  /** The original object of a JSON file. */
  readonly original?: JsonValue;
  /** The part of the file up to the end of this row: 0 to 1. */
  readonly part: number;
}

/** Detects the format from the beginning of the file. */
export async function detectFormat(file: File): Promise<FileFormat> {
  const bytes = new Uint8Array(await file.slice(0, sampleBytes).arrayBuffer());
  return formatOf(file, bytes, detectEncoding(bytes));
}

/** Like `detectFormat`, with a chosen encoding. */
export async function detectFormatIn(file: File, encoding: Encoding): Promise<FileFormat> {
  return formatOf(file, new Uint8Array(await file.slice(0, sampleBytes).arrayBuffer()), encoding);
}

function formatOf(file: File, bytes: Uint8Array, encoding: Encoding): FileFormat {
  const sample = new TextDecoder(encoding).decode(bytes, { stream: true });
  const looksLikeJson = /^\s*(?:\[\s*(?:\{|\]|$)|\{)/.test(sample);
  const isJson = /\.(?:json|jsonl|ndjson)$/i.test(file.name) || (looksLikeJson && !/\.(?:csv|tsv)$/i.test(file.name));
  const kind = !isJson ? "csv" : hasObjectPerLine(sample) ? "lines" : "json";
  return { kind, encoding, hasHeader: true, ...guessCsvShape(isJson ? "" : sample.slice(0, 100_000)) };
}

/** The names of the columns: from the first row in CSV, from the first objects in JSON. */
export async function readColumns(file: File, format: FileFormat): Promise<string[]> {
  if (format.kind === "csv") {
    for await (const { cells } of readCsv(file, format)) {
      return cells
        .slice(0, maxColumns)
        .map((cell, i) => (format.hasHeader ? cell?.trim() : undefined) || text.import.column(i + 1));
    }
    return [];
  }
  const names = new Set<string>();
  let rows = 0;
  for await (const { value } of readObjects(file, format)) {
    if (isObject(value)) for (const name of Object.keys(value)) if (names.size < maxColumns) names.add(name);
    rows += 1;
    if (rows >= columnRows) break;
  }
  return [...names];
}

/** Reads the rows of a file on demand. @throws Error when the rest of the file cannot be read. */
export async function* readRows(
  file: File,
  format: FileFormat,
  columns: readonly string[],
): AsyncGenerator<SourceRow, void> {
  try {
    if (format.kind === "csv") yield* csvRows(file, format, columns);
    else yield* jsonRows(file, format, columns);
  } catch (error) {
    if (error instanceof EndlessRowError) throw new Error(text.import.endlessRow);
    if (error instanceof EndlessObjectError) throw new Error(text.import.endlessObject);
    throw error;
  }
}

async function* csvRows(file: File, format: FileFormat, columns: readonly string[]): AsyncGenerator<SourceRow, void> {
  let number = 0;
  for await (const { cells, part } of readCsv(file, format)) {
    number += 1;
    if (number === 1 && format.hasHeader) continue;
    // An empty line is no row. In a file with a single column, an empty line is a row without a value.
    if (cells.length === 1 && cells[0] === null && columns.length > 1) continue;
    const isTooLong = cells.slice(columns.length).some((cell) => cell !== null);
    const problem = isTooLong ? text.import.tooManyCells(cells.length, columns.length) : null;
    yield { number, cells, problem, part };
  }
}

async function* readCsv(file: File, format: FileFormat): AsyncGenerator<{ cells: CsvCell[]; part: number }, void> {
  const splitter = new CsvSplitter(format);
  for await (const piece of readText(file, format.encoding)) {
    for (const { cells, part } of splitter.push(piece.text, piece.isLast))
      yield { cells, part: partOf(file, piece, part) };
  }
}

async function* jsonRows(file: File, format: FileFormat, columns: readonly string[]): AsyncGenerator<SourceRow, void> {
  let number = 0;
  for await (const { value, problem, part } of readObjects(file, format)) {
    number += 1;
    if (isObject(value)) {
      const cells = columns.map((name) => (Object.hasOwn(value, name) ? value[name] : undefined));
      yield { number, cells, problem: null, original: value, part };
    } else yield { number, cells: [], problem: problem ?? text.import.noObject, original: value, part };
  }
}

interface ReadValue {
  /** The text, if the text is not JSON. */
  value: JsonValue;
  problem: string | null;
  part: number;
}

async function* readObjects(file: File, format: FileFormat): AsyncGenerator<ReadValue, void> {
  const splitter = format.kind === "lines" ? new LineSplitter() : new ObjectSplitter();
  for await (const piece of readText(file, format.encoding)) {
    for (const row of splitter.push(piece.text, piece.isLast)) {
      const part = partOf(file, piece, row.part);
      try {
        yield { value: JSON.parse(row.text) as JsonValue, problem: null, part };
      } catch {
        yield { value: row.text, problem: text.import.noJson, part };
      }
    }
  }
}

function partOf(file: File, piece: { from: number; to: number }, part: number): number {
  return file.size === 0 ? 1 : (piece.from + (piece.to - piece.from) * part) / file.size;
}
