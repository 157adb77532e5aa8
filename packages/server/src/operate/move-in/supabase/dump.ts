/** A plain dump of PostgreSQL: the statements go into a catalogue, the rows into a work file. */
import { statSync } from "node:fs";
import { freeBytes, messageOf, SetupError } from "../../../base/kernel/index.ts";
import { type Cells, WorkRows } from "../sql/work-rows.ts";
import { Catalogue, type SqlTable } from "./catalogue.ts";
import { computed, endOfText, insertOf, namesIn, rowsIn } from "./inserts.ts";
import { SqlError } from "./tokens.ts";

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
  readonly hasRows: boolean;
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
      // A text of an INSERT may have ends of lines of its own.
      await reader.read(/^.*\r\n/.test(head) ? "\r\n" : "\n");
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
  /** The table whose rows of COPY follow; without a table, the rows are skipped. */
  #copy: { name: string; table: CopiedTable | null } | null = null;
  #isWhole = false;

  constructor(path: string, rows: WorkRows) {
    this.#path = path;
    this.#rows = rows;
  }

  /** @param end of the lines. */
  async read(end: string): Promise<void> {
    for await (const lines of linesOf(this.#path, end)) for (const line of lines) this.#take(line);
    const [, inserted] = /^INSERT\sINTO (\S+)/.exec(this.#statement) ?? [];
    const cutIn = this.#copy?.name ?? inserted;
    if (cutIn !== undefined) throw this.#error(`the dump is cut in the rows of ${cutIn}; dump again`);
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
    else if (line.startsWith("-- Data for Name: ")) this.#announce(line);
    else if (line !== "" && !line.startsWith("--") && !line.startsWith("\\")) this.#takePart(line);
  }

  #takePart(line: string): void {
    if (this.#open === null && line.startsWith("--")) return;
    this.#statement += `${line}\n`;
    this.#open = openAfter(line, this.#open);
    if (this.#open !== null) return;
    const isInsert = /^INSERT\sINTO /.test(this.#statement);
    // A statement may have rows without end: each row is taken at its end.
    if (!line.endsWith(";") && !(isInsert && line.endsWith("),"))) return;
    const statement = this.#statement.trimEnd();
    this.#statement = isInsert ? this.#takeInsert(statement) : "";
    if (isInsert) return;
    if (statement.startsWith("SET standard_conforming_strings = off"))
      throw this.#error("dump with standard_conforming_strings = on");
    if (/^SET client_encoding = '(?!UTF-?8')/i.test(statement)) throw this.#error("dump with --encoding UTF8");
    try {
      this.catalogue.take(statement);
    } catch (thrown) {
      throw this.#error(`${statement.slice(0, 60).replace(/\s+/g, " ")} …: ${messageOf(thrown)}`);
    }
  }

  /** Takes the line over the rows of a table, which pg_dump writes also for a table without rows. */
  #announce(line: string): void {
    const [, name = "", schema = ""] =
      /^-- Data for Name: (.+); Type: TABLE DATA; Schema: (.+); Owner: /.exec(line) ?? [];
    const table = this.catalogue.tables.get(`${schema}.${name}`);
    if (table === undefined || !isRead(table.name) || this.copied.has(table.name)) return;
    const columns = table.columns.filter(({ isGenerated }) => !isGenerated).map((column) => column.name);
    this.copied.set(table.name, { id: this.copied.size, table, columns, hasRows: false });
  }

  /** The table of rows; null for a table that is not read. */
  #tableOf(name: string, columnsOf: (table: SqlTable) => readonly string[]): CopiedTable | null {
    if (!isRead(name)) return null;
    const table = this.catalogue.tables.get(name);
    if (table === undefined) throw this.#error(`has rows of ${name} and no definition of the table. Dump so: ${how}`);
    const before = this.copied.get(name);
    const columns = columnsOf(table);
    if (before?.hasRows === true && before.columns.join() !== columns.join())
      throw this.#error(`has rows of ${name} with other columns than before; dump again`);
    const copied = { id: before?.id ?? this.copied.size, table, columns, hasRows: true };
    this.copied.set(name, copied);
    return copied;
  }

  #begin(line: string): void {
    const [, named = "", list = ""] = /^COPY (.+?) \((.*)\) FROM stdin;$/.exec(line) ?? [];
    const name = named.replaceAll('"', "");
    this.#copy = { name, table: this.#tableOf(name, () => namesIn(list)) };
  }

  #takeRow(line: string): void {
    if (line === "\\.") this.#copy = null;
    else if (this.#copy?.table) this.#add(this.#copy.table, cellsOf(line, this.#copy.table.columns.length));
  }

  /** Takes the rows of an INSERT. Answers the head of the statement if more rows follow. */
  #takeInsert(statement: string): string {
    try {
      const { head, name, columns } = insertOf(statement);
      for (const row of isRead(name) ? rowsIn(statement, head.length) : []) {
        const isGiven = (_: unknown, i: number): boolean => row[i] !== computed;
        const table = this.#tableOf(name, (table) => (columns ?? namesOf(table)).filter(isGiven));
        const cells = row.filter((cell) => cell !== computed);
        if (table !== null) this.#add(table, cells.length === table.columns.length ? cells : null);
      }
      return statement.endsWith(";") ? "" : `${head}\n`;
    } catch (thrown) {
      if (!(thrown instanceof SqlError)) throw thrown;
      throw this.#error(`the dump is cut or damaged: ${thrown.message}; dump again`);
    }
  }

  /** @param cells null for a row with another number of cells. */
  #add({ id, table: { name }, columns }: CopiedTable, cells: Cells | null): void {
    if (cells === null)
      throw this.#error(`a row of ${name} has not ${columns.length} values: the dump is cut or damaged; dump again`);
    // The dashboard of Supabase keeps empty folders by files of this name.
    const isPlaceholder =
      name === "storage.objects" && cells.some((cell) => cell?.endsWith("/.emptyFolderPlaceholder"));
    if (!isPlaceholder) this.#rows.add(id, cells);
  }
}

function namesOf({ columns }: SqlTable): string[] {
  return columns.map(({ name }) => name);
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

/** The place behind the end of a quote; -1 without an end. */
function behind(line: string, at: number, open: string): number {
  if (open === "E'") return endOfText(line, at, "E");
  const end = line.indexOf(open, at);
  return end === -1 ? -1 : end + open.length;
}

/** The quote that is open after a line of a statement: `'`, `E'`, `"` or the tag of a text in dollars. */
export function openAfter(line: string, before: string | null): string | null {
  const opening = /--|\bE'|['"]|\$(?:[A-Za-z_]\w*)?\$/g;
  let open = before;
  for (let at = 0; ; ) {
    if (open === null) {
      opening.lastIndex = at;
      const found = opening.exec(line);
      if (found === null || found[0] === "--") return null;
      [open] = found;
      at = opening.lastIndex;
    }
    at = behind(line, at, open);
    if (at === -1) return open;
    open = null;
  }
}

/** The lines of a file in UTF-8, in groups. */
async function* linesOf(path: string, end: string): AsyncGenerator<string[]> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  for await (const piece of Bun.file(path).stream()) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split(end);
    rest = lines.pop() ?? "";
    yield lines;
  }
  rest += decoder.decode();
  if (rest !== "") yield [rest];
}
