/** The tables of users, of the secrets that the service keeps, and of emails that make no admin any more. */
import type { Role, User } from "@socle/protocol";
import { AppError, newId, toTimestamp } from "../../base/kernel/index.ts";
import { isUniqueViolation, type QueryTable, type Reader, type Transactor } from "../../store/database/index.ts";

/** The table of users, and its public columns. */
export const userTable = { table: "_users", fields: ["id", "email", "role", "createdAt"] } as const;

/** The part of the table that `db.query` may read: all but the hashes of passwords, through the view `users`. */
export const userQueryTable: QueryTable = { table: "_users", view: { name: "users", columns: userTable.fields } };

interface UserWithHash {
  user: User;
  passwordHash: string;
}

/** Looks a user up by a normalised email. */
export function findByEmail(reader: Reader, email: string): UserWithHash | null {
  const row = reader.get<User & { passwordHash: string }>(
    "SELECT id, email, role, createdAt, passwordHash FROM _users WHERE email = ?",
    email,
  );
  if (row === null) return null;
  const { passwordHash, ...user } = row;
  return { user, passwordHash };
}

export function findById(reader: Reader, id: string): User | null {
  return reader.get<User>("SELECT id, email, role, createdAt FROM _users WHERE id = ?", id);
}

/** Which users are meant; without a filter, all. */
export interface UserFilter {
  /** A part of the email. */
  readonly search?: string | null;
  readonly role?: Role | null;
}

export function listUsers(
  reader: Reader,
  query: UserFilter & { limit: number; offset: number; order: "newest" | "oldest" },
): { items: User[]; total: number } {
  const conditions: [string, string][] = [];
  // Emails are stored in lower case.
  if (query.search) conditions.push(["instr(email, ?) > 0", query.search.toLowerCase()]);
  if (query.role) conditions.push(["role = ?", query.role]);
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.map(([condition]) => condition).join(" AND ")}`;
  const values = conditions.map(([, value]) => value);
  const direction = query.order === "newest" ? "DESC" : "ASC";
  const items = reader.all<User>(
    `SELECT id, email, role, createdAt FROM _users ${where} ORDER BY _seq ${direction} LIMIT ? OFFSET ?`,
    ...values,
    query.limit,
    query.offset,
  );
  // The last page tells the total.
  const isLast = items.length < query.limit && (items.length > 0 || query.offset === 0);
  if (isLast) return { items, total: query.offset + items.length };
  const row = reader.get<{ n: number }>(`SELECT count(*) AS n FROM _users ${where}`, ...values);
  return { items, total: row?.n ?? 0 };
}

export function adminExists(reader: Reader): boolean {
  return reader.get("SELECT 1 FROM _users WHERE role = 'admin' LIMIT 1") !== null;
}

/** @throws AppError `conflict` when the email is taken. */
export function insertUser(
  tx: Transactor,
  values: { email: string; passwordHash: string; role: Role },
  now: number,
): User {
  const user: User = { id: newId("usr", now), email: values.email, role: values.role, createdAt: toTimestamp(now) };
  try {
    tx.run(
      "INSERT INTO _users (id, email, passwordHash, role, createdAt) VALUES (?, ?, ?, ?, ?)",
      user.id,
      user.email,
      values.passwordHash,
      user.role,
      user.createdAt,
    );
  } catch (thrown) {
    throw isUniqueViolation(thrown) ? emailTaken() : thrown;
  }
  return user;
}

export function updateUser(
  tx: Transactor,
  id: string,
  { role = null, passwordHash = null }: { role?: Role | null; passwordHash?: string | null },
): void {
  tx.run(
    "UPDATE _users SET role = coalesce(?, role), passwordHash = coalesce(?, passwordHash) WHERE id = ?",
    role,
    passwordHash,
    id,
  );
}

/** The emails with letters beyond ASCII. */
export function emailsBeyondAscii(reader: Reader): { id: string; email: string }[] {
  return reader.all("SELECT id, email FROM _users WHERE octet_length(email) > length(email) ORDER BY _seq");
}

export function updateEmail(tx: Transactor, id: string, email: string): void {
  tx.run("UPDATE _users SET email = ? WHERE id = ?", email, id);
}

export function deleteUser(tx: Transactor, id: string): void {
  tx.run("DELETE FROM _users WHERE id = ?", id);
}

export function emailTaken(): AppError {
  return new AppError("conflict", "There is already a user with this email.");
}

/** A secret of the service by its name; null before the first start. */
export function findSecret(reader: Reader, name: string): string | null {
  const row = reader.get<{ value: string }>("SELECT value FROM _secrets WHERE name = ?", name);
  return row?.value ?? null;
}

export function insertSecret(tx: Transactor, name: string, value: string): void {
  tx.run("INSERT INTO _secrets (name, value) VALUES (?, ?)", name, value);
}

/** Whether `admin.email` must not make an admin of this email any more. */
export function isAdminEmailSpent(reader: Reader, email: string): boolean {
  return reader.get("SELECT 1 FROM _spent_admin_emails WHERE email = ?", email) !== null;
}

/** From now on `admin.email` makes no admin of this email. */
export function spendAdminEmail(tx: Transactor, email: string): void {
  tx.run("INSERT OR IGNORE INTO _spent_admin_emails (email) VALUES (?)", email);
}
