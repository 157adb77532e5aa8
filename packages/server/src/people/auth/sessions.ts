/** Sessions with their access tokens and refresh tokens: opened, refreshed, looked up in memory, and ended. */
import type { Role, SessionEntry, User } from "@socle/protocol";
import { BoundedMap, isSameSecret, newId, randomToken, toTimestamp } from "../../base/kernel/index.ts";
import type { LimitMeter } from "../../base/logging/index.ts";
import { type Database, noteKind, type Reader, type Transactor } from "../../store/database/index.ts";
import { endAttemptsOf } from "./attempt-table.ts";
import { type ExpiringRows, expiredIn } from "./expiring-table.ts";
import { ownCaller, type PasswordCaller, userAgentOf } from "./passwords.ts";
import { findToken, generationOf, graceMs, hashOf, keepToken, markUsed } from "./refresh-token-table.ts";
import { noteUse } from "./user-table.ts";
import type { Uses } from "./uses.ts";

const capacity = 20_000;
/** The most used refresh tokens in memory. */
const usesCapacity = 50_000;
/** The most exchanges within the grace time that lead from a used token to the token in force. */
const maxChain = 1_000;

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

function sessionIdsOf(reader: Reader, userId: string): string[] {
  return reader.all<{ id: string }>("SELECT id FROM _sessions WHERE userId = ?", userId).map(({ id }) => id);
}

/** A sign-in: the time, which a refresh does not move, and the email of the user, null for an anonymous user. */
interface SignInOfSession {
  readonly createdAt: number;
  readonly email: string | null;
}

/** The sign-in that has opened a session; null for an unknown session. */
export function signInOf(reader: Reader, id: string): SignInOfSession | null {
  const sql = "SELECT s.createdAt, u.email FROM _sessions s JOIN _users u ON u.id = s.userId WHERE s.id = ?";
  return reader.get<SignInOfSession>(sql, id);
}

