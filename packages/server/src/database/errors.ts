import { AppError, messageOf } from "../kernel/index.ts";
import { sqliteCode as ownCode } from "./connection.ts";

/** What SQLite said on another thread: an error loses its class on the way. */
export class ForeignSqliteError extends Error {
  override readonly name = "SQLiteError";
  readonly code: string | null;

  constructor(message: string, code: string | null) {
    super(message);
    this.code = code;
  }
}

function sqliteCode(thrown: unknown): string | null {
  return thrown instanceof ForeignSqliteError ? thrown.code : ownCode(thrown);
}

export function stopping(): AppError {
  return new AppError("unavailable", "The service is stopping.");
}

/** Whether a write was refused because another row has the same value in a unique column. */
export function isUniqueViolation(thrown: unknown): boolean {
  const code = sqliteCode(thrown);
  return code === "SQLITE_CONSTRAINT_UNIQUE" || code === "SQLITE_CONSTRAINT_PRIMARYKEY";
}

const outOfService = /^SQLITE_(FULL|IOERR|BUSY|LOCKED|READONLY|CANTOPEN|NOMEM)/;

/** Trouble with the disk is `unavailable` (503): the request may be sent again. Anything else stays as it is. */
export function asUnavailable(thrown: unknown): unknown {
  const code = sqliteCode(thrown);
  if (code === null || !outOfService.test(code)) return thrown;
  return new AppError("unavailable", `The disk does not serve the database at the moment: ${messageOf(thrown)}.`, {
    cause: thrown,
  });
}
