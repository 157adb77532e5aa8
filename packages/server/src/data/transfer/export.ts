/**
 * An export: all records of a collection, the oldest first, as a stream. An import of the export gives the same records in
 * the same order. A record that is created meanwhile is exported; a changed or deleted record is exported as found.
 */
import type { FieldDefinition, StoredRecord } from "@socle/protocol";
import { csvLine } from "@socle/protocol/cells";
import { nextTurn } from "../../base/kernel/index.ts";
import type { Database, LongRead } from "../../store/database/index.ts";
import type { Collection } from "../collections/index.ts";
import { recordTableOf } from "../records/index.ts";
import { cellOf } from "./csv.ts";
import type { TransferFormat } from "./format.ts";

/** Records and bytes of a piece. */
const pageSize = 500;
const pageBytes = 64 * 1024;

const encoder = new TextEncoder();

export interface ExportOptions {
  readonly collection: Collection;
  readonly format: TransferFormat;
  /** Throws once the caller's right has ended; asked before each piece. */
  readonly mayGoOn: () => Promise<unknown>;
}

/** Pieces of a file, made on demand. A consumer that stops early calls `return`. */
export class Export {
  readonly #options: ExportOptions;
  readonly #reader: LongRead;
  readonly #columns: readonly [name: string, field: FieldDefinition | null][];
  /** The place behind which the next piece begins; null at the end. */
  #after: number | null = 0;
  #header: string;
  /** The number of records that were given so far. */
  exported = 0;

  /** Reads the state of this moment. */
  constructor(database: Database, options: ExportOptions) {
    this.#options = options;
    this.#reader = database.longRead();
    const table = recordTableOf(options.collection);
    this.#columns = table.names.map((name) => [name, table.field(name)]);
    this.#header = options.format === "csv" ? csvLine(table.names) : "";
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    try {
      await nextTurn();
      await this.#options.mayGoOn();
      const text = this.#header + this.#page();
      this.#header = "";
      if (text === "" && this.#after === null) return await this.return();
      return { done: false, value: encoder.encode(text) };
    } catch (thrown) {
      await this.return();
      throw thrown;
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#after = null;
    this.#reader.end();
    return { done: true, value: undefined };
  }

  /** The text of the next records; "" at the end. */
  #page(): string {
    if (this.#after === null) return "";
    const table = recordTableOf(this.#options.collection);
    let weight = 0;
    const statement = { sql: table.oldestAfter(pageSize), values: [this.#after] };
    const rows = this.#reader.some<StoredRecord>(statement, (row) => {
      weight += table.weightOf(row);
      return weight >= pageBytes;
    });
    const last = rows.at(-1);
    // In the turn of the rows: one snapshot.
    const found = last === undefined ? null : this.#reader.get<{ seq: number }>(table.seqOfId, last.id);
    this.#after = found?.seq ?? null;
    this.exported += rows.length;
    return rows.length === 0 ? "" : this.#textOf(table.toRecords(rows));
  }

  #textOf(records: readonly StoredRecord[]): string {
    if (this.#options.format === "ndjson") return `${records.map((record) => JSON.stringify(record)).join("\n")}\n`;
    const cellsOf = (record: StoredRecord): (string | null)[] =>
      this.#columns.map(([name, field]) => cellOf(field, record[name] ?? null));
    return records.map((record) => csvLine(cellsOf(record))).join("");
  }
}
