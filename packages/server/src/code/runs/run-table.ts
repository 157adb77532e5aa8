/**
 * The shape of a table of runs, and the statements on the table. Each run that is not over, or has failed for good, is a row:
 *
 *     id         INTEGER PRIMARY KEY
 *     handler    the number of the handler in `_handlers`
 *     failures   attempts that have failed
 *     notBefore  the time of the next attempt, in milliseconds since 1970; 0 for at once
 *     failedAt   the time at which the last attempt failed; null for a run that waits or is under way
 *     error      the reason, with failedAt
 *
 * A row is written before the first attempt and removed when the run has completed. A run that is under way
 * is known as running in memory alone: after a crash the run waits, and is made again. Each kind of run adds columns
 * for the subject of the runs.
 *
 * Kinds with a queue of a different nature have a separate table: `_deliveries` is written in the transaction of
 * each change and read in the order of commits, `_job_queue` by the clock. A common table costs more than the saving:
 * with the columns and indexes that runs by the clock need, a delivery takes 3.6 µs to insert and delete instead of
 * 2.2, and counting a million that wait 11 ms instead of 0.5.
 */
import { AppError } from "../../base/kernel/index.ts";
import type { Database, Reader, Transactor } from "../../store/database/index.ts";

/** A run that waits for another attempt. */
export interface Postponement {
  /** Attempts that have failed. */
  readonly failures: number;
  /** The time of the next attempt, in milliseconds since 1970. */
  readonly notBefore: number;
}

/** Failed runs that are kept. */
const maxFailed = 1_000;
/** Bytes of data and errors; the newest run is kept in any case. */
const maxFailedBytes = 64 * 1024 ** 2;
/** Bytes of new failures after which all are added up again. */
const recountBytes = 1024 ** 2;

/** The schema step of the table. The module functions, which had the table first, runs the step. */
export const handlerTable =
  "CREATE TABLE _handlers (id INTEGER PRIMARY KEY, path TEXT NOT NULL, handler TEXT NOT NULL, UNIQUE (path, handler)) STRICT";

/** A handler by file. */
export interface HandlerName {
  readonly path: string;
  /** The name of the export. */
  readonly handler: string;
}

/** The number of a handler, which stays for ever; a new handler gets a new number. */
function handlerNumber(tx: Transactor, { path, handler }: HandlerName): number {
  tx.run("INSERT OR IGNORE INTO _handlers (path, handler) VALUES (?, ?)", path, handler);
  const row = tx.get<{ id: number }>("SELECT id FROM _handlers WHERE path = ? AND handler = ?", path, handler);
  if (row === null) throw new Error(`${handler} of ${path} has no number`);
  return row.id;
}

/**
 * Gives the runs of the files of a folder to the files of the same names in another folder.
 * @param table the name of a table of runs. @param folders both end with a slash.
 */
export function moveRuns(tx: Transactor, table: string, folders: { from: string; to: string }): void {
  const { from, to } = folders;
  const rest = from.length + 1;
  // A handler of the new folder may have a number already.
  tx.run(
    `UPDATE ${table} SET handler = twin.id
     FROM _handlers AS former JOIN _handlers AS twin ON twin.path = ? || substr(former.path, ?) AND twin.handler = former.handler
     WHERE ${table}.handler = former.id AND substr(former.path, 1, ?) = ?`,
    to,
    rest,
    from.length,
    from,
  );
  const rename = "UPDATE OR IGNORE _handlers SET path = ? || substr(path, ?) WHERE substr(path, 1, ?) = ?";
  tx.run(rename, to, rest, from.length, from);
}

/** The columns of a run that every kind has. */
export interface RunHead extends HandlerName, Postponement {
  readonly id: number;
}

/** A run by row; null for a run by hand that has no row. */
export interface RunRow {
  readonly id: number | null;
}

/** A run that is not over, or has failed for good. Times are milliseconds since 1970. */
export interface OpenRun extends Postponement {
  readonly runId: string;
  /** The handler, as `path:handler`. */
  readonly name: string;
  /** The time from which the run waits. */
  readonly at: number;
  readonly isUnderWay: boolean;
  readonly failedAt: number | null;
  readonly error: string | null;
}