/** Inserts a session that begins now: with the address and the browser of the caller who signs in. */
function insertSession(
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

export const expiringSessions: ExpiringRows = {
  over: expiredIn("_sessions", "id"),
  remove(tx, id, now) {
    // The session may have been renewed since.
    if (findUnexpired(tx, id, now) === null) endSession(tx, id);
  },
};

type SessionRow = Pick<SessionEntry, "id" | "address" | "userAgent"> & {
  createdAt: number;
  expiresAt: number;
  /** Null for a session that an earlier version opened, until the first refresh. */
  lastUsedAt: number | null;
};

/** The sessions of a user that have not expired, newest first. */
function listSessions(reader: Reader, userId: string, now: number): SessionEntry[] {
  const sql =
    "SELECT id, createdAt, lastUsedAt, expiresAt, address, userAgent FROM _sessions WHERE userId = ? AND expiresAt > ? ORDER BY createdAt DESC, id DESC";
  return reader.all<SessionRow>(sql, userId, now).map((row) => ({
    ...row,
    createdAt: toTimestamp(row.createdAt),
    lastUsedAt: toTimestamp(row.lastUsedAt ?? row.createdAt),
    expiresAt: toTimestamp(row.expiresAt),
  }));
}

/** A session that has just begun, with the first refresh token. */
export interface OpenedSession {
  readonly session: Session;
  readonly refreshToken: string;
}

/** A change of a session or an API key, reported at the moment of the commit: the new role, or null for the end. */
interface SessionChange {
  readonly sessionId: string;
  readonly role: Role | null;
}

/** A session that was opened or renewed, and the hash of the refresh token that was used for that; null for a login. */
const sessionKept = noteKind<{ readonly session: Session; readonly used: string | null }>("sessions.kept");
export const sessionChanged = noteKind<SessionChange>("sessions.changed");

type RefreshOutcome =
  | { kind: "refreshed"; session: Session; refreshToken: string; generation: string }
  | { kind: "unknown" }
  /** A copy of the token was used before, and the session is over. */
  | { kind: "reused"; session: Session };

/** Ends a session; its tokens are refused from the commit on. */
function endSession(tx: Transactor, id: string): void {
  tx.run("DELETE FROM _refresh_tokens WHERE sessionId = ?", id);
  tx.run("DELETE FROM _sessions WHERE id = ?", id);
  // The caller of the next transaction is looked up in memory.
  tx.endBatch();
  tx.note(sessionChanged.of({ sessionId: id, role: null }));
}

/** Ends every session of a user except `keptSession`. */
export function endSessionsOf(tx: Transactor, userId: string, keptSession: string | null): void {
  for (const id of sessionIdsOf(tx, userId)) if (id !== keptSession) endSession(tx, id);
}

interface SessionsOptions {
  database: Database;
  ttlMs: number;
  /** The most sessions of a user; another login ends the oldest session. */
  maxPerUser: number;
  limits: LimitMeter;
  uses: Uses;
  /** A secret of the service, available once auth has started. */
  tokenKey: () => string;
}

/**
 * A refresh token is `{session id}.{256 random bits}.{signature}`. The database has only hashes. The successor of a token
 * is computed from the token, so that simultaneous requests with one token get the same successor. The signature proves
 * that the service issued the token, also after the hash was removed.
 */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #live = new BoundedMap<string, Session>(capacity);
  /** When refresh tokens were used, by their hashes, on a monotonic clock. The stored time is for a restart. */
  readonly #uses = new BoundedMap<string, number>(usesCapacity);
  readonly #listeners = new Set<(change: SessionChange) => void>();

  constructor(options: SessionsOptions) {
    this.#options = options;
    const { projection } = options.database;
    projection.on(sessionKept, ({ session, used }) => {
      this.#live.set(session.id, session);
      if (used !== null) this.#uses.set(used, performance.now());
    });
    projection.on(sessionChanged, (change) => {
      this.#live.delete(change.sessionId);
      for (const listener of this.#listeners) listener(change);
    });
  }

  /** Calls `listener` with every change from now on. Answers a function that ends the calls. */
  listen(listener: (change: SessionChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A recently used session. */
  known(id: string): Session | undefined {
    return this.#live.get(id);
  }

  find(id: string, reader: Reader = this.#options.database.reader): Session | null {
    const session = findSession(reader, id);
    if (session !== null) this.#live.set(id, session);
    return session;
  }

  /** @param caller whose address and browser the session shows. */
  open(tx: Transactor, { id: userId, role }: User, caller: PasswordCaller): OpenedSession {
    const now = Date.now();
    const session: Session = { id: newId("ses", now), userId, role, expiresAt: now + this.#options.ttlMs };
    insertSession(tx, session, { now, caller });
    noteUse(tx, userId, now);
    const refreshToken = this.#signed(`${session.id}.${randomToken(32)}`);
    keepToken(tx, hashOf(refreshToken), { sessionId: session.id, isSeen: 1 });
    this.#endOldest(tx, session, now);
    tx.note(sessionKept.of({ session, used: null }));
    return { session, refreshToken };
  }

  /**
   * Exchanges a refresh token (single use, rotated; reuse ends the session). Within ten seconds of its use, the answer is
   * the token in force, and nothing is changed. Later, a token whose successor was never shown is exchanged again, for the
   * same successor: the answer to the first use was lost. A thief gains nothing by this rule: who uses the token or the
   * successor second ends the session.
   */
  refresh(tx: Transactor, token: string): RefreshOutcome {
    const now = Date.now();
    const hash = hashOf(token);
    const found = findToken(tx, hash);
    const session = findUnexpired(tx, found?.sessionId ?? this.#sessionOf(token), now);
    if (session === null) return { kind: "unknown" };
    const refreshToken = this.#successor(token, session.id);
    const next = hashOf(refreshToken);
    if (found?.usedAt !== null) {
      if (this.#isInGrace(hash, found?.usedAt ?? null)) return this.#inForce(tx, session, token);
      if (!this.#isUnseen(tx, next)) {
        this.end(tx, session.id);
        return { kind: "reused", session };
      }
    }
    const renewed: Session = { ...session, expiresAt: now + this.#options.ttlMs };
    markUsed(tx, hash, { sessionId: session.id, at: now });
    tx.run("UPDATE _sessions SET expiresAt = ?, lastUsedAt = ? WHERE id = ?", renewed.expiresAt, now, session.id);
    keepToken(tx, next, { sessionId: session.id, isSeen: 0 });
    noteUse(tx, session.userId, now);
    tx.note(sessionKept.of({ session: renewed, used: hash }));
    return { kind: "refreshed", session: renewed, refreshToken, generation: generationOf(next) };
  }

  /** The session of a refresh token, used or not, that has not expired. */
  ofRefreshToken(tx: Transactor, token: string): Session | null {
    const found = findToken(tx, hashOf(token));
    return findUnexpired(tx, found?.sessionId ?? this.#sessionOf(token), Date.now());
  }

  /** Ends a session; its tokens are refused from the commit on. */
  end(tx: Transactor, id: string): void {
    endSession(tx, id);
  }

  /** Lets a session expire after `ttlMs`. */
  shorten(tx: Transactor, id: string, ttlMs: number): void {
    tx.run("UPDATE _sessions SET expiresAt = ? WHERE id = ?", Date.now() + ttlMs, id);
  }

  /** Makes a user's new role count in every session, from the commit on. */
  changeRole(tx: Transactor, userId: string, role: Role): void {
    tx.endBatch();
    for (const sessionId of sessionIdsOf(tx, userId)) tx.note(sessionChanged.of({ sessionId, role }));
  }

  /** Ends every session of a user except `keptSession`, and the sign-ins that wait for the second factor. */
  endAll(tx: Transactor, userId: string, keptSession: string | null = null): void {
    endAttemptsOf(tx, userId);
    endSessionsOf(tx, userId, keptSession);
  }

  /** The sessions of a user that have not expired, newest first. */
  list(userId: string, reader: Reader = this.#options.database.reader): SessionEntry[] {
    return listSessions(reader, userId, Date.now());
  }

  /**
   * Whether a token was used within the grace time. The system clock may have been set in between, and the sweep, which
   * follows the system clock, may have removed the token.
   * @param storedAt null for a removed token.
   */
  #isInGrace(hash: string, storedAt: number | null): boolean {
    const usedAt = this.#uses.get(hash);
    if (usedAt !== undefined) return performance.now() - usedAt <= graceMs;
    // The time since the use is negative when the clock was set back.
    return storedAt !== null && Math.abs(Date.now() - storedAt) <= graceMs;
  }

  /** Whether a token is in force, and no request has shown the token or an access token of the same generation. */
  #isUnseen(reader: Reader, hash: string): boolean {
    const token = findToken(reader, hash);
    return token?.usedAt === null && token.isSeen === 0 && this.#options.uses.at(generationOf(hash)) === undefined;
  }

  /** Follows a token, used within the grace time, to the token in force. */
  #inForce(tx: Transactor, session: Session, used: string): RefreshOutcome {
    let refreshToken = used;
    for (let step = 0; step < maxChain; step++) {
      refreshToken = this.#successor(refreshToken, session.id);
      const hash = hashOf(refreshToken);
      const row = findToken(tx, hash);
      // The key of the tokens has changed since.
      if (row === null && !this.#isInGrace(hash, null)) break;
      if (row?.usedAt === null) return { kind: "refreshed", session, refreshToken, generation: generationOf(hash) };
    }
    return { kind: "unknown" };
  }

  /** Keeps the sessions of a user within their bound. The newest stays, also when the clock was set back. */
  #endOldest(tx: Transactor, { userId, id: newest }: Session, now: number): void {
    const { maxPerUser, limits } = this.#options;
    const sql =
      "SELECT id FROM _sessions WHERE userId = ? AND expiresAt > ? AND id <> ? ORDER BY createdAt DESC, id DESC LIMIT -1 OFFSET ?";
    const tooMany = tx.all<{ id: string }>(sql, userId, now, newest, maxPerUser - 1);
    for (const { id } of tooMany) this.end(tx, id);
    if (tooMany.length > 0) tx.onDurable(() => limits.reached("sessionsPerUser", { userId }));
  }

  /** The token that another is exchanged for: always the same. */
  #successor(token: string, sessionId: string): string {
    return this.#signed(`${sessionId}.${this.#digest(`next ${token}`)}`);
  }

  /** The session that a token was issued for, whenever that was; null for a token that this service has not issued. */
  #sessionOf(token: string): string | null {
    const unsigned = token.slice(0, Math.max(0, token.lastIndexOf(".")));
    return isSameSecret(token, this.#signed(unsigned)) ? (unsigned.split(".")[0] ?? null) : null;
  }

  #signed(text: string): string {
    return `${text}.${this.#digest(`sign ${text}`)}`;
  }

  #digest(text: string): string {
    return new Bun.CryptoHasher("sha256", this.#options.tokenKey()).update(text).digest("base64url");
  }
}
