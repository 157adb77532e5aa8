/** SQL of users: the passwords, and the emails that are stored in another form than the present form. */
import type { Reader, Transactor } from "../../store/database/index.ts";
import { normaliseEmail } from "../mail/index.ts";

/** The hash of a user's password; empty for a user without a password, and for an unknown user. */
export function passwordHashOf(reader: Reader, id: string): string {
  return reader.get<{ passwordHash: string }>("SELECT passwordHash FROM _users WHERE id = ?", id)?.passwordHash ?? "";
}

/** Replaces the hash of a password; an empty hash takes the password away. */
export function setPasswordHash(tx: Transactor, id: string, passwordHash: string): void {
  tx.run("UPDATE _users SET passwordHash = ? WHERE id = ?", passwordHash, id);
}

/** Whether another service made a hash: the first sign-in with the password replaces the hash. */
export function isForeignHash(hash: string): boolean {
  return hash !== "" && !hash.startsWith("$argon2id$");
}

/** The hashes of other services with the least and the most work; empty once every user has signed in. */
export function foreignHashes(reader: Reader): string[] {
  const first = (order: "ASC" | "DESC"): string =>
    `SELECT passwordHash FROM _users WHERE passwordHash <> '' AND substr(passwordHash, 1, 10) <> '$argon2id$' ORDER BY passwordHash ${order} LIMIT 1`;
  const lowest = reader.get<{ passwordHash: string }>(first("ASC"));
  const highest = lowest && reader.get<{ passwordHash: string }>(first("DESC"));
  return [lowest, highest].flatMap((row) => row?.passwordHash ?? []);
}

/** Notes that somebody else has chosen the password of a user. */
export function noteGivenPassword(tx: Transactor, id: string): void {
  tx.run("UPDATE _users SET hasGivenPassword = 1 WHERE id = ?", id);
}

export function hasGivenPassword(reader: Reader, id: string): boolean {
  return reader.get("SELECT 1 FROM _users WHERE id = ? AND hasGivenPassword = 1", id) !== null;
}

/** Notes a sign-in or a refresh of a user, if the user is anonymous. */
export function noteUse(tx: Transactor, id: string, now: number): void {
  tx.run("UPDATE _users SET usedAt = ? WHERE id = ? AND email IS NULL", now, id);
}

/** Anonymous users without a use since a time, the longest unused first. */
export function unusedUsers(reader: Reader, before: number, limit: number): string[] {
  const sql = "SELECT id FROM _users WHERE email IS NULL AND usedAt < ? ORDER BY usedAt LIMIT ?";
  return reader.all<{ id: string }>(sql, before, limit).map(({ id }) => id);
}

export function isUnused(reader: Reader, id: string, before: number): boolean {
  return reader.get("SELECT 1 FROM _users WHERE id = ? AND email IS NULL AND usedAt < ?", id, before) !== null;
}

function isStored(reader: Reader, email: string): boolean {
  return reader.get("SELECT 1 FROM _users WHERE email = ?", email) !== null;
}

/**
 * The stored email that a text means: the present form; or the spelling of a user whose present form is the email of another
 * user. Null for a text that is no email address.
 */
export function storedEmail(reader: Reader, text: string): string | null {
  const [email, spelling] = [normaliseEmail(text), text.trim().toLowerCase()];
  return email !== null && email !== spelling && isStored(reader, spelling) ? spelling : email;
}

/** A user whose email has another form at present: null for no form, and taken if another user has the present form. */
interface FormerEmail {
  readonly id: string;
  readonly email: string;
  readonly present: string | null;
  readonly isTaken: boolean;
}

export function* formerEmails(reader: Reader): Iterable<FormerEmail> {
  // Any other email of ASCII has been stored in the present form. The inner query reads only the index of the emails.
  const sql =
    "SELECT id, email FROM _users WHERE _seq IN (SELECT _seq FROM _users WHERE octet_length(email) > length(email) OR email LIKE '%xn--%') ORDER BY _seq";
  const presents = new Set<string>();
  for (const { id, email } of reader.all<{ id: string; email: string }>(sql)) {
    const present = normaliseEmail(email);
    if (present === email) continue;
    const isTaken = present !== null && (presents.has(present) || isStored(reader, present));
    if (present !== null) presents.add(present);
    yield { id, email, present, isTaken };
  }
}

/** The line about each pair of users with one address, for the log and for `socle check`. */
export function sharedAddresses(reader: Reader): string[] {
  return [...formerEmails(reader)].flatMap(({ email, present, isTaken }) =>
    isTaken
      ? `Two users have one address, written ${email} and ${present}. Each signs in with this spelling; an admin deletes one of the users, or a user changes the address`
      : [],
  );
}
