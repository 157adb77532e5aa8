/** SQL of refresh tokens, of which only hashes are stored, and of the marks of their first use. */
import type { Reader, Transactor } from "../../store/database/index.ts";
import type { ExpiringRows } from "./expiring-table.ts";

/** The grace time of a used token: two tabs that refresh at the same time use the same token. */
export const graceMs = 10_000;

/** The stored hash of a refresh token: 256 random bits need no slow hash. */
export function hashOf(token: string): string {
  return Bun.SHA256.hash(token, "hex");
}

/** The generation of the access tokens that are issued with a refresh token: 64 bits of the hash, which tell nothing of the token. */
export function generationOf(hash: string): string {
  return hash.slice(0, 16);
}

/** A refresh token that is kept; `usedAt` is null until its first use. */
export function findToken(
  reader: Reader,
  hash: string,
): { sessionId: string; usedAt: number | null; isSeen: 0 | 1 } | null {
  return reader.get("SELECT sessionId, usedAt, isSeen FROM _refresh_tokens WHERE hash = ?", hash);
}

/** Notes that a request has shown an access token of a generation: the answer with the refresh token has arrived. */
export function markSeen(tx: Transactor, generation: string): void {
  // A prefix of the hash: "g" comes after the hexadecimal digits.
  tx.run("UPDATE _refresh_tokens SET isSeen = 1 WHERE hash BETWEEN ? AND ? || 'g'", generation, generation);
}

/** Writes the use of a refresh token, also of a token that the sweep has removed. */
export function markUsed(tx: Transactor, hash: string, { sessionId, at }: { sessionId: string; at: number }): void {
  const sql =
    "INSERT INTO _refresh_tokens (hash, sessionId, createdAt, usedAt) VALUES (?, ?, ?, ?) ON CONFLICT (hash) DO UPDATE SET usedAt = excluded.usedAt";
  tx.run(sql, hash, sessionId, at, at);
}

/** Keeps a refresh token that has no use yet. The token may be there: the answer with the token was lost. */
export function keepToken(
  tx: Transactor,
  hash: string,
  { sessionId, isSeen }: { sessionId: string; isSeen: 0 | 1 },
): void {
  const sql =
    "INSERT INTO _refresh_tokens (hash, sessionId, createdAt, isSeen) VALUES (?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING";
  tx.run(sql, hash, sessionId, Date.now(), isSeen);
}

/** Refresh tokens whose grace time is over. */
export const spentTokens: ExpiringRows = {
  over(reader, now, most) {
    const sql = "SELECT hash FROM _refresh_tokens WHERE usedAt < ? LIMIT ?";
    return reader.all<{ hash: string }>(sql, now - graceMs, most).map(({ hash }) => hash);
  },
  remove: (tx, hash) => tx.run("DELETE FROM _refresh_tokens WHERE hash = ?", hash),
};
