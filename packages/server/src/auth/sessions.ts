/** Sessions and their refresh tokens: opened, refreshed, looked up and ended. Requests find them in memory. */
import type { Role, SessionEntry, User } from "@socle/protocol";
import type { Database, Reader, Transactor } from "../database/index.ts";
import { type Awaitable, BoundedMap, newId, toTimestamp } from "../kernel/index.ts";
import type { LimitMeter } from "../logging/index.ts";
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

/** Two tabs that refresh at once both use the same token; this long it works again. */
const graceMs = 10_000;
const capacity = 20_000;
/** Used refresh tokens whose use is remembered. */
const usesCapacity = 50_000;
/** Expired sessions, and used refresh tokens, that one transaction clears away. */
const sweepStep = 50;
/** Exchanges within the grace time that are followed from a used token to the one in force. */
const maxChain = 1_000;

/** A change of a session, told in the moment of the commit: its user's new role, or null when it has ended. */
export interface SessionChange {
  readonly sessionId: string;
  readonly role: Role | null;
}

export type RefreshOutcome =
  | { kind: "refreshed"; session: Session; refreshToken: string }
  | { kind: "unknown" }
  /** The token had been used before: there is a copy of it, and the session is over. */
  | { kind: "reused"; session: Session };

export class Sessions {
  readonly #database: Database;
  readonly #ttlMs: number;
  readonly #maxPerUser: number;
  readonly #limits: LimitMeter;
  readonly #tokens: RefreshTokens;
  #ended = 0;
  readonly #live = new BoundedMap<string, Session>(capacity);
  /**
   * When refresh tokens were used, by their hashes, on a clock that nobody sets. The stored time is for after a
   * restart.
   */
  readonly #uses = new BoundedMap<string, number>(usesCapacity);
  readonly #listeners = new Set<(change: SessionChange) => void>();

