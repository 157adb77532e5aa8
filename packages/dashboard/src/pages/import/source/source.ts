/** A file of records: its format (detected at the beginning of the file, and changeable), its columns, its rows. */
import { type CsvRow, CsvRows, type CsvShape, type Encoding, guessCsvShape } from "@socle/protocol/cells";
import { isObject } from "../../../kit/diff.ts";
import { text } from "../../../texts/index.ts";
import { detectEncoding, readText, sampleBytes, WrongEncodingError } from "./encoding.ts";
import { type ExactValue, parseExact, WrittenNumber } from "./exact-json.ts";
import { EndlessObjectError, hasObjectPerLine, LineSplitter, ObjectSplitter } from "./json-rows.ts";

/** The largest accepted file, in bytes. */
export const MAX_IMPORT_SIZE = 200 * 1_048_576;

/** Most columns of a file. */
const maxColumns = 500;
/** Characters of a row of CSV: a longer row is rejected. */
const longestRow = 16_777_216;
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
export type Cell = ExactValue | undefined;

export interface SourceRow {
  /** The row number as an editor counts: in CSV the row of names is row 1; in JSON the first object is 1. */
  readonly number: number;
  /** A cell for each column. */
  readonly cells: readonly Cell[];
  /** Whether no cell of a CSV has a value: the row is passed over. */
  readonly isEmpty: boolean;
  /** The reason why the row cannot be stored. */
  readonly problem: string | null;
  /** The original object of a JSON file. */
  readonly original?: ExactValue;
  /** The part of the file up to the end of this row: 0 to 1. */
  readonly part: number;
}

/** Detects the format from the beginning of the file. */
export async function detectFormat(file: File): Promise<FileFormat> {
  return detectFormatIn(file, await detectEncoding(file));
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
    if (error instanceof WrongEncodingError) throw new Error(text.import.wrongEncoding(format.encoding));
    if (error instanceof EndlessObjectError) throw new Error(text.import.endlessObject);
    throw error;
  }
}

async function* csvRows(file: File, format: FileFormat, columns: readonly string[]): AsyncGenerator<SourceRow, void> {
  let number = 0;
  for await (const { cells, problem: fault, part } of readCsv(file, format)) {
    number += 1;
    if (number === 1 && format.hasHeader) continue;
    if (fault === "open") throw new Error(text.import.endlessRow);
    const isEmpty = fault === null && cells.every((cell) => cell === null || cell.trim() === "");
    // An empty line is no row, unless the file has a single column.
    if (isEmpty && cells.length === 1 && cells[0] === null && columns.length > 1) continue;
    const isTooLong = cells.slice(columns.length).some((cell) => cell !== null);
    const tooMany = isTooLong ? text.import.tooManyCells(cells.length, columns.length) : null;
    yield { number, cells, isEmpty, problem: fault === null ? tooMany : text.import.rowFaults[fault], part };
  }
}

async function* readCsv(
  file: File,
  format: FileFormat,
): AsyncGenerator<Pick<CsvRow, "cells" | "problem"> & { part: number }, void> {
  const reader = new CsvRows(format, longestRow);
  for await (const piece of readText(file, format.encoding)) {
    const rows = reader.push(piece.text, piece.isLast);
    for (const [i, { cells, problem }] of rows.entries())
      yield { cells, problem, part: partOf(file, piece, (i + 1) / rows.length) };
  }
}

async function* jsonRows(file: File, format: FileFormat, columns: readonly string[]): AsyncGenerator<SourceRow, void> {
  let number = 0;
  for await (const { value, problem, part } of readObjects(file, format)) {
    number += 1;
    if (isObject(value) && !(value instanceof WrittenNumber)) {
      const cells = columns.map((name) => (Object.hasOwn(value, name) ? value[name] : undefined));
      yield { number, cells, isEmpty: false, problem: null, original: value, part };
    } else yield { number, cells: [], isEmpty: false, problem: problem ?? text.import.noObject, original: value, part };
  }
}

interface ReadValue {
  /** The text, if the text is not JSON. */
  value: ExactValue;
  problem: string | null;
  part: number;
}

async function* readObjects(file: File, format: FileFormat): AsyncGenerator<ReadValue, void> {
  const splitter = format.kind === "lines" ? new LineSplitter() : new ObjectSplitter();
  for await (const piece of readText(file, format.encoding)) {
    for (const row of splitter.push(piece.text, piece.isLast)) {
      const part = partOf(file, piece, row.part);
      try {
        yield { value: parseExact(row.text), problem: null, part };
      } catch {
        yield { value: row.text, problem: text.import.noJson, part };
      }
    }
  }
}

function partOf(file: File, piece: { from: number; to: number }, part: number): number {
  return file.size === 0 ? 1 : (piece.from + (piece.to - piece.from) * part) / file.size;
}
