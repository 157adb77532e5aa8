/** SQL of sessions: the row of a session with the role of the user, and the sessions of a user as callers see the sessions. */
import type { Role, SessionEntry } from "@socle/protocol";
import { toTimestamp } from "../../base/kernel/index.ts";
import type { Reader, Transactor } from "../../store/database/index.ts";
import { ownCaller, type PasswordCaller, userAgentOf } from "./passwords.ts";

/** The most characters of a browser's name for itself (`User-Agent`) that a session keeps. */
const maxUserAgent = 300;
/** The most characters of an address; a proxy that is set up wrongly can pass any text as an address. */
const maxAddress = 100;

/** A session in force and the user it belongs to, with the role of this moment. */
export interface Session {
  readonly id: string;
  readonly userId: string;
  readonly role: Role;
  /** Milliseconds since 1970, as all times of the tables of sessions and refresh tokens. */
  readonly expiresAt: number;
}

const selectSession =
  "SELECT s.id AS id, s.userId AS userId, u.role AS role, s.expiresAt AS expiresAt FROM _sessions s JOIN _users u ON u.id = s.userId";

export function findSession(reader: Reader, id: string): Session | null {
  return reader.get<Session>(`${selectSession} WHERE s.id = ?`, id);
}

export function findUnexpired(reader: Reader, id: string | null, now: number): Session | null {
  return reader.get<Session>(`${selectSession} WHERE s.id = ? AND s.expiresAt > ?`, id, now);
}

export function sessionIdsOf(reader: Reader, userId: string): string[] {
  return reader.all<{ id: string }>("SELECT id FROM _sessions WHERE userId = ?", userId).map(({ id }) => id);
}

/** The time of the sign-in, in milliseconds since 1970; a refresh does not move the time. Null for an unknown session. */
export function sessionStart(reader: Reader, id: string): number | null {
  return reader.get<{ createdAt: number }>("SELECT createdAt FROM _sessions WHERE id = ?", id)?.createdAt ?? null;
}

/** A refresh token that is kept; `usedAt` is null until its first use. */
export function findToken(reader: Reader, hash: string): { sessionId: string; usedAt: number | null } | null {
  return reader.get("SELECT sessionId, usedAt FROM _refresh_tokens WHERE hash = ?", hash);
}

/** Inserts a session that begins now: with the address and the browser of the caller who signs in. */
export function insertSession(
  tx: Transactor,
  { id, userId, expiresAt }: Session,
  { now, caller }: { now: number; caller: PasswordCaller },
): void {
  const sql =
    "INSERT INTO _sessions (id, userId, createdAt, expiresAt, lastUsedAt, address, userAgent) VALUES (?, ?, ?, ?, ?, ?, ?)";
  const address = caller === ownCaller ? null : caller.key.slice(0, maxAddress).toWellFormed();
  tx.run(
    sql,
    id,
    userId,
    now,
    expiresAt,
    now,
    address,
    userAgentOf(caller)?.slice(0, maxUserAgent).toWellFormed() ?? null,
  );
}

type SessionRow = Pick<SessionEntry, "id" | "address" | "userAgent"> & {
  createdAt: number;
  expiresAt: number;
  /** Null for a session that an earlier version opened, until the first refresh. */
  lastUsedAt: number | null;
};

/** The sessions of a user that have not expired, newest first. */
export function listSessions(reader: Reader, userId: string, now: number): SessionEntry[] {
  const sql =
    "SELECT id, createdAt, lastUsedAt, expiresAt, address, userAgent FROM _sessions WHERE userId = ? AND expiresAt > ? ORDER BY createdAt DESC, id DESC";
  return reader.all<SessionRow>(sql, userId, now).map((row) => ({
    ...row,
    createdAt: toTimestamp(row.createdAt),
    lastUsedAt: toTimestamp(row.lastUsedAt ?? row.createdAt),
    expiresAt: toTimestamp(row.expiresAt),
  }));
}
