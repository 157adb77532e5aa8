/** Queries of user code: hand-written SQL, read-only and blind to secrets, on a separate connection. */
import { AppError, BoundedMap, messageOf, oneOf } from "../../../base/kernel/index.ts";
import { identifier, literal, type QueryParameters, type QueryTable } from "../store.ts";
import { Connection } from "./connection.ts";
import { hasMetDamage } from "./errors.ts";

/** Bounds of a query's answer; a larger answer is an error that asks for a LIMIT. */
const maxRows = 100_000;
const maxBytes = 16 * 1024 * 1024;
/** Bytes of the rows that are shown to a person, about. */
const maxShown = 1024 * 1024;

/** Checked statements in memory, and the longest of them in characters. */
const maxTexts = 500;
const maxText = 10_000;

/** Functions whose value changes by itself, as the program of a statement names them. */
const changingFunction =
  /^(?:date|time|datetime|julianday|unixepoch|strftime|timediff|random|randomblob|current_[a-z]+)\(/i;

/** A text or a name in quotes, or a comment. */
export const quotedOrComment = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\//g;

/** The reason why a text is no single statement that only reads; null for a single statement that only reads. @param words that may begin the statement. */
export function singleSelectProblem(sql: string, words: readonly string[]): string | null {
  const first = /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*([a-z]+)/i.exec(sql)?.[1]?.toLowerCase() ?? "";
  if (!words.includes(first))
    return `the SQL only reads: it must start with ${oneOf(words.map((each) => each.toUpperCase()))}`;
  const plain = sql.replace(quotedOrComment, " ");
  // SQLite would run only the first statement, without an error.
  if (/;\s*\S/.test(plain)) return "a single statement is allowed: text follows the semicolon";
  const change = /\b(?:(?:insert|replace)\s+(?:or\s+\w+\s+)?into|delete\s+from|update\s+\S+\s+set)\b/i.exec(plain)?.[0];
  return change === undefined ? null : `the SQL only reads: ${change.split(/\s/, 1)[0]?.toUpperCase()} is refused`;
}

/** A step of SQLite's plan of a statement. */
interface PlanStep {
  readonly id: number;
  /** The id of the step around; 0 for none. */
  readonly parent: number;
  readonly detail: string;
}

export interface ShownQuery {
  readonly columns: readonly string[];
  /** JSON of the rows, as objects. */
  readonly rows: string;
  /** Whether rows are left out. */
  readonly isCut: boolean;
  readonly plan: readonly PlanStep[];
}

/** Errors of SQLite become errors for the author of the SQL. @throws AppError. */
function explained<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown;
    if (hasMetDamage(thrown)) throw new AppError("internal_error", `db.query: ${messageOf(thrown)}`);
    throw new AppError("bad_request", `db.query: ${messageOf(thrown)}`);
  }
}

interface Opcode {
  opcode: string;
  p1: number;
  p2: number;
  p3: number;
  p4: unknown;
}

/** A table or an index. */
interface Root {
  readonly type: string;
  readonly name: string;
  readonly tbl_name: string;
}

const schemaRoot: Root = { type: "table", name: "sqlite_schema", tbl_name: "sqlite_schema" };

/**
 * SQLite's own program for a statement, not the text of the statement, tells which tables and columns the statement
 * reads. A query can run for ever, so `UserQueries` runs in a process that can be ended.
 */
export class UserQueries {
  readonly #connection: Connection;
  readonly #tables: readonly QueryTable[];
  /** The names of the temporary views. */
  #views: readonly string[] = [];
  /** The tables of statements that were checked, by text. */
  #texts = new BoundedMap<string, readonly string[]>(maxTexts);
  #schema = 0;

  /**
   * @param path of a database that is open in another connection.
   * @param tables the service's tables that queries may read.
   */
  constructor(path: string, tables: readonly QueryTable[]) {
    this.#tables = tables;
    this.#connection = new Connection(path, { readonly: true });
    this.alias([]);
  }

