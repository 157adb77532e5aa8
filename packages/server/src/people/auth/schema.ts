/** Tables of users, sessions and tokens, and the steps to them. */
import type { Logger } from "../../base/logging/index.ts";
import type { ModuleSchema, Transactor } from "../../store/database/index.ts";
import { normaliseEmail } from "./users.ts";

/**
 * Brings emails that earlier versions stored into the present form, by which a login finds its user. Two users may have the
 * same email then: the second keeps the stored form, and the log names the user.
 */
function normaliseEmails(tx: Transactor, logger: Logger): void {
  const beyondAscii = "SELECT id, email FROM _users WHERE octet_length(email) > length(email) ORDER BY _seq";
  for (const { id, email } of tx.all<{ id: string; email: string }>(beyondAscii)) {
    const normal = normaliseEmail(email);
    if (normal === email) continue;
    const isFree = normal !== null && tx.get("SELECT 1 FROM _users WHERE email = ?", normal) === null;
    if (isFree) tx.run("UPDATE _users SET email = ? WHERE id = ?", normal, id);
    else logger.warn("A user cannot log in: the email is that of another user, or none", { userId: id });
  }
}

/** Times of sessions and refresh tokens are milliseconds since 1970; those of users are in the form of the API. */
export const authSchema: ModuleSchema = {
  module: "auth",
  steps: [
    "CREATE TABLE _users (_seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, email TEXT NOT NULL UNIQUE, passwordHash TEXT NOT NULL, role TEXT NOT NULL, createdAt TEXT NOT NULL) STRICT",
    "CREATE TABLE _sessions (id TEXT PRIMARY KEY, userId TEXT NOT NULL, createdAt INTEGER NOT NULL, expiresAt INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE INDEX _sessions_user ON _sessions (userId)",
    "CREATE INDEX _sessions_expiry ON _sessions (expiresAt)",
    "CREATE TABLE _refresh_tokens (hash TEXT PRIMARY KEY, sessionId TEXT NOT NULL, createdAt INTEGER NOT NULL, usedAt INTEGER) STRICT, WITHOUT ROWID",
    "CREATE INDEX _refresh_tokens_session ON _refresh_tokens (sessionId)",
    "CREATE TABLE _secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    // For the sweep: most tokens that are kept have not been used.
    "CREATE INDEX _refresh_tokens_used ON _refresh_tokens (usedAt) WHERE usedAt IS NOT NULL",
    // Emails that `admin.email` has made an admin, or whose admin was deleted or demoted: it never makes one again.
    "CREATE TABLE _spent_admin_emails (email TEXT PRIMARY KEY) STRICT, WITHOUT ROWID",
    normaliseEmails,
  ],
};