/** The runs that are meant by status; null for any. */
export interface StatusFilter {
  readonly status: string | null;
  /** The ids of the runs that are under way, which only the dispatcher knows. */
  readonly underWay: readonly number[];
}

/** The condition of a filter on runs that are not over, as SQL. @param column the column of ids. */
export function statusCondition(
  column: string,
  { status, underWay }: StatusFilter,
): { conditions: string[]; values: string[] } {
  if (status !== "running" && status !== "waiting") return { conditions: [], values: [] };
  const test = status === "running" ? "IN" : "NOT IN";
  return { conditions: [`${column} ${test} (SELECT value FROM json_each(?))`], values: [JSON.stringify(underWay)] };
}

/** Runs that have failed for good are kept for a look or a retry: the newest, bounded in number and bytes. */
export class RunTable<R extends RunRow = RunRow> {
  protected readonly database: Database;
  /** SQL: the table as `r`, with the names of handlers as `h`. */
  readonly source: string;
  /** SQL: the columns of a `RunHead`. */
  readonly headColumns = "r.id, h.path, h.handler, r.failures, r.notBefore";
  readonly #name: string;
  /** Kept, because a prepared statement is found by text. */
  readonly #postpone: string;
  readonly #remove: string;
  readonly #isOpen: string;
  readonly #bytes: string;
  /** Bytes of runs that have failed since all were added up. */
  #newBytes = Number.POSITIVE_INFINITY;
  /** The numbers of handlers in memory, by `path:handler`: runs are written with every change. */
  readonly #numbers = new Map<string, number>();

  /** @param bytes SQL: the bytes of a row. */
  constructor(database: Database, { name, bytes }: { name: string; bytes: string }) {
    this.database = database;
    this.#name = name;
    this.#bytes = bytes;
    this.#postpone = `UPDATE ${name} SET failures = ?, notBefore = ? WHERE id = ?`;
    this.#remove = `DELETE FROM ${name} WHERE id = ?`;
    this.#isOpen = `SELECT 1 AS n FROM ${name} WHERE id = ? AND failures = ? AND failedAt IS NULL`;
    this.source = `${name} AS r JOIN _handlers AS h ON h.id = r.handler`;
  }

  /** Gives each handler its number. To be called before a run of the handler is written. */
  async register(handlers: readonly HandlerName[]): Promise<void> {
    const numbers = await this.database.upkeep((tx) => handlers.map((each) => handlerNumber(tx, each)));
    // The numbers of earlier files stay: a change may still write runs of old handlers until the new files are in force.
    for (const [i, { path, handler }] of handlers.entries()) this.#numbers.set(`${path}:${handler}`, numbers[i] ?? 0);
  }

  /** The number of a handler, as `path:handler`; 0, which no handler has, for an unknown handler. */
  numberOf(name: string): number {
    return this.#numbers.get(name) ?? 0;
  }

  /** The id of the last row. Runs up to this id are on disk at a start. */
  lastId(): number {
    return this.database.reader.get<{ id: number | null }>(`SELECT max(id) AS id FROM ${this.#name}`)?.id ?? 0;
  }

