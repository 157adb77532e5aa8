/** Sessions and their refresh tokens: opened, refreshed, looked up in memory, and ended. */
import type { Role, SessionEntry, User } from "@socle/protocol";
import { BoundedMap, newId, toTimestamp } from "../../base/kernel/index.ts";
import type { LimitMeter } from "../../base/logging/index.ts";
import { type Database, noteKind, type Reader, type Transactor } from "../../store/database/index.ts";
import {
  deleteSession,
  deleteToken,
  expiredSessions,
  findSession,
  findToken,
  findUnexpired,
  insertSession,
  insertToken,
  markTokenUsed,
  renewSession,
  type Session,
  sessionIdsOf,
  sessionsBeyond,
  tokensUsedBefore,
  unexpiredOf,
} from "./session-table.ts";
import { hashRefreshToken, RefreshTokens } from "./tokens.ts";

/** The grace time of a used token: two tabs that refresh at the same time use the same token. */
const graceMs = 10_000;
const capacity = 20_000;
/** The most used refresh tokens in memory. */
const usesCapacity = 50_000;
/** The most expired sessions, and used refresh tokens, that a transaction removes. */
const sweepStep = 50;
/** The most exchanges within the grace time that lead from a used token to the token in force. */
const maxChain = 1_000;

/** A change of a session, reported at the moment of the commit: the user's new role, or null for an ended session. */
export interface SessionChange {
  readonly sessionId: string;
  readonly role: Role | null;
}

/** A session that was opened or renewed, and the hash of the refresh token that was used for that; null for a login. */
const sessionKept = noteKind<{ readonly session: Session; readonly used: string | null }>("sessions.kept");
const sessionChanged = noteKind<SessionChange>("sessions.changed");

export type RefreshOutcome =
  | { kind: "refreshed"; session: Session; refreshToken: string }
  | { kind: "unknown" }
  /** A copy of the token was used before, and the session is over. */
  | { kind: "reused"; session: Session };

export class Sessions {
  readonly #database: Database;
  readonly #ttlMs: number;
  readonly #maxPerUser: number;
  readonly #limits: LimitMeter;
  readonly #tokens: RefreshTokens;
  readonly #live = new BoundedMap<string, Session>(capacity);
  /** When refresh tokens were used, by their hashes, on a monotonic clock. The stored time is for a restart. */
  readonly #uses = new BoundedMap<string, number>(usesCapacity);
  readonly #listeners = new Set<(change: SessionChange) => void>();

