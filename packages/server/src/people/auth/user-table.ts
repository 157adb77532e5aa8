/** The table of users: rows, look-ups, pages and samples, changes, the passwords, and the uses of anonymous users. */
import type { Role, User } from "@socle/protocol";
import { AppError } from "../../base/kernel/index.ts";
import { isUniqueViolation, type QueryTable, type Reader, type Transactor } from "../../store/database/index.ts";
import { storedEmail } from "./former-email-table.ts";

/** The table of users, the public columns, and the rows as records of a definition of `users`. */
export const userTable = {
  table: "_users",
  fields: ["id", "email", "role", "createdAt"],
  rows: "SELECT _seq, id, createdAt, createdAt AS updatedAt, id AS _owner, email, role, verifiedAt IS NOT NULL AS verified FROM _users",
} as const;

/** The part of the table that `db.query` may read: all but the hashes of passwords, through the view `users`. */
export const userQueryTable: QueryTable = {
  table: "_users",
  view: { name: "users", columns: [...userTable.fields, "verifiedAt"] },
};

/** The columns of a `User`, and the row. */
const userColumns = "id, email, role, createdAt, verifiedAt";
export type UserRow = Omit<User, "verified" | "anonymous"> & { readonly verifiedAt: string | null };

function userOf({ id, email, role, createdAt, verifiedAt }: UserRow): User {
  return { id, email, role, createdAt, verified: verifiedAt !== null, anonymous: email === null };
}

/** Looks a user up by the id. */
export function findUser(reader: Reader, id: string): User | null {
  const row = reader.get<UserRow>(`SELECT ${userColumns} FROM _users WHERE id = ?`, id);
  return row && userOf(row);
}

/** Looks a user up by the id, or by an email in any spelling. */
export function userNamed(reader: Reader, name: string): User | null {
  return findUser(reader, name) ?? findByEmail(reader, storedEmail(reader, name) ?? "")?.user ?? null;
}

/** Looks a user up by a normalised email. The hash of a user without a password is empty. */
export function findByEmail(reader: Reader, email: string): { user: User; passwordHash: string } | null {
  const row = reader.get<UserRow & { passwordHash: string }>(
    `SELECT ${userColumns}, passwordHash FROM _users WHERE email = ?`,
    email,
  );
  return row === null ? null : { user: userOf(row), passwordHash: row.passwordHash };
}

/** The filter and the page of a list of users. */
export interface UserQuery {
  /** A part of the email. */
  readonly search?: string | null;
  readonly role?: Role | null;
  readonly limit: number;
  readonly offset: number;
  /** By default, the newest user is first. */
  readonly order?: "newest" | "oldest";
}

/** A page of the users by a filter, and the total. */
export function searchUsers(
  reader: Reader,
  { search, role, limit, offset, order = "newest" }: UserQuery,
): { items: User[]; total: number } {
  const conditions: [string, string][] = [];
  // Emails are stored in lower case.
  if (search) conditions.push(["instr(email, ?) > 0", search.toLowerCase()]);
  if (role) conditions.push(["role = ?", role]);
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.map(([condition]) => condition).join(" AND ")}`;
  const values = conditions.map(([, value]) => value);
  const direction = order === "newest" ? "DESC" : "ASC";
  const sql = `SELECT ${userColumns} FROM _users ${where} ORDER BY _seq ${direction} LIMIT ? OFFSET ?`;
  const items = reader.all<UserRow>(sql, ...values, limit, offset).map(userOf);
  // The last page tells the total.
  const isLast = items.length < limit && (items.length > 0 || offset === 0);
  if (isLast) return { items, total: offset + items.length };
  const row = reader.get<{ n: number }>(`SELECT count(*) AS n FROM _users ${where}`, ...values);
  return { items, total: row?.n ?? 0 };
}

/** Users without the role admin, spread from the oldest to the newest. */
export function sampleUsers(reader: Reader, size: number): User[] {
  const last = reader.get<{ seq: number | null }>("SELECT max(_seq) AS seq FROM _users")?.seq ?? 0;
  const places = Array.from({ length: size }, (_, i) => Math.floor((i * last) / size));
  const sql = (place: string, end: string): string =>
    `SELECT ${userColumns} FROM _users WHERE role <> 'admin' ${place} ORDER BY _seq ${end}`;
  const found = places.flatMap((place) => reader.all<UserRow>(sql("AND _seq > ?", "LIMIT 1"), place));
  // Where numbers are missing, two places may lead to the same user.
  const newest = reader.all<UserRow>(sql("", "DESC LIMIT ?"), size);
  return [...new Map([...found, ...newest].map((row) => [row.id, userOf(row)])).values()].slice(0, size);
}

/** @throws AppError `conflict` when the email is taken. */
export function insertUser(tx: Transactor, row: UserRow & { readonly passwordHash: string }): User {
  const { id, email, passwordHash, role, createdAt, verifiedAt } = row;
  const sql = "INSERT INTO _users (id, email, passwordHash, role, createdAt, verifiedAt) VALUES (?, ?, ?, ?, ?, ?)";
  unlessTaken(() => tx.run(sql, id, email, passwordHash, role, createdAt, verifiedAt));
  return userOf(row);
}

/**
 * Writes the account of a user. A proof of another address does not count.
 * @param now the time of a new proof. @throws AppError `conflict` when the email is taken.
 */
export function updateUser(tx: Transactor, { id, email, role, verified }: User, now: string): void {
  const sql =
    "UPDATE _users SET email = ?, role = ?, verifiedAt = CASE WHEN ? THEN coalesce(iif(email = ?, verifiedAt, NULL), ?) END WHERE id = ?";
  unlessTaken(() => tx.run(sql, email, role, Number(verified === true), email, now, id));
}

export function deleteUser(tx: Transactor, id: string): void {
  tx.run("DELETE FROM _users WHERE id = ?", id);
}

export function hasAdmin(reader: Reader): boolean {
  return reader.get("SELECT 1 FROM _users WHERE role = 'admin' LIMIT 1") !== null;
}

/** @throws AppError `conflict` when the email is taken. */
function unlessTaken(write: () => unknown): void {
  try {
    write();
  } catch (thrown) {
    throw isUniqueViolation(thrown) ? emailTaken() : thrown;
  }
}

export function emailTaken(): AppError {
  return new AppError("conflict", "There is already a user with this email.");
}

/** Whether `admin.email` must not make an admin of this email any more. */
export function isAdminEmailSpent(reader: Reader, email: string): boolean {
  return reader.get("SELECT 1 FROM _spent_admin_emails WHERE email = ?", email) !== null;
}

/** From now on `admin.email` makes no admin of this email. */
export function spendAdminEmail(tx: Transactor, email: string): void {
  tx.run("INSERT OR IGNORE INTO _spent_admin_emails (email) VALUES (?)", email);
}

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
