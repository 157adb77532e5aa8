/** Tables of users, sessions and tokens, and the steps to them. */
import type { ModuleSchema } from "../../store/database/index.ts";

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
    // Each start does the former work of this step (`Users.normaliseEmails`). Databases have recorded its number.
    "SELECT 1",
  ],
};
