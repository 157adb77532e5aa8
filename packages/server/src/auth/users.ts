import type { Role, User } from "@socle/protocol";
import { isUniqueViolation, type Reader, type Transactor } from "../database/index.ts";
import { AppError, newId, toTimestamp } from "../kernel/index.ts";

interface UserWithHash {
  user: User;
  passwordHash: string;
}

/** Looks a user up by a normalised email. */
export async function findByEmail(reader: Reader, email: string): Promise<UserWithHash | null> {
  const row = await reader.get<User & { passwordHash: string }>(
    "SELECT id, email, role, createdAt, passwordHash FROM _users WHERE email = ?",
    email,
  );
  if (row === null) return null;
  const { passwordHash, ...user } = row;
  return { user, passwordHash };
}

export async function findById(reader: Reader, id: string): Promise<User | null> {
  return reader.get<User>("SELECT id, email, role, createdAt FROM _users WHERE id = ?", id);
}

export async function listUsers(reader: Reader, page: { limit: number; offset: number }): Promise<User[]> {
  return reader.all<User>(
    "SELECT id, email, role, createdAt FROM _users ORDER BY _seq LIMIT ? OFFSET ?",
    page.limit,
    page.offset,
  );
}

export async function adminExists(reader: Reader): Promise<boolean> {
  return (await reader.get("SELECT 1 FROM _users WHERE role = 'admin' LIMIT 1")) !== null;
}

/** @throws AppError `conflict` when the email is taken. */
export async function insertUser(
  tx: Transactor,
  values: { email: string; passwordHash: string; role: Role },
  now: number,
): Promise<User> {
  const user: User = { id: newId("usr", now), email: values.email, role: values.role, createdAt: toTimestamp(now) };
  try {
    await tx.run(
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

export function emailTaken(): AppError {
  return new AppError("conflict", "There is already a user with this email.");
}
