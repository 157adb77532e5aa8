/** SQL of sign-in attempts: a proven user who owes the second factor. An attempt is no session, and opens none by itself. */
import { randomToken } from "../../base/kernel/index.ts";
import type { Reader, Transactor } from "../../store/database/index.ts";
import { expiringHashes } from "./expiring-table.ts";
import { invalidProof } from "./proof-table.ts";

/** How long a user may take for the second factor. */
const ttlMs = 10 * 60_000;

export const expiringAttempts = expiringHashes("_sign_in_attempts");

/** The stored hash; the prefix keeps tokens of other purposes out. */
function hashOf(attempt: string): string {
  return Bun.SHA256.hash(`sign-in attempt\0${attempt}`, "hex");
}

/**
 * Begins an attempt of a user, and answers the token of the attempt: 256 random bits.
 * @param most attempts of the user beyond this number are dropped, the oldest first.
 */
export function addAttempt(tx: Transactor, userId: string, most: number): string {
  const attempt = randomToken(32);
  const expiresAt = Date.now() + ttlMs;
  tx.run(
    "INSERT INTO _sign_in_attempts (hash, userId, expiresAt) VALUES (?, ?, ?)",
    hashOf(attempt),
    userId,
    expiresAt,
  );
  tx.run(
    "DELETE FROM _sign_in_attempts WHERE _seq IN (SELECT _seq FROM _sign_in_attempts WHERE userId = ? ORDER BY _seq DESC LIMIT -1 OFFSET ?)",
    userId,
    most,
  );
  return attempt;
}

/** The user of an attempt. @throws AppError `bad_request` for an attempt that is unknown, used or expired. */
export function userOfAttempt(reader: Reader, attempt: string): string {
  const sql = "SELECT userId FROM _sign_in_attempts WHERE hash = ? AND expiresAt > ?";
  const row = reader.get<{ userId: string }>(sql, hashOf(attempt), Date.now());
  if (row === null) throw invalidProof();
  return row.userId;
}

/** Ends an attempt, and answers the user of the attempt. @throws AppError as `userOfAttempt`. */
export function useAttempt(tx: Transactor, attempt: string): string {
  const userId = userOfAttempt(tx, attempt);
  tx.run("DELETE FROM _sign_in_attempts WHERE hash = ?", hashOf(attempt));
  return userId;
}

/** Ends the attempts of a user: the proof before each of these attempts does not count any more. */
export function endAttemptsOf(tx: Transactor, userId: string): void {
  tx.run("DELETE FROM _sign_in_attempts WHERE userId = ?", userId);
}
