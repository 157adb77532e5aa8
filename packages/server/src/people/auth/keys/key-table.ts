/** The table of API keys, and the changes of keys that follow from changes of the owner. The table has the hash of a key; times are milliseconds since 1970. */
import type { Role } from "@socle/protocol";
import { adminScope } from "../../../data/permissions/index.ts";
import type { Reader, Transactor } from "../../../store/database/index.ts";
import type { CredentialKind } from "../credentials.ts";
import { type ExpiringRows, expiredIn } from "../expiring-table.ts";
import { sessionChanged } from "../sessions.ts";

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

/** Deletes a key. */
export function endKey(tx: Transactor, id: string): void {
  tx.run("DELETE FROM _keys WHERE id = ?", id);
  // The caller of the next transaction is looked up in memory.
  tx.endBatch();
  tx.note(sessionChanged.of({ sessionId: id, role: null }));
}

/** The role with which a key acts: an admin's key is an admin's only by the scope. */
export function roleWith(scopes: readonly string[], role: Role): Role {
  return role === "admin" && !scopes.includes(adminScope) ? "authenticated" : role;
}

export const apiKeys: CredentialKind = {
  name: "the API keys",
  has: (reader, userId) => keysOf(reader, userId, 0).length > 0,
  remove(tx, userId) {
    for (const { id } of keysOf(tx, userId, 0)) endKey(tx, id);
  },
  changeRole(tx, userId, role) {
    tx.endBatch();
    for (const { id, scopes } of keysOf(tx, userId, 0))
      tx.note(sessionChanged.of({ sessionId: id, role: roleWith(JSON.parse(scopes), role) }));
  },
};

export const expiringKeys: ExpiringRows = { over: expiredIn("_keys", "id"), remove: endKey };

/** The beginning of the ids of keys. */
export const keyIdPrefix = "key_";

export function setUsed(tx: Transactor, id: string, at: number): void {
  tx.run("UPDATE _keys SET lastUsedAt = ? WHERE id = ?", at, id);
}