  constructor(options: {
    database: Database;
    ttlMs: number;
    /** Sessions of one user; a further one ends the oldest. */
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
  }

  /** Has `listener` called with every change from now on. Answers how to stop that. */
  listen(listener: (change: SessionChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A session that was asked for lately. */
  known(id: string): Session | undefined {
    return this.#live.get(id);
  }

  async find(id: string, reader: Reader = this.#database.reader): Promise<Session | null> {
    const ended = this.#ended;
    const session = await findSession(reader, id);
    // A session that ended while it was read must not come back to life in memory.
    if (session !== null && ended === this.#ended) this.#live.set(id, session);
    return session;
  }

  async open(tx: Transactor, user: User): Promise<{ session: Session; refreshToken: string }> {
    const now = Date.now();
    const session: Session = { id: newId("ses", now), userId: user.id, role: user.role, expiresAt: now + this.#ttlMs };
    await insertSession(tx, session, now);
    const refreshToken = this.#tokens.first(session.id);
    await this.#keep(tx, session.id, refreshToken);
    await this.#endOldest(tx, session, now);
    tx.onCommit(() => this.#live.set(session.id, session));
    return { session, refreshToken };
  }

  /**
   * Exchanges a refresh token (single use, rotated; reuse ends the session). Within ten seconds of its use, it is
   * answered with the token in force, and nothing is changed.
   */
  async refresh(tx: Transactor, token: string): Promise<RefreshOutcome> {
    const now = Date.now();
    const hash = hashRefreshToken(token);
    const found = await findToken(tx, hash);
    const session = await findUnexpired(tx, found?.sessionId ?? this.#tokens.sessionOf(token), now);
    if (session === null) return { kind: "unknown" };
    if (found?.usedAt !== null) {
      if (this.#isInGrace(hash, found?.usedAt ?? null)) return this.#inForce(tx, session, token);
      await this.end(tx, session.id);
      return { kind: "reused", session };
    }
    const renewed: Session = { ...session, expiresAt: now + this.#ttlMs };
    const refreshToken = this.#tokens.successor(token, session.id);
    await markTokenUsed(tx, hash, now);
    // Of a transaction that fails, this is never read: the token stays unused.
    this.#uses.set(hash, performance.now());
    await renewSession(tx, renewed);
    await this.#keep(tx, session.id, refreshToken);
    tx.onCommit(() => this.#live.set(session.id, renewed));
    return { kind: "refreshed", session: renewed, refreshToken };
  }

  /** The session of a refresh token, used or not, that has not expired. */
  async ofRefreshToken(tx: Transactor, token: string): Promise<Session | null> {
    const found = await findToken(tx, hashRefreshToken(token));
    return findUnexpired(tx, found?.sessionId ?? this.#tokens.sessionOf(token), Date.now());
  }

  /** Ends a session; its tokens are refused from the commit on. */
  async end(tx: Transactor, id: string): Promise<void> {
    await deleteSession(tx, id);
    // The caller of the next transaction is looked up in memory.
    tx.endBatch();
    tx.onCommit(() => {
      this.#ended += 1;
      this.#live.delete(id);
      this.#tell({ sessionId: id, role: null });
    });
  }

  /** Makes a user's new role count in every session, from the commit on. */
  async changeRole(tx: Transactor, userId: string, role: Role): Promise<void> {
    const sessions = await sessionIdsOf(tx, userId);
    tx.endBatch();
    tx.onCommit(() => {
      this.#ended += 1;
      for (const id of sessions) {
        this.#live.delete(id);
        this.#tell({ sessionId: id, role });
      }
    });
  }

  /** Ends every session of a user but one that is to stay. */
  async endAll(tx: Transactor, userId: string, keptSession: string | null = null): Promise<void> {
    for (const id of await sessionIdsOf(tx, userId)) if (id !== keptSession) await this.end(tx, id);
  }

  /** The sessions of a user that have not expired, newest first. */
  async list(userId: string, now: number, reader: Reader = this.#database.reader): Promise<SessionEntry[]> {
    const rows = await unexpiredOf(reader, userId, now);
    return rows.map(({ id, createdAt, expiresAt }) => ({
      id,
      createdAt: toTimestamp(createdAt),
      expiresAt: toTimestamp(expiresAt),
    }));
  }

  #tell(change: SessionChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  /** Removes expired sessions and used refresh tokens in small steps, until none is left or `signal` is aborted. */
  async sweep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.#sweepStep(Date.now()))) {
      // Between two steps the writes that wait get their turn.
      await Bun.sleep(5);
    }
  }

  /** Answers whether there may be more to remove. */
  async #sweepStep(now: number): Promise<boolean> {
    const { reader } = this.#database;
    const sessions = await expiredSessions(reader, now, sweepStep);
    const tokens = await tokensUsedBefore(reader, now - graceMs, sweepStep);
    if (sessions.length === 0 && tokens.length === 0) return false;
    await this.#database.transact(async (tx) => {
      // The session may have been renewed meanwhile.
      for (const id of sessions) if ((await findUnexpired(tx, id, now)) === null) await this.end(tx, id);
      for (const hash of tokens) await deleteToken(tx, hash);
    });
    return Math.max(sessions.length, tokens.length) === sweepStep;
  }

  /**
   * Whether a token was used within the grace time. The clock of the system may be set in between, and the sweep, which
   * goes by it, may have removed the token.
   * @param storedAt milliseconds since 1970; null when the token is not kept any more.
   */
  #isInGrace(hash: string, storedAt: number | null): boolean {
    const usedAt = this.#uses.get(hash);
    if (usedAt !== undefined) return performance.now() - usedAt <= graceMs;
    // The time since the use is negative when the clock was set back.
    return storedAt !== null && Math.abs(Date.now() - storedAt) <= graceMs;
  }

  #keep(tx: Transactor, sessionId: string, token: string): Awaitable<unknown> {
    return insertToken(tx, { hash: hashRefreshToken(token), sessionId, now: Date.now() });
  }

  /** Follows a token that was used within the grace time to the one in force. */
  async #inForce(tx: Transactor, session: Session, used: string): Promise<RefreshOutcome> {
    let refreshToken = used;
    for (let step = 0; step < maxChain; step++) {
      refreshToken = this.#tokens.successor(refreshToken, session.id);
      const hash = hashRefreshToken(refreshToken);
      const row = await findToken(tx, hash);
      // The key that tokens are made with has changed since.
      if (row === null && !this.#isInGrace(hash, null)) break;
      if (row?.usedAt === null) return { kind: "refreshed", session, refreshToken };
    }
    return { kind: "unknown" };
  }

  /** Keeps the sessions of a user within their bound. The newest stays, also when the clock was set back. */
  async #endOldest(tx: Transactor, newest: Session, now: number): Promise<void> {
    const tooMany = await sessionsBeyond(tx, newest, { keep: this.#maxPerUser, now });
    for (const id of tooMany) await this.end(tx, id);
    if (tooMany.length > 0) tx.onCommit(() => this.#limits.reached("sessionsPerUser", { userId: newest.userId }));
  }
}
