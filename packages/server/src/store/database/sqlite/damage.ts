/** Damage: clear messages for SQLite's errors about an unreadable part of the database file. */

import { LastingFault } from "../../../base/kernel/index.ts";

/** An error of SQLite whose class was lost on the way from a thread, or in exchange for a clearer message. */
export class SqliteFailure extends LastingFault {
  override readonly name = "SQLiteError";
  /** SQLite's extended result code, or null. */
  readonly code: string | null;

  constructor(message: string, code: string | null, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }

  get isLasting(): boolean {
    return isDamage(this.code);
  }
}

const unreadable = /^SQLITE_(CORRUPT|NOTADB|IOERR_(READ|SHORT_READ|CORRUPTFS|DATA)$|IOERR$)/;
const tableNames = /\b(?:FROM|JOIN|INTO|UPDATE)\s+(?:"((?:[^"]|"")+)"|(\w+))/gi;
/** Advice for the owner of a damaged file. */
export const damageAdvice = "see what is damaged with socle verify, and restore a backup with socle restore";
/** The most tables in a message. */
const maxTables = 5;

/** Whether a code of SQLite means that the file, or a part of the file, cannot be read. */
export function isDamage(code: string | null): boolean {
  return code !== null && unreadable.test(code);
}

/** The tables that a statement names. */
function tablesOf(sql: string): string[] {
  const names = new Set<string>();
  for (const [, quoted, plain] of sql.matchAll(tableNames)) names.add(quoted?.replaceAll('""', '"') ?? plain ?? "");
  return [...names].slice(0, maxTables);
}

/**
 * The error for a statement that has met damage. The error names the file, the tables of the statement, and the next step.
 * Null for any other error.
 */
export function damageOf(
  error: { message: string; code?: string | undefined },
  { path, sql }: { path: string; sql: string },
): SqliteFailure | null {
  const code = error.code ?? null;
  if (!isDamage(code)) return null;
  const tables = tablesOf(sql).map((table) => `"${table}"`);
  const where = tables.length === 0 ? "" : ` at the table${tables.length > 1 ? "s" : ""} ${tables.join(", ")}`;
  const isDisk = code?.startsWith("SQLITE_IOERR") === true;
  const what = isDisk ? "cannot be read by the disk" : "is damaged";
  const advice = isDisk ? `check the disk; if the file stays unreadable, ${damageAdvice}` : damageAdvice;
  return new SqliteFailure(`database ${path}: ${what}${where} (${code}: ${error.message}); ${advice}`, code, error);
}
