/** Records as the text of a file: CSV, a JSON array, or an object per line. */
import type { CollectionEntry, FieldType, JsonValue, StoredRecord } from "@socle/protocol";
import { csvLine } from "@socle/protocol/cells";
import { byteOrderMark, csvValue } from "./csv.ts";

export const EXPORT_FORMATS = ["csv", "json", "lines"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export interface ExportShape {
  readonly format: ExportFormat;
  readonly columns: readonly ExportColumn[];
  /** CSV: whether to protect texts from formulas. */
  readonly isProtected: boolean;
  /** CSV: whether the file begins with a byte order mark. */
  readonly hasMark: boolean;
}

export interface ExportColumn {
  readonly name: string;
  readonly type: FieldType | "id";
}

export function columnsOf({ fields }: CollectionEntry): ExportColumn[] {
  const times = ["createdAt", "updatedAt"].map((name): ExportColumn => ({ name, type: "datetime" }));
  return [{ name: "id", type: "id" }, ...fields.map(({ name, type }) => ({ name, type })), ...times];
}

export const fileTypes: { readonly [format in ExportFormat]: { extension: string; type: string } } = {
  csv: { extension: "csv", type: "text/csv" },
  json: { extension: "json", type: "application/json" },
  lines: { extension: "jsonl", type: "application/x-ndjson" },
};

/** Writes records in sequence; each call answers the next text of the file. */
export class RecordWriter {
  readonly #shape: ExportShape;
  #isFirst = true;

  constructor(shape: ExportShape) {
    this.#shape = shape;
  }

  head(): string {
    const { format, columns, hasMark } = this.#shape;
    if (format === "csv") return (hasMark ? byteOrderMark : "") + csvLine(columns.map(({ name }) => name));
    return format === "json" ? "[" : "";
  }

  record(record: Partial<StoredRecord>): string {
    const { format, columns, isProtected } = this.#shape;
    if (format === "csv") return csvLine(columns.map(({ name, type }) => csvValue(record[name], type, isProtected)));
    const object: { [name: string]: JsonValue } = {};
    for (const { name } of columns) object[name] = record[name] ?? null;
    const line = JSON.stringify(object);
    if (format === "lines") return `${line}\n`;
    const separator = this.#isFirst ? "\n" : ",\n";
    this.#isFirst = false;
    return separator + line;
  }

  end(): string {
    return this.#shape.format === "json" ? "\n]\n" : "";
  }
}