  /**
   * Makes the aliases of these tables available to queries, in place of the former aliases. A table takes the place of a
   * view of the same name.
   */
  alias(tables: readonly QueryTable[]): void {
    for (const name of this.#views) this.#connection.execute(`DROP VIEW temp.${identifier(name)}`);
    this.#texts = new BoundedMap(maxTexts);
    const views = new Map<string, string>();
    for (const { table, view } of this.#tables)
      if (view !== undefined) views.set(view.name, selectOf(table, view.columns.map(identifier)));
    for (const { table, aliases = {} } of tables) {
      const names = Object.entries(aliases).map(([name, column]) => `${identifier(column)} AS ${identifier(name)}`);
      views.set(table, selectOf(table, ["*", ...names]));
    }
    // A temporary view takes precedence over a table of the same name.
    for (const [name, select] of views) this.#connection.execute(`CREATE TEMP VIEW ${identifier(name)} AS ${select}`);
    this.#views = [...views.keys()];
  }

  /**
   * The rows of a SELECT, as JSON, and the tables that the statement reads: an empty name for a virtual table, the time and chance.
   * @throws AppError `bad_request` for SQL that is wrong, does more than read, or answers too much.
   */
  run(sql: string, parameters: QueryParameters): { rows: string; tables: readonly string[] } {
    return explained(() => {
      const tables = this.#checked(sql);
      const { rows, isCut } = this.#rows(sql, parameters, { maxRows, maxBytes });
      if (isCut)
        throw new AppError(
          "bad_request",
          `db.query: the result has more than ${maxRows} rows or ${maxBytes / 1024 ** 2} MiB; use a LIMIT.`,
        );
      return { rows: `[${rows.join(",")}]`, tables };
    });
  }

  /**
   * The plan of a SELECT, and the first rows, for a person. @param limit of the rows; 0 for the plan alone.
   * @throws AppError `bad_request` as `run`, and for two columns of one name.
   */
  show(sql: string, limit: number): ShownQuery {
    return explained(() => {
      this.#checked(sql);
      const plan = this.#connection.all<PlanStep>(`EXPLAIN QUERY PLAN ${sql}`);
      const columns = this.#connection.columnsOf(sql);
      const twice = columns.find((name, at) => columns.indexOf(name) < at);
      if (twice !== undefined)
        throw new AppError("bad_request", `Two columns are named "${twice}": name the columns with AS.`);
      const steps = plan.map(({ id, parent, detail }) => ({ id, parent, detail }));
      const { rows, isCut } = this.#rows(sql, [], { maxRows: limit, maxBytes: maxShown });
      return { columns, rows: `[${rows.join(",")}]`, isCut: limit > 0 && isCut, plan: steps };
    });
  }

  /** The rows within bounds, each as JSON, and whether rows are left out. Blobs are hexadecimal. */
  #rows(
    sql: string,
    parameters: QueryParameters,
    bounds: { maxRows: number; maxBytes: number },
  ): { rows: string[]; isCut: boolean } {
    const rows: string[] = [];
    let bytes = 0;
    if (bounds.maxRows === 0) return { rows, isCut: true };
    for (const row of this.#connection.iterate<Record<string, unknown>>(sql, parameters)) {
      // A value can have a gigabyte, whose JSON would take many times the memory.
      if (rows.length >= bounds.maxRows || bytes + sizeOf(row) > bounds.maxBytes) return { rows, isCut: true };
      for (const [name, value] of Object.entries(row))
        if (value instanceof Uint8Array) row[name] = Buffer.from(value).toString("hex");
      const text = JSON.stringify(row);
      bytes += text.length;
      if (bytes > bounds.maxBytes) return { rows, isCut: true };
      rows.push(text);
    }
    return { rows, isCut: false };
  }

  /** The tables of a statement that may run. The check of a statement holds until the schema changes. */
  #checked(sql: string): readonly string[] {
    const schema = this.#connection.get<{ schema_version: number }>("PRAGMA schema_version")?.schema_version ?? 0;
    if (schema !== this.#schema) this.#texts = new BoundedMap(maxTexts);
    this.#schema = schema;
    return this.#texts.use(sql) ?? this.#check(sql);
  }

  /** @returns the names of the tables that the statement reads. @throws AppError `bad_request`. */
  #check(sql: string): readonly string[] {
    const problem = singleSelectProblem(sql, ["select", "with", "values"]);
    if (problem !== null) throw new AppError("bad_request", `db.query: ${problem}.`);
    const roots = this.#roots();
    const tables = new Set<string>();
    /** The readable columns, by cursor of the program. */
    const restricted = new Map<number, { view: string; positions: ReadonlySet<number> }>();
    for (const { opcode, p1, p2, p3, p4 } of this.#connection.iterate<Opcode>(`EXPLAIN ${sql}`, [])) {
      if (opcode === "VOpen") this.#refuseOwnVirtual(sql);
      // The answer may change though no table changes, or the table has no name in the program.
      if (opcode === "VOpen" || (typeof p4 === "string" && changingFunction.test(p4))) tables.add("");
      // Database 0 is the file; the others hold the query's temporary data.
      if (opcode === "OpenRead" && p3 === 0) {
        const root = roots.get(p2) ?? schemaRoot;
        tables.add(root.tbl_name);
        const open = this.#tables.find(({ table }) => table === root.tbl_name);
        if (isInternal(root.tbl_name) && open === undefined)
          throw new AppError("bad_request", `db.query: the table "${root.tbl_name}" is the service's own.`);
        if (open?.view !== undefined && !restricted.has(p1))
          restricted.set(p1, { view: open.view.name, positions: this.#readable(root, open.view.columns) });
      }
      const cursor = restricted.get(p1);
      if (cursor === undefined) continue;
      if ((opcode === "Column" && !cursor.positions.has(p2)) || opcode === "RowData")
        throw new AppError("bad_request", `db.query: not every column of this table is readable; use ${cursor.view}.`);
    }
    const names = [...tables];
    if (sql.length <= maxText) this.#texts.set(sql, names);
    return names;
  }

  /** Refuses the service's virtual tables, which the program of a statement does not name. */
  #refuseOwnVirtual(sql: string): void {
    const text = sql.toLowerCase();
    const virtual = this.#connection.all<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage = 0",
    );
    const own = virtual.find(({ name }) => isInternal(name) && text.includes(name.toLowerCase()));
    if (own !== undefined) throw new AppError("bad_request", `db.query: the table "${own.name}" is the service's own.`);
  }