  constructor(options: {
    database: Database;
    ttlMs: number;
    /** The most sessions of a user; another login ends the oldest session. */
    maxPerUser: number;
    limits: LimitMeter;
    /** See `RefreshTokens`. */
    tokenKey: () => string;
  }) {
    this.#database = options.database;
    this.#ttlMs = options.ttlMs;
    this.#maxPerUser = options.maxPerUser;
    this.#limits = options.limits;
    this.#tokens = new RefreshTokens(options.tokenKey);
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

  find(id: string, reader: Reader = this.#database.reader): Session | null {
    const session = findSession(reader, id);
    if (session !== null) this.#live.set(id, session);
    return session;
  }

  open(tx: Transactor, user: User): { session: Session; refreshToken: string } {
    const now = Date.now();
    const session: Session = { id: newId("ses", now), userId: user.id, role: user.role, expiresAt: now + this.#ttlMs };
    insertSession(tx, session, now);
    const refreshToken = this.#tokens.first(session.id);
    this.#keep(tx, session.id, refreshToken);
    this.#endOldest(tx, session, now);
    tx.note(sessionKept.of({ session, used: null }));
    return { session, refreshToken };
  }

  /**
   * Exchanges a refresh token (single use, rotated; reuse ends the session). Within ten seconds of its use, the answer is
   * the token in force, and nothing is changed.
   */
  refresh(tx: Transactor, token: string): RefreshOutcome {
    const now = Date.now();
    const hash = hashRefreshToken(token);
    const found = findToken(tx, hash);
    const session = findUnexpired(tx, found?.sessionId ?? this.#tokens.sessionOf(token), now);
    if (session === null) return { kind: "unknown" };
    if (found?.usedAt !== null) {
      if (this.#isInGrace(hash, found?.usedAt ?? null)) return this.#inForce(tx, session, token);
      this.end(tx, session.id);
      return { kind: "reused", session };
    }
    const renewed: Session = { ...session, expiresAt: now + this.#ttlMs };
    const refreshToken = this.#tokens.successor(token, session.id);
    markTokenUsed(tx, hash, now);
    renewSession(tx, renewed);
    this.#keep(tx, session.id, refreshToken);
    tx.note(sessionKept.of({ session: renewed, used: hash }));
    return { kind: "refreshed", session: renewed, refreshToken };
  }

  /** The session of a refresh token, used or not, that has not expired. */
  ofRefreshToken(tx: Transactor, token: string): Session | null {
    const found = findToken(tx, hashRefreshToken(token));
    return findUnexpired(tx, found?.sessionId ?? this.#tokens.sessionOf(token), Date.now());
  }

  /** Ends a session; its tokens are refused from the commit on. */
  end(tx: Transactor, id: string): void {
    deleteSession(tx, id);
    // The caller of the next transaction is looked up in memory.
    tx.endBatch();
    tx.note(sessionChanged.of({ sessionId: id, role: null }));
  }

  /** Makes a user's new role count in every session, from the commit on. */
  changeRole(tx: Transactor, userId: string, role: Role): void {
    tx.endBatch();
    for (const sessionId of sessionIdsOf(tx, userId)) tx.note(sessionChanged.of({ sessionId, role }));
  }

  /** Ends every session of a user except `keptSession`. */
  endAll(tx: Transactor, userId: string, keptSession: string | null = null): void {
    for (const id of sessionIdsOf(tx, userId)) if (id !== keptSession) this.end(tx, id);
  }

  /** The sessions of a user that have not expired, newest first. */
  list(userId: string, now: number, reader: Reader = this.#database.reader): SessionEntry[] {
    const rows = unexpiredOf(reader, userId, now);
    return rows.map(({ id, createdAt, expiresAt }) => ({
      id,
      createdAt: toTimestamp(createdAt),
      expiresAt: toTimestamp(expiresAt),
    }));
  }

  /** Removes expired sessions and used refresh tokens in small steps, to the end or until `signal` is aborted. */
  async sweep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.#sweepStep(Date.now()))) {
      // Waiting writes run between two steps.
      await Bun.sleep(5);
    }
  }

  /** Answers whether another step is due. */
  async #sweepStep(now: number): Promise<boolean> {
    const { reader } = this.#database;
    const sessions = expiredSessions(reader, now, sweepStep);
    const tokens = tokensUsedBefore(reader, now - graceMs, sweepStep);
    if (sessions.length === 0 && tokens.length === 0) return false;
    await this.#database.transact((tx) => {
      // The session may have been renewed since.
      for (const id of sessions) if (findUnexpired(tx, id, now) === null) this.end(tx, id);
      for (const hash of tokens) deleteToken(tx, hash);
    });
    return Math.max(sessions.length, tokens.length) === sweepStep;
  }

  /**
   * Whether a token was used within the grace time. The system clock may have been set in between, and the sweep, which
   * follows the system clock, may have removed the token.
   * @param storedAt milliseconds since 1970; null for a removed token.
   */
  #isInGrace(hash: string, storedAt: number | null): boolean {
    const usedAt = this.#uses.get(hash);
    if (usedAt !== undefined) return performance.now() - usedAt <= graceMs;
    // The time since the use is negative when the clock was set back.
    return storedAt !== null && Math.abs(Date.now() - storedAt) <= graceMs;
  }

  #keep(tx: Transactor, sessionId: string, token: string): void {
    insertToken(tx, { hash: hashRefreshToken(token), sessionId, now: Date.now() });
  }

  /** Follows a token, used within the grace time, to the token in force. */
  #inForce(tx: Transactor, session: Session, used: string): RefreshOutcome {
    let refreshToken = used;
    for (let step = 0; step < maxChain; step++) {
      refreshToken = this.#tokens.successor(refreshToken, session.id);
      const hash = hashRefreshToken(refreshToken);
      const row = findToken(tx, hash);
      // The key of the tokens has changed since.
      if (row === null && !this.#isInGrace(hash, null)) break;
      if (row?.usedAt === null) return { kind: "refreshed", session, refreshToken };
    }
    return { kind: "unknown" };
  }

  /** Keeps the sessions of a user within their bound. The newest stays, also when the clock was set back. */
  #endOldest(tx: Transactor, newest: Session, now: number): void {
    const tooMany = sessionsBeyond(tx, newest, { keep: this.#maxPerUser, now });
    for (const id of tooMany) this.end(tx, id);
    if (tooMany.length > 0) tx.onDurable(() => this.#limits.reached("sessionsPerUser", { userId: newest.userId }));
  }
}
