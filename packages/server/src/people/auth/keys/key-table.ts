/** The table of API keys. The table has the hash of a key; times are milliseconds since 1970. */
import type { Role } from "@socle/protocol";
import type { Reader, Transactor } from "../../../store/database/index.ts";

/** Steps of `authSchema`. A key without a user is a service key. */
export const keySteps = [
  "CREATE TABLE _keys (id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, userId TEXT, name TEXT NOT NULL, scopes TEXT NOT NULL, createdAt INTEGER NOT NULL, expiresAt INTEGER, lastUsedAt INTEGER) STRICT, WITHOUT ROWID",
  "CREATE INDEX _keys_user ON _keys (userId)",
  "CREATE INDEX _keys_expiry ON _keys (expiresAt) WHERE expiresAt IS NOT NULL",
] as const;

export interface KeyRow {
  readonly id: string;
  readonly userId: string | null;
  readonly name: string;
  /** A JSON array. */
  readonly scopes: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
}

/** A key with the role that the owner has now; null for a service key. */
export interface OwnedKeyRow extends Pick<KeyRow, "id" | "userId" | "scopes" | "expiresAt"> {
  readonly role: Role | null;
}

const columns = "id, userId, name, scopes, createdAt, expiresAt, lastUsedAt";

export function insertKey(tx: Transactor, row: KeyRow, hash: string): void {
  tx.run(
    `INSERT INTO _keys (${columns}, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    row.id,
    row.userId,
    row.name,
    row.scopes,
    row.createdAt,
    row.expiresAt,
    row.lastUsedAt,
    hash,
  );
}

export function findIdOfHash(reader: Reader, hash: string): string | null {
  return reader.get<{ id: string }>("SELECT id FROM _keys WHERE hash = ?", hash)?.id ?? null;
}

export function findKey(reader: Reader, id: string): OwnedKeyRow | null {
  return reader.get<OwnedKeyRow>(
    "SELECT k.id AS id, k.userId AS userId, k.scopes AS scopes, k.expiresAt AS expiresAt, u.role AS role FROM _keys k LEFT JOIN _users u ON u.id = k.userId WHERE k.id = ? AND (k.userId IS NULL OR u.id IS NOT NULL)",
    id,
  );
}

/** The keys that have not expired, newest first. @param userId null for service keys. */
export function keysOf(reader: Reader, userId: string | null, now: number): KeyRow[] {
  return reader.all<KeyRow>(
    `SELECT ${columns} FROM _keys WHERE userId IS ? AND (expiresAt IS NULL OR expiresAt > ?) ORDER BY createdAt DESC, id DESC`,
    userId,
    now,
  );
}

export function deleteKey(tx: Transactor, id: string): void {
  tx.run("DELETE FROM _keys WHERE id = ?", id);
}

/** The beginning of the ids of keys. */
export const keyIdPrefix = "key_";

/** The ids of expired keys, a few at a time. */
export function expiredKeys(reader: Reader, now: number, limit: number): string[] {
  return reader
    .all<{ id: string }>("SELECT id FROM _keys WHERE expiresAt <= ? LIMIT ?", now, limit)
    .map(({ id }) => id);
}

export function setUsed(tx: Transactor, id: string, at: number): void {
  tx.run("UPDATE _keys SET lastUsedAt = ? WHERE id = ?", at, id);
}
