import { AppError, messageOf } from "../../kernel/index.ts";
import type { QueryParameters } from "../store.ts";
import type { Connection } from "./connection.ts";
import { hasMetDamage } from "./errors.ts";
import { openReader } from "./open-file.ts";

/** What one query may answer; more is an error that asks for a LIMIT. */
const maxRows = 100_000;
const maxBytes = 16 * 1024 * 1024;
/** What a query may need on its way, for sorting or for values that it makes. */
const maxHeap = 256 * 1024 * 1024;

/** Tables of the service that queries may read; of `_users`, through the view `users`, all but the password's hash. */
const openTables = new Set(["_users", "_files", "_events"]);

interface Opcode {
  opcode: string;
  p1: number;
  p2: number;
  p3: number;
}

/**
 * SQL that somebody wrote by hand: read-only, and blind to secrets. What a statement reads is taken from SQLite's own
 * program for it, not from its text. Such a query can take for ever, so this runs in a process that can be ended.
 */
export class UserQueries {
  readonly #connection: Connection;

  /** @param path of a database that is open elsewhere. */
  constructor(path: string) {
    this.#connection = openReader(path);
    this.#connection.execute(`PRAGMA hard_heap_limit = ${maxHeap}`);
    this.#connection.execute("CREATE TEMP VIEW users AS SELECT id, email, role, createdAt FROM main._users");
  }

  /**
   * The rows of a SELECT, as JSON.
   * @throws AppError `bad_request` for SQL that is wrong, does something else than reading, or answers too much.
   */
  run(sql: string, parameters: QueryParameters): string {
    try {
      this.#check(sql);
      return this.#rows(sql, parameters);
    } catch (thrown) {
      if (thrown instanceof AppError) throw thrown;
      if (hasMetDamage(thrown)) throw new AppError("internal_error", `db.query: ${messageOf(thrown)}`);
      throw new AppError("bad_request", `db.query: ${messageOf(thrown)}`);
    }
  }

  #rows(sql: string, parameters: QueryParameters): string {
    const rows: string[] = [];
    let bytes = 0;
    for (const row of this.#connection.iterate(sql, parameters)) {
      const text = JSON.stringify(row);
      bytes += text.length;
      if (rows.length >= maxRows || bytes > maxBytes)
        throw new AppError(
          "bad_request",
          `db.query: it answers more than ${maxRows} rows or ${maxBytes / 1024 ** 2} MiB; use a LIMIT.`,
        );
      rows.push(text);
    }
    return `[${rows.join(",")}]`;
  }

  #check(sql: string): void {
    const first = /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*([a-z]+)/i.exec(sql)?.[1]?.toLowerCase() ?? "";
    if (!["select", "with", "values"].includes(first))
      throw new AppError("bad_request", "db.query only reads: the SQL must start with SELECT, WITH or VALUES.");
    const tables = this.#tablesByRoot();
    const hashColumn = this.#hashColumn();
    const users = new Set<number>();
    for (const { opcode, p1, p2, p3 } of this.#connection.iterate<Opcode>(`EXPLAIN ${sql}`, [])) {
      // Database 0 is the file; others hold what the query makes for itself.
      if (opcode === "OpenRead" && p3 === 0) {
        const table = tables.get(p2) ?? "sqlite_schema";
        if (table === "_users") users.add(p1);
        if (isInternal(table) && !openTables.has(table))
          throw new AppError("bad_request", `db.query: the table "${table}" is the service's own.`);
      }
      if (users.has(p1) && ((opcode === "Column" && p2 === hashColumn) || opcode === "RowData"))
        throw new AppError("bad_request", "db.query: passwords are not readable; use the table users.");
    }
  }

  /** SQLite's programs name a table or index by the page that it starts on. */
  #tablesByRoot(): Map<number, string> {
    const rows = this.#connection.all<{ rootpage: number; tbl_name: string }>(
      "SELECT rootpage, tbl_name FROM sqlite_schema WHERE rootpage > 0",
    );
    return new Map(rows.map((row) => [row.rootpage, row.tbl_name]));
  }

  #hashColumn(): number {
    const columns = this.#connection.all<{ cid: number; name: string }>("PRAGMA main.table_info(_users)");
    return columns.find(({ name }) => name === "passwordHash")?.cid ?? -1;
  }
}

function isInternal(table: string): boolean {
  // A collection whose name starts with sqlite_ lives in a table with an underscore before it.
  return table.startsWith("_") && !table.toLowerCase().startsWith("_sqlite_");
}
