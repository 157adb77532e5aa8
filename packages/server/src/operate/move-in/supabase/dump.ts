/** A plain dump of PostgreSQL: the statements go into a catalogue, the rows into a work file. */
import { statSync } from "node:fs";
import { freeBytes, messageOf, SetupError } from "../../../base/kernel/index.ts";
import { type Cells, WorkRows } from "../sql/work-rows.ts";
import { Catalogue, type SqlTable } from "./catalogue.ts";

const how =
  "pg_dump --format plain --schema public --schema auth --schema storage --file dump.sql, with the connection string of the project";
/** The tables of `auth` and `storage` that a move reads. */
const ownTables = ["auth.users", "auth.identities", "auth.mfa_factors", "storage.buckets", "storage.objects"];

/** Whether the rows of a table are kept. */
function isRead(name: string): boolean {
  return name.startsWith("public.") || ownTables.includes(name);
}

/** A table with rows. */
export interface CopiedTable {
  readonly id: number;
  readonly table: SqlTable;
  /** The names of the cells. */
  readonly columns: readonly string[];
}

export class Dump {
  readonly path: string;
  readonly catalogue: Catalogue;
  readonly rows: WorkRows;
  readonly copied: ReadonlyMap<string, CopiedTable>;

  /** @param work a folder for the rows, which `close` removes. @throws SetupError for a file that is no whole plain dump. */
  static async open(path: string, work: string): Promise<Dump> {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) throw new SetupError(`${path}: there is no such file`);
    const head = found.isDirectory() ? "" : await Bun.file(path).slice(0, 4_096).text();
    if (head.startsWith("PGDMP") || found.isDirectory())
      throw new SetupError(
        `${path}: is a dump in the ${head === "" ? "directory" : "custom"} format; dump as text: ${how}`,
      );
    if (!/^-- PostgreSQL database dump\r?$/m.test(head))
      throw new SetupError(
        `${path}: is no dump of one database as text: there is no line "-- PostgreSQL database dump". Dump so: ${how}`,
      );
    const rows = new WorkRows(work);
    try {
      const free = await freeBytes(work);
      if (free < 2 * found.size)
        throw new SetupError(`${work}: the rows of the dump need ${2 * found.size} bytes, and ${free} are free`);
      const reader = new DumpReader(path, rows);
      await reader.read();
      return new Dump(path, rows, reader);
    } catch (thrown) {
      rows.close();
      throw thrown instanceof SetupError ? thrown : new SetupError(`${path}: cannot be read: ${messageOf(thrown)}`);
    }
  }

  private constructor(path: string, rows: WorkRows, { catalogue, copied }: DumpReader) {
    this.path = path;
    this.rows = rows;
    this.catalogue = catalogue;
    this.copied = copied;
  }

  get size(): number {
    return statSync(this.path).size;
  }
}

class DumpReader {
  readonly catalogue = new Catalogue();
  readonly copied = new Map<string, CopiedTable>();
  readonly #path: string;
  readonly #rows: WorkRows;
  #line = 0;
  #statement = "";
  /** The quote that the statement has left open. */
  #open: string | null = null;
  /** The table whose rows follow; without a table, the rows are skipped. */
  #copy: { name: string; table: CopiedTable | null; columns: number } | null = null;
  #isWhole = false;

  constructor(path: string, rows: WorkRows) {
    this.#path = path;
    this.#rows = rows;
  }