  /** The tables and indexes by their first page, which identifies a table or an index in SQLite's programs. */
  #roots(): Map<number, Root> {
    const rows = this.#connection.all<Root & { rootpage: number }>(
      "SELECT rootpage, type, name, tbl_name FROM sqlite_schema WHERE rootpage > 0",
    );
    return new Map(rows.map((row) => [row.rootpage, row]));
  }

  /** The positions of some columns in the rows of their table, or in the entries of an index. */
  #readable({ type, name, tbl_name }: Root, columns: readonly string[]): ReadonlySet<number> {
    // Pragmas as statements: a collection of the same name would hide the table-valued form.
    const rows =
      type === "table"
        ? this.#connection
            .all<{ cid: number; name: string | null }>(`PRAGMA main.table_info(${literal(tbl_name)})`)
            .map((row) => ({ name: row.name, position: row.cid }))
        : this.#connection
            .all<{ seqno: number; name: string | null }>(`PRAGMA main.index_xinfo(${literal(name)})`)
            .map((row) => ({ name: row.name, position: row.seqno }));
    // An index entry ends with the row's number, which has no name in the index.
    const isReadable = (column: string | null): boolean => column === null || columns.includes(column);
    return new Set(rows.filter((row) => isReadable(row.name)).map(({ position }) => position));
  }
}

/** The bytes of the texts and blobs of a row, about. */
function sizeOf(row: object): number {
  const sizes = Object.values(row).map((value) =>
    value instanceof Uint8Array ? 2 * value.length : String(value).length,
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

function selectOf(table: string, columns: readonly string[]): string {
  return `SELECT ${columns.join(", ")} FROM main.${identifier(table)}`;
}

function isInternal(table: string): boolean {
  // A collection with a name that SQLite reserves is stored in a table with an underscore before the name.
  return table.startsWith("_") && !/^_(sqlite_|json_each$)/i.test(table);
}
