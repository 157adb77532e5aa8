/** Errors of SQLite, sorted into damage, a refusing disk, a full disk and unique violations. */
import { SQLiteError } from "bun:sqlite";
import { AppError, isObject, LastingFault, messageOf } from "../../../base/kernel/index.ts";

/** An error of SQLite that lost its class on the way from a thread, or in exchange for a clearer message. */
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

/** SQLite's extended result code, for example `SQLITE_CONSTRAINT_UNIQUE`; null for any other error. */
export function sqliteCode(thrown: unknown): string | null {
  if (thrown instanceof SqliteFailure) return thrown.code;
  return thrown instanceof SQLiteError ? (thrown.code ?? "SQLITE_ERROR") : null;
}

const unreadable = /^SQLITE_(CORRUPT|NOTADB|IOERR_(READ|SHORT_READ|CORRUPTFS|DATA)$|IOERR$)/;
const tableNames = /\b(?:FROM|JOIN|INTO|UPDATE)\s+(?:"((?:[^"]|"")+)"|(\w+))/gi;
/** Advice for the owner of a damaged file. */
export const damageAdvice = "see what is damaged with socle verify, and restore a backup with socle restore";
/** The end of a refusal that may have another cause. */
export const ifDamaged = `; if the file is damaged, ${damageAdvice}`;
/** The most tables in a message. */
const maxTables = 5;

/** Whether a code of SQLite means that the file, or a part of the file, cannot be read. */
function isDamage(code: string | null): boolean {
  return code !== null && unreadable.test(code);
}

function tablesOf(sql: string): string[] {
  const names = new Set<string>();
  for (const [, quoted, plain] of sql.matchAll(tableNames)) names.add(quoted?.replaceAll('""', '"') ?? plain ?? "");
  return [...names].slice(0, maxTables);
}

/** The error for a statement that has met damage: names the file, the tables and the next step. Null for any other error. */
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

/** Whether an error means that the database file, or a part of the file, cannot be read. */
export function hasMetDamage(thrown: unknown): boolean {
  return isDamage(sqliteCode(thrown));
}

export function stopping(): AppError {
  return new AppError("unavailable", "The service is stopping.");
}

/** The error for a change that the journal of a cluster may have, although this instance cannot tell. */
export function outcomeUnknown(cause?: unknown): AppError {
  const message = "The outcome is not known: the change may have happened. Check before you repeat the change.";
  return new AppError("unavailable", message, { retryAfter: 1, cause });
}

/** Whether a write was refused because another row has the same value in a unique column. */
export function isUniqueViolation(thrown: unknown): boolean {
  const code = sqliteCode(thrown);
  return code === "SQLITE_CONSTRAINT_UNIQUE" || code === "SQLITE_CONSTRAINT_PRIMARYKEY";
}

const outOfService = /^SQLITE_(FULL|IOERR|BUSY|LOCKED|READONLY|CANTOPEN|NOMEM)/;

export const refusalCauses = ["full", "read-only", "io-error", "other"] as const;

/** The reason why the disk refused; null for an error of another kind. */
export function refusalCause(thrown: unknown): (typeof refusalCauses)[number] | null {
  const code = sqliteCode(thrown);
  if (code === null || !outOfService.test(code) || isDamage(code)) return null;
  if (code.startsWith("SQLITE_FULL")) return "full";
  if (code.startsWith("SQLITE_READONLY")) return "read-only";
  return code.startsWith("SQLITE_IOERR") ? "io-error" : "other";
}

/** Why the work on a database ends, for the log. @param detail follows when the disk has refused: the error says what happened otherwise. */
export function reasonOfEnd(thrown: unknown, detail = ""): string {
  const isFlush = isObject(thrown) && thrown["syscall"] === "fdatasync";
  return isFlush || sqliteCode(thrown) !== null ? `The disk refused a write${detail}` : messageOf(thrown);
}

/** Whether a write was refused because the disk is full. */
export function isOutOfRoom(thrown: unknown): boolean {
  return refusalCause(thrown instanceof AppError ? thrown.cause : thrown) === "full";
}

/**
 * Turns trouble with the disk into `unavailable` (503): the caller may send the request again. Other errors stay unchanged,
 * including damage, for which a second request is useless.
 */
export function asUnavailable(thrown: unknown): unknown {
  if (refusalCause(thrown) === null) return thrown;
  return new AppError("unavailable", `The disk does not serve the database at the moment: ${messageOf(thrown)}.`, {
    cause: thrown,
  });
}
