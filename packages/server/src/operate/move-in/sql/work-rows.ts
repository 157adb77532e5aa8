/** The rows of a source in a file beside the database, so that a source of any size takes little memory. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { makeFolder, WorkFile } from "../../../store/database/index.ts";

/** The cells of a row, in the order of the source. */
export type Cells = readonly (string | null)[];

export interface StoredRow {
  /** The values of the primary key; of several columns, with `/` between. */
  readonly key: string;
  readonly cells: Cells;
}

const rowsAtOnce = 500;

/** A cell of several as a part of a key. */
const partOf = (at: number): string => `replace(replace(json_extract(cells, '$[${at}]'), '%', '%25'), '/', '%2F')`;

export class WorkRows {
  readonly #file: WorkFile;
  readonly #folder: string;

  /** @param folder is made anew, and removed by `close`. */
  constructor(folder: string) {
    this.#folder = folder;
    rmSync(folder, { recursive: true, force: true });
    makeFolder(folder, 0o700);
    this.#file = new WorkFile(join(folder, "rows.db"));
    this.#file.run(
      "CREATE TABLE rows (seq INTEGER PRIMARY KEY, tab INTEGER NOT NULL, key TEXT, cells TEXT NOT NULL) STRICT",
    );
    this.#file.run("BEGIN");
  }

  close(): void {
    this.#file.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  add(table: number, cells: Cells): void {
    this.#file.run("INSERT INTO rows (tab, cells) VALUES (?, ?)", table, JSON.stringify(cells));
  }

  /** Ends the additions. @param keys the places of the primary key, by the table. @throws Error for a key that is there twice. */
  end(keys: ReadonlyMap<number, readonly number[]>): void {
    for (const [table, places] of keys) {
      const [only = 0] = places;
      const key = places.length === 1 ? `json_extract(cells, '$[${only}]')` : places.map(partOf).join(" || '/' || ");
      this.#file.run(`UPDATE rows SET key = ${key} WHERE tab = ?`, table);
    }
    this.#file.run("CREATE UNIQUE INDEX rows_key ON rows (key, tab) WHERE key IS NOT NULL");
    this.#file.run("CREATE INDEX rows_tab ON rows (tab, seq)");
    this.#file.run("COMMIT");
  }

  count(table: number): number {
    return this.#file.get<{ n: number }>("SELECT count(*) AS n FROM rows WHERE tab = ?", table)?.n ?? 0;
  }

  /** The rows in the order of the source. */
  *rows(table: number): Iterable<StoredRow> {
    for (let last = 0; ; ) {
      const sql = `SELECT seq, key, cells FROM rows WHERE tab = ? AND seq > ? ORDER BY seq LIMIT ${rowsAtOnce}`;
      const found = this.#file.all<{ seq: number; key: string; cells: string }>(sql, table, last);
      for (const { key, cells } of found) yield { key, cells: JSON.parse(cells) };
      if (found.length < rowsAtOnce) return;
      last = found.at(-1)?.seq ?? last;
    }
  }

  get(table: number, key: string): StoredRow | null {
    const found = this.#file.get<{ cells: string }>("SELECT cells FROM rows WHERE key = ? AND tab = ?", key, table);
    return found === null ? null : { key, cells: JSON.parse(found.cells) };
  }

  has(table: number, key: string): boolean {
    return this.#file.get("SELECT 1 FROM rows WHERE key = ? AND tab = ?", key, table) !== null;
  }

  /** The first table that has a row of a key. */
  tableOf(key: string): number | undefined {
    return this.#file.get<{ tab: number }>("SELECT tab FROM rows WHERE key = ? ORDER BY tab LIMIT 1", key)?.tab;
  }

  /** Prepares `find` by a cell, or by several cells. */
  indexBy(table: number, places: readonly number[]): void {
    const cells = places.map((at) => `json_extract(cells, '$[${at}]')`).join(", ");
    this.#file.run(`CREATE INDEX rows_${table} ON rows (${cells}) WHERE tab = ${table}`);
  }

  find(table: number, values: ReadonlyMap<number, string>): StoredRow[] {
    const wanted = [...values.keys()].map((at) => `json_extract(cells, '$[${at}]') = ?`).join(" AND ");
    const sql = `SELECT key, cells FROM rows WHERE tab = ${table} AND ${wanted} ORDER BY seq`;
    const found = this.#file.all<{ key: string; cells: string }>(sql, ...values.values());
    return found.map(({ key, cells }) => ({ key, cells: JSON.parse(cells) }));
  }
}
