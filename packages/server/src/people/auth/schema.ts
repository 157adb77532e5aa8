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
    "CREATE TABLE _sign_in_attempts (_seq INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, userId TEXT NOT NULL, expiresAt INTEGER NOT NULL) STRICT",
    "CREATE INDEX _sign_in_attempts_user ON _sign_in_attempts (userId)",
    "CREATE INDEX _sign_in_attempts_expiry ON _sign_in_attempts (expiresAt)",
    // The secrets of authenticator apps, encrypted. `pending` is not confirmed yet; `lastStep` is the newest step with a used code.
    "CREATE TABLE _totp (userId TEXT PRIMARY KEY, secret TEXT, pending TEXT, lastStep INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID",
    // When the address was proven, in the form of the API; null before.
    "ALTER TABLE _users ADD COLUMN verifiedAt TEXT",
    // Tokens that were mailed. `userId` is null for an address without a user; `details` is the hash of a code, or the data of an invitation.
    "CREATE TABLE _proofs (_seq INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, purpose TEXT NOT NULL, userId TEXT, email TEXT NOT NULL, details TEXT, expiresAt INTEGER NOT NULL) STRICT",
    "CREATE INDEX _proofs_email ON _proofs (purpose, email)",
    "CREATE INDEX _proofs_user ON _proofs (userId)",
    "CREATE INDEX _proofs_expiry ON _proofs (expiresAt)",
    // Null in sessions of earlier versions, and for sessions that no request opened.
    "ALTER TABLE _sessions ADD COLUMN lastUsedAt INTEGER",
    "ALTER TABLE _sessions ADD COLUMN address TEXT",
    "ALTER TABLE _sessions ADD COLUMN userAgent TEXT",
    "CREATE TABLE _recovery_codes (userId TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (userId, hash)) STRICT, WITHOUT ROWID",
    // A key without a user is a service key.
    "CREATE TABLE _keys (id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, userId TEXT, name TEXT NOT NULL, scopes TEXT NOT NULL, createdAt INTEGER NOT NULL, expiresAt INTEGER, lastUsedAt INTEGER) STRICT, WITHOUT ROWID",
    "CREATE INDEX _keys_user ON _keys (userId)",
    "CREATE INDEX _keys_expiry ON _keys (expiresAt) WHERE expiresAt IS NOT NULL",
    // Sign-ins at providers that are under way. `content` is JSON.
    "CREATE TABLE _provider_steps (_seq INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, purpose TEXT NOT NULL, content TEXT NOT NULL, expiresAt INTEGER NOT NULL) STRICT",
    "CREATE INDEX _provider_steps_expiry ON _provider_steps (expiresAt)",
    "CREATE TABLE _links (issuer TEXT NOT NULL, subject TEXT NOT NULL, userId TEXT NOT NULL, provider TEXT NOT NULL, email TEXT, createdAt INTEGER NOT NULL, PRIMARY KEY (issuer, subject)) STRICT, WITHOUT ROWID",
    "CREATE UNIQUE INDEX _links_user ON _links (userId, provider)",
    "CREATE TABLE _passkeys (id TEXT PRIMARY KEY, userId TEXT NOT NULL, credentialId TEXT NOT NULL UNIQUE, publicKey TEXT NOT NULL, counter INTEGER NOT NULL, transports TEXT NOT NULL, name TEXT NOT NULL, isBackedUp INTEGER NOT NULL, createdAt INTEGER NOT NULL, lastUsedAt INTEGER) STRICT, WITHOUT ROWID",
    "CREATE INDEX _passkeys_user ON _passkeys (userId)",
    "CREATE TABLE _used_challenges (hash TEXT PRIMARY KEY, expiresAt INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE INDEX _used_challenges_expiry ON _used_challenges (expiresAt)",
    // 1 for a user whose address was not proven when an admin or the user's code gave the user a password.
    "ALTER TABLE _users ADD COLUMN hasGivenPassword INTEGER NOT NULL DEFAULT 0",
    // 0 for a successor that no request has shown yet: neither the refresh token nor an access token that came with the successor.
    "ALTER TABLE _refresh_tokens ADD COLUMN isSeen INTEGER NOT NULL DEFAULT 1",
    // The key of the caller whose share a step takes; empty in steps of earlier versions.
    "ALTER TABLE _provider_steps ADD COLUMN caller TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX _provider_steps_caller ON _provider_steps (caller)",
    // A user without an email is anonymous; `usedAt` is the time of the last sign-in or refresh of an anonymous user, in milliseconds since 1970.
    "CREATE TABLE _users_new (_seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, email TEXT UNIQUE, passwordHash TEXT NOT NULL, role TEXT NOT NULL, createdAt TEXT NOT NULL, verifiedAt TEXT, hasGivenPassword INTEGER NOT NULL DEFAULT 0, usedAt INTEGER) STRICT",
    "INSERT INTO _users_new SELECT _seq, id, email, passwordHash, role, createdAt, verifiedAt, hasGivenPassword, NULL FROM _users ORDER BY _seq",
    "DROP TABLE _users",
    "ALTER TABLE _users_new RENAME TO _users",
    "CREATE INDEX _users_unused ON _users (usedAt) WHERE email IS NULL",
    // Hashes that another service made, until the first sign-in of each user: a comparison with an unknown password does the work of these hashes, too.
    "CREATE INDEX _users_foreign ON _users (passwordHash) WHERE passwordHash <> '' AND substr(passwordHash, 1, 10) <> '$argon2id$'",
  ],
};
