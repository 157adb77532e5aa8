/** SQL of the passwords of users. */
import type { Reader, Transactor } from "../../store/database/index.ts";

/** The hash of a user's password; empty for a user without a password, and for an unknown user. */
export function passwordHashOf(reader: Reader, id: string): string {
  return reader.get<{ passwordHash: string }>("SELECT passwordHash FROM _users WHERE id = ?", id)?.passwordHash ?? "";
}

/** Replaces the hash of a password; an empty hash takes the password away. */
export function setPasswordHash(tx: Transactor, id: string, passwordHash: string): void {
  tx.run("UPDATE _users SET passwordHash = ? WHERE id = ?", passwordHash, id);
}

/** Notes that somebody else has chosen the password of a user. */
export function noteGivenPassword(tx: Transactor, id: string): void {
  tx.run("UPDATE _users SET hasGivenPassword = 1 WHERE id = ?", id);
}

export function hasGivenPassword(reader: Reader, id: string): boolean {
  return reader.get("SELECT 1 FROM _users WHERE id = ? AND hasGivenPassword = 1", id) !== null;
}