  /** An attempt has failed, and a further attempt follows. */
  postpone(tx: Transactor, { id }: R, next: Postponement): void {
    tx.run(this.#postpone, next.failures, next.notBefore, id);
  }

  /** Whether no end of the attempt is written; true for a run without a row. */
  isOpen(tx: Transactor, { id, failures }: RunRow & Pick<Postponement, "failures">): boolean {
    return id === null || tx.get(this.#isOpen, id, failures) !== null;
  }

  /** The run is over. */
  remove(tx: Transactor, { id }: R): void {
    tx.run(this.#remove, id);
  }

  /** The last attempt has failed. The oldest failures beyond the bounds are removed. */
  fail(tx: Transactor, { id }: R, { at, error }: { at: number; error: string }): void {
    const name = this.#name;
    tx.run(`UPDATE ${name} SET failedAt = ?, error = ? WHERE id = ?`, at, error, id);
    tx.run(
      `DELETE FROM ${name} WHERE failedAt IS NOT NULL AND id IN (
         SELECT id FROM ${name} WHERE failedAt IS NOT NULL ORDER BY failedAt DESC, id DESC LIMIT -1 OFFSET ?)`,
      maxFailed,
    );
    this.#newBytes += tx.get<{ n: number }>(`SELECT ${this.#bytes} AS n FROM ${name} WHERE id = ?`, id)?.n ?? 0;
    const counted = this.#newBytes;
    if (counted < recountBytes) return;
    tx.run(
      `DELETE FROM ${name} WHERE id IN (
         SELECT id FROM (
           SELECT id, row_number() OVER newest AS position, sum(bytes) OVER newest AS bytes FROM (
             SELECT id, failedAt, ${this.#bytes} AS bytes FROM ${name} WHERE failedAt IS NOT NULL)
           WINDOW newest AS (ORDER BY failedAt DESC, id DESC ROWS UNBOUNDED PRECEDING))
         WHERE position > 1 AND bytes > ?)`,
      maxFailedBytes - recountBytes,
    );
    // After a rollback the table is as before, and the next failure adds up.
    tx.onDurable(() => {
      this.#newBytes = Number.isFinite(counted) ? this.#newBytes - counted : 0;
    });
  }

  /** A run that has failed waits again, with no failure. @throws AppError `bad_request` for a run that is not over. */
  reopen(tx: Transactor, { id, failedAt }: RunRow & { readonly failedAt: number | null }, notBefore: number): void {
    if (failedAt === null)
      throw new AppError("bad_request", "The run is not over: the run is under way, or waits for its turn.");
    tx.run(
      `UPDATE ${this.#name} SET failedAt = NULL, error = NULL, failures = 0, notBefore = ? WHERE id = ?`,
      notBefore,
      id,
    );
  }

  /** The times of the last failure of some runs; runs that have not failed are left out. */
  failedAt(ids: readonly number[]): Map<number, number> {
    const rows = this.database.reader.all<{ id: number; failedAt: number }>(
      `SELECT id, failedAt FROM ${this.#name} WHERE failedAt IS NOT NULL AND id IN (SELECT value FROM json_each(?))`,
      JSON.stringify(ids),
    );
    return new Map(rows.map(({ id, failedAt }) => [id, failedAt]));
  }

  /** How many of some runs wait or are under way, and how many have failed. @param values of a unique column. */
  states(
    reader: Reader,
    values: readonly (string | number)[],
    column: "id" | "runId" = "id",
  ): { open: number; failed: number } {
    const sql = `SELECT count(*) - count(failedAt) AS open, count(failedAt) AS failed FROM ${this.#name}
      WHERE ${column} IN (SELECT value FROM json_each(?))`;
    return reader.get<{ open: number; failed: number }>(sql, JSON.stringify(values)) ?? { open: 0, failed: 0 };
  }

  /** Runs that wait or are under way, and runs that have failed. */
  counts(): { open: number; failed: number } {
    // Without a condition, SQLite adds up the cell counts of the pages and reads no row.
    const row = this.database.reader.get<{ n: number; failed: number }>(
      `SELECT (SELECT count(*) FROM ${this.#name}) AS n,
         (SELECT count(*) FROM ${this.#name} WHERE failedAt IS NOT NULL) AS failed`,
    );
    return { open: (row?.n ?? 0) - (row?.failed ?? 0), failed: row?.failed ?? 0 };
  }

  /** Files with runs that wait or are under way, and how many. @param condition SQL: the runs that wait for a file. */
  waiting(condition = "r.failedAt IS NULL"): { path: string; waiting: number }[] {
    return this.database.reader.all(
      `SELECT h.path, count(*) AS waiting FROM ${this.source} WHERE ${condition} GROUP BY h.path`,
    );
  }
}
