/** Errors of SQLite, sorted into damage, a refusing disk, a full disk and unique violations. */
import { AppError, messageOf } from "../../../base/kernel/index.ts";
import type { RefusalCause } from "../store.ts";
import { sqliteCode } from "./connection.ts";
import { isDamage } from "./damage.ts";

/** Whether an error means that the database file, or a part of the file, cannot be read. */
export function hasMetDamage(thrown: unknown): boolean {
  return isDamage(sqliteCode(thrown));
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

/** The reason why the disk refused; null for an error of another kind. */
export function refusalCause(thrown: unknown): RefusalCause | null {
  const code = sqliteCode(thrown);
  if (code === null || !outOfService.test(code) || isDamage(code)) return null;
  if (code.startsWith("SQLITE_FULL")) return "full";
  if (code.startsWith("SQLITE_READONLY")) return "read-only";
  return code.startsWith("SQLITE_IOERR") ? "io-error" : "other";
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
