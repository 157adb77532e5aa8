/** The tables of sessions and refresh tokens. Times are milliseconds since 1970. */
import type { Role } from "@socle/protocol";
import type { Reader, Transactor } from "../../store/database/index.ts";

/** A session in force and the user it belongs to, with the role of this moment. */
export interface Session {
  readonly id: string;
  readonly userId: string;
  readonly role: Role;
  readonly expiresAt: number;
}

interface SessionRow {
  readonly id: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** A refresh token that is kept; `usedAt` is null until its first use. */
interface TokenRow {
  readonly sessionId: string;
  readonly usedAt: number | null;
}

const selectSession =
  "SELECT s.id AS id, s.userId AS userId, u.role AS role, s.expiresAt AS expiresAt FROM _sessions s JOIN _users u ON u.id = s.userId";

export function findSession(reader: Reader, id: string): Session | null {
  return reader.get<Session>(`${selectSession} WHERE s.id = ?`, id);
}

export function findUnexpired(reader: Reader, id: string | null, now: number): Session | null {
  return reader.get<Session>(`${selectSession} WHERE s.id = ? AND s.expiresAt > ?`, id, now);
}

export function insertSession(tx: Transactor, session: Session, now: number): void {
  const { id, userId, expiresAt } = session;
  tx.run("INSERT INTO _sessions (id, userId, createdAt, expiresAt) VALUES (?, ?, ?, ?)", id, userId, now, expiresAt);
}

export function renewSession(tx: Transactor, { id, expiresAt }: Session): void {
  tx.run("UPDATE _sessions SET expiresAt = ? WHERE id = ?", expiresAt, id);
}

/** Deletes a session with its refresh tokens. */
export function deleteSession(tx: Transactor, id: string): void {
  tx.run("DELETE FROM _refresh_tokens WHERE sessionId = ?", id);
  tx.run("DELETE FROM _sessions WHERE id = ?", id);
}

export function sessionIdsOf(reader: Reader, userId: string): string[] {
  const rows = reader.all<{ id: string }>("SELECT id FROM _sessions WHERE userId = ?", userId);
  return rows.map(({ id }) => id);
}

/** The sessions of a user that have not expired, newest first. */
export function unexpiredOf(reader: Reader, userId: string, now: number): SessionRow[] {
  return reader.all<SessionRow>(
    "SELECT id, createdAt, expiresAt FROM _sessions WHERE userId = ? AND expiresAt > ? ORDER BY createdAt DESC, id DESC",
    userId,
    now,
  );
}

/** The sessions of a user beside a kept session, without the newest `keep - 1`. */
export function sessionsBeyond(
  reader: Reader,
  { userId, id: kept }: Session,
  { keep, now }: { keep: number; now: number },
): string[] {
  const rows = reader.all<{ id: string }>(
    "SELECT id FROM _sessions WHERE userId = ? AND expiresAt > ? AND id <> ? ORDER BY createdAt DESC, id DESC LIMIT -1 OFFSET ?",
    userId,
    now,
    kept,
    keep - 1,
  );
  return rows.map(({ id }) => id);
}

export function expiredSessions(reader: Reader, now: number, limit: number): string[] {
  const rows = reader.all<{ id: string }>("SELECT id FROM _sessions WHERE expiresAt <= ? LIMIT ?", now, limit);
  return rows.map(({ id }) => id);
}

export function findToken(reader: Reader, hash: string): TokenRow | null {
  return reader.get<TokenRow>("SELECT sessionId, usedAt FROM _refresh_tokens WHERE hash = ?", hash);
}

export function insertToken(tx: Transactor, token: { hash: string; sessionId: string; now: number }): void {
  const { hash, sessionId, now } = token;
  tx.run("INSERT INTO _refresh_tokens (hash, sessionId, createdAt) VALUES (?, ?, ?)", hash, sessionId, now);
}

export function markTokenUsed(tx: Transactor, hash: string, now: number): void {
  tx.run("UPDATE _refresh_tokens SET usedAt = ? WHERE hash = ?", now, hash);
}

/** The hashes of tokens that were used before a time. */
export function tokensUsedBefore(reader: Reader, time: number, limit: number): string[] {
  const rows = reader.all<{ hash: string }>("SELECT hash FROM _refresh_tokens WHERE usedAt < ? LIMIT ?", time, limit);
  return rows.map(({ hash }) => hash);
}

export function deleteToken(tx: Transactor, hash: string): void {
  tx.run("DELETE FROM _refresh_tokens WHERE hash = ?", hash);
}
