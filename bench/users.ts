/** Thousands of users for the benchmark. Registrations would take minutes of hashing passwords. */
import { Database } from "bun:sqlite";
import { SignJWT } from "jose";

export const jwtSecret = "a secret for the benchmark alone, 32+";

/** Writes users and sessions into the database of a service that is not running; answers the access tokens. */
export async function makeUsers(path: string, count: number): Promise<string[]> {
  using database = new Database(path);
  const user = database.prepare(
    "INSERT INTO _users (id, email, passwordHash, role, createdAt) VALUES (?, ?, 'none', 'authenticated', '2026-01-01T00:00:00.000Z')",
  );
  const session = database.prepare("INSERT INTO _sessions (id, userId, createdAt, expiresAt) VALUES (?, ?, 0, 9e12)");
  const key = new TextEncoder().encode(jwtSecret);
  const ids = Array.from({ length: count }, (_, n) => [`usr_bench${n}`, `ses_bench${n}`] as const);
  database.transaction(() => {
    for (const [userId, sessionId] of ids) {
      user.run(userId, `${userId}@example.com`);
      session.run(sessionId, userId);
    }
  })();
  return Promise.all(
    ids.map(([userId, sid]) =>
      new SignJWT({ role: "authenticated", sid })
        .setProtectedHeader({ alg: "HS256", typ: "JWT" })
        .setSubject(userId)
        .setIssuedAt()
        .setExpirationTime("1h")
        .sign(key),
    ),
  );
}
