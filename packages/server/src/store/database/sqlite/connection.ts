/** Connection: a SQLite connection with its prepared statements. Only this folder uses `Connection`. */
import { Database as Driver, SQLiteError, type Statement } from "bun:sqlite";
import { dirname } from "node:path";
import { literal, type QueryParameters, type Reader, type Value } from "../store.ts";
import { damageOf, SqliteFailure } from "./damage.ts";

/** More than enough for all statements of hundreds of collections, but still a bound. */
const maxStatements = 4_000;
/** A prepared statement takes memory with its text, and many filters make texts that never occur again. */
const maxCharacters = 1_000_000;

let hasTemporaryFolder = false;

/**
 * Puts SQLite's temporary files (large sorts, new indexes) beside the database: a container may have no /tmp. The setting
 * belongs to the process, and no thread may read the setting during a change. So only the process's first connection sets the folder.
 */
function placeTemporaryFiles(driver: Driver, path: string): void {
  if (hasTemporaryFolder || !Bun.isMainThread) return;
  hasTemporaryFolder = true;
  try {
    driver.run(`PRAGMA temp_store_directory = ${literal(dirname(path))}`);
  } catch {
    // The folder is not writable, for example for a read-only copy: SQLite then chooses the place of the temporary files.
  }
}

type Binding = Value | { [name: string]: Value };
type AnyStatement = Statement<unknown, Binding[]>;

export class Connection implements Reader {
  readonly #path: string;
  readonly #driver: Driver;
  readonly #statements = new Map<string, AnyStatement>();
  #characters = 0;

  constructor(path: string, options: { readonly: boolean }) {
    this.#path = path;
    this.#driver = options.readonly
      ? new Driver(path, { readonly: true, strict: true })
      : new Driver(path, { readwrite: true, create: true });
    placeTemporaryFiles(this.#driver, path);
  }

  get inTransaction(): boolean {
    return this.#driver.inTransaction;
  }

  get<T>(sql: string, ...values: Value[]): T | null {
    // Each method has its own `try`: a closure for each statement would cost as much as a short statement.
    try {
      // The author of the SQL text names the shape of its rows.
      return this.#prepare(sql).get(...values) as T | null;
    } catch (thrown) {
      throw this.#explained(thrown, sql);
    }
  }

  all<T>(sql: string, ...values: Value[]): T[] {
    // Bun's `all` leaves an EXPLAIN running and so keeps its snapshot open: the connection would see no newer
    // commits.
    if (sql.startsWith("EXPLAIN ")) return [...this.iterate<T>(sql, values)];
    try {
      return this.#prepare(sql).all(...values) as T[];
    } catch (thrown) {
      throw this.#explained(thrown, sql);
    }
  }

  some<T>({ sql, values }: { sql: string; values: readonly Value[] }, isLast: (row: T) => boolean): T[] {
    const rows: T[] = [];
    try {
      for (const row of this.#prepare(sql).iterate(...values) as IterableIterator<T>) {
        rows.push(row);
        if (isLast(row)) break;
      }
    } catch (thrown) {
      throw this.#explained(thrown, sql);
    }
    return rows;
  }

  /** Iterates over the rows. `parameters` are values for `?`, or by name for `:name`. */
  *iterate<T>(sql: string, parameters: QueryParameters): IterableIterator<T> {
    const bindings: Binding[] = isList(parameters) ? [...parameters] : [{ ...parameters }];
    try {
      yield* this.#prepare(sql).iterate(...bindings) as IterableIterator<T>;
    } catch (thrown) {
      throw this.#explained(thrown, sql);
    }
  }

  run(sql: string, ...values: Value[]): number {
    try {
      return this.#prepare(sql).run(...values).changes;
    } catch (thrown) {
      throw this.#explained(thrown, sql);
    }
  }

  /** For statements that run once: pragmas, DDL. */
  execute(sql: string): void {
    try {
      this.#driver.run(sql);
    } catch (thrown) {
      throw this.#explained(thrown, sql);
    }
  }

  /** Adds a function with as many arguments as `work` has parameters. An error of `work` becomes an error of the statement. */
  define(name: string, work: (...values: Value[]) => Value): void {
    this.#driver.function(name, work);
  }

  close(): void {
    this.#forgetStatements();
    this.#driver.close();
  }

  /** The error of a statement; an error about damage names the file, the tables, and the next step. */
  #explained(thrown: unknown, sql: string): unknown {
    if (!(thrown instanceof SQLiteError)) return thrown;
    return damageOf(thrown, { path: this.#path, sql }) ?? thrown;
  }

  #prepare(sql: string): AnyStatement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      if (this.#statements.size >= maxStatements || this.#characters > maxCharacters) this.#forgetStatements();
      statement = this.#driver.prepare<unknown, Binding[]>(sql);
      this.#statements.set(sql, statement);
      this.#characters += sql.length;
    }
    return statement;
  }

  #forgetStatements(): void {
    for (const statement of this.#statements.values()) statement.finalize();
    this.#statements.clear();
    this.#characters = 0;
  }
}

/** SQLite's extended result code, for example `SQLITE_CONSTRAINT_UNIQUE`; null for any other error. */
export function sqliteCode(thrown: unknown): string | null {
  if (thrown instanceof SqliteFailure) return thrown.code;
  return thrown instanceof SQLiteError ? (thrown.code ?? "SQLITE_ERROR") : null;
}

function isList(parameters: QueryParameters): parameters is readonly Value[] {
  return Array.isArray(parameters);
}