  async read(): Promise<void> {
    for await (const lines of linesOf(this.#path)) for (const line of lines) this.#take(line);
    if (this.#copy !== null) throw this.#error(`the dump is cut in the rows of ${this.#copy.name}; dump again`);
    if (!this.#isWhole)
      throw this.#error(
        'the dump is cut: the last line, "-- PostgreSQL database dump complete", is missing; dump again',
      );
    if (!this.copied.has("auth.users")) throw this.#error(`has no rows of auth.users. Dump so: ${how}`);
    const keys = new Map<number, readonly number[]>();
    for (const { id, table, columns } of this.copied.values())
      if (table.key.length > 0)
        keys.set(
          id,
          table.key.map((name) => columns.indexOf(name)),
        );
    this.#rows.end(keys);
  }

  #error(text: string): SetupError {
    return new SetupError(`${this.#path}: line ${this.#line}: ${text}`);
  }

  #take(line: string): void {
    this.#line += 1;
    if (this.#copy !== null) this.#takeRow(line);
    else if (this.#statement !== "") this.#takePart(line);
    else if (line === "-- PostgreSQL database dump complete") this.#isWhole = true;
    else if (line.startsWith("COPY ") && line.endsWith(" FROM stdin;")) this.#begin(line);
    else if (line !== "" && !line.startsWith("--") && !line.startsWith("\\")) this.#takePart(line);
  }

  #takePart(line: string): void {
    this.#statement += `${line}\n`;
    this.#open = openAfter(line, this.#open);
    if (this.#open !== null || !line.endsWith(";")) return;
    const statement = this.#statement.trimEnd();
    this.#statement = "";
    if (/^INSERT\sINTO /.test(statement))
      throw this.#error("has rows as INSERT; dump without --inserts and --column-inserts");
    if (/^SET client_encoding = '(?!UTF-?8')/i.test(statement)) throw this.#error("dump with --encoding UTF8");
    try {
      this.catalogue.take(statement);
    } catch (thrown) {
      throw this.#error(`${statement.slice(0, 60).replace(/\s+/g, " ")} …: ${messageOf(thrown)}`);
    }
  }

  #begin(line: string): void {
    const [, named = "", list = ""] = /^COPY (.+?) \((.*)\) FROM stdin;$/.exec(line) ?? [];
    const columns = [...list.matchAll(/"((?:[^"]|"")*)"|[^\s,]+/g)].map(([all, quoted]) => quoted ?? all);
    const name = named.replaceAll('"', "");
    const table = this.catalogue.tables.get(name);
    if (isRead(name) && table === undefined)
      throw this.#error(`has rows of ${name} and no definition of the table. Dump so: ${how}`);
    const copied = isRead(name) && table !== undefined ? { id: this.copied.size, table, columns } : null;
    if (copied !== null) this.copied.set(name, copied);
    this.#copy = { name, table: copied, columns: columns.length };
  }

  #takeRow(line: string): void {
    if (line === "\\.") this.#copy = null;
    else if (this.#copy?.table) {
      const cells = cellsOf(line, this.#copy.columns);
      if (cells === null)
        throw this.#error(
          `a row of ${this.#copy.name} has not ${this.#copy.columns} values: the dump is cut or damaged; dump again`,
        );
      // The dashboard of Supabase keeps empty folders by files of this name.
      const isPlaceholder =
        this.#copy.name === "storage.objects" && cells.some((cell) => cell?.endsWith("/.emptyFolderPlaceholder"));
      if (!isPlaceholder) this.#rows.add(this.#copy.table.id, cells);
    }
  }
}

const escapes: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };

/** The cells of a line of COPY, as text or null; null for a line with another number of cells. */
export function cellsOf(line: string, columns: number): Cells | null {
  const cells = columns === 0 ? [] : line.split("\t");
  if (cells.length !== columns) return null;
  return cells.map((cell) => {
    if (cell === "\\N") return null;
    return cell.includes("\\") ? cell.replace(/\\(.)/gs, (_, sign: string) => escapes[sign] ?? sign) : cell;
  });
}

/** The quote that is open after a line of a statement: `'`, `"` or the tag of a text in dollars. */
export function openAfter(line: string, before: string | null): string | null {
  const opening = /--|['"]|\$(?:[A-Za-z_]\w*)?\$/g;
  let open = before;
  for (let at = 0; ; ) {
    if (open === null) {
      opening.lastIndex = at;
      const found = opening.exec(line);
      if (found === null || found[0] === "--") return null;
      [open] = found;
      at = opening.lastIndex;
    }
    const end = line.indexOf(open, at);
    if (end === -1) return open;
    at = end + open.length;
    open = null;
  }
}

/** The lines of a file in UTF-8, in groups. */
async function* linesOf(path: string): AsyncGenerator<string[]> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  for await (const piece of Bun.file(path).stream()) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  }
  rest += decoder.decode();
  if (rest !== "") yield [rest];
}
