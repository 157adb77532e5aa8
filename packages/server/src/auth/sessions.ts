import type { Role, SessionEntry, User } from "@socle/protocol";
import type { Database, Reader, Transactor } from "../database/index.ts";
import { BoundedMap, newId, toTimestamp } from "../kernel/index.ts";
import { hashRefreshToken, newRefreshToken } from "./tokens.ts";

/** Two tabs that refresh at once both use the same token; this long it works again. */
const graceMs = 10_000;
const capacity = 20_000;
/** How soon a change by another process is seen. */
const lookEveryMs = 200;
/** Expired sessions that one login clears away. */
const sweep = 50;

/** A session in force and the user it belongs to, with the role of this moment. */
export interface Session {
  readonly id: string;
  readonly userId: string;
  readonly role: Role;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/**
 * What happened to a session, told in the moment of the commit: its user's role changed, or it ended (null). Without an
 * id: another process has written, and any session may have changed.
 */
export type SessionChange = { readonly sessionId: string; readonly role: Role | null } | { readonly sessionId: null };

export type RefreshOutcome =
  | { kind: "refreshed"; session: Session; refreshToken: string }
  | { kind: "unknown" }
  /** The token had been used before: somebody has a copy of it, and the session is over. */
  | { kind: "reused"; session: Session };

const selectSession =
  "SELECT s.id AS id, s.userId AS userId, u.role AS role, s.expiresAt AS expiresAt FROM _sessions s JOIN _users u ON u.id = s.userId";

/** Sessions and their refresh tokens. What a request needs of them is answered from memory. */
export class Sessions {
  readonly #database: Database;
  readonly #ttlMs: number;
  #ended = 0;
  #nextLook = 0;
  #outsideVersion = 0;
  readonly #live = new BoundedMap<string, Session>(capacity);
  readonly #listeners = new Set<(change: SessionChange) => void>();

  constructor(options: { database: Database; ttlMs: number }) {
    this.#database = options.database;
    this.#ttlMs = options.ttlMs;
  }

  /** Has `listener` called with every change from now on. Answers how to stop that. */
  listen(listener: (change: SessionChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A session that was asked for lately. */
  known(id: string): Session | undefined {
    this.lookOutside();
    return this.#live.get(id);
  }

  async find(id: string, reader: Reader = this.#database.reader): Promise<Session | null> {
    const ended = this.#ended;
    const session = await reader.get<Session>(`${selectSession} WHERE s.id = ?`, id);
    // A session that ended while it was read must not come back to life in memory.
    if (session !== null && ended === this.#ended) this.#live.set(id, session);
    return session;
  }

  async open(tx: Transactor, user: User, now: number): Promise<{ session: Session; refreshToken: string }> {
    const session: Session = { id: newId("ses", now), userId: user.id, role: user.role, expiresAt: now + this.#ttlMs };
    await tx.run(
      "INSERT INTO _sessions (id, userId, createdAt, expiresAt) VALUES (?, ?, ?, ?)",
      session.id,
      user.id,
      now,
      session.expiresAt,
    );
    const refreshToken = await this.#issue(tx, session.id, now);
    await this.#sweep(tx, now);
    tx.afterCommit(() => this.#live.set(session.id, session));
    return { session, refreshToken };
  }

  /** Exchanges a refresh token (single use, rotated; reuse ends the session). */
  async refresh(tx: Transactor, token: string, now: number): Promise<RefreshOutcome> {
    const hash = hashRefreshToken(token);
    const found = await tx.get<{ sessionId: string; usedAt: number | null }>(
      "SELECT sessionId, usedAt FROM _refresh_tokens WHERE hash = ?",
      hash,
    );
    if (found === null) return { kind: "unknown" };
    const old = await tx.get<Session>(`${selectSession} WHERE s.id = ?`, found.sessionId);
    if (old === null || old.expiresAt <= now) return { kind: "unknown" };
    if (found.usedAt !== null && now - found.usedAt > graceMs) {
      await this.end(tx, old.id);
      return { kind: "reused", session: old };
    }
    const session: Session = { ...old, expiresAt: now + this.#ttlMs };
    await tx.run("UPDATE _refresh_tokens SET usedAt = coalesce(usedAt, ?) WHERE hash = ?", now, hash);
    await tx.run("UPDATE _sessions SET expiresAt = ? WHERE id = ?", session.expiresAt, session.id);
    // Used tokens are kept to know them again, as long as an unused one of their time could have lived.
    await tx.run("DELETE FROM _refresh_tokens WHERE sessionId = ? AND usedAt < ?", session.id, now - this.#ttlMs);
    const refreshToken = await this.#issue(tx, session.id, now);
    tx.afterCommit(() => this.#live.set(session.id, session));
    return { kind: "refreshed", session, refreshToken };
  }

  /** The session of a refresh token, used or not, that has not expired. */
  async ofRefreshToken(tx: Transactor, token: string, now: number): Promise<Session | null> {
    return tx.get<Session>(
      `${selectSession} JOIN _refresh_tokens t ON t.sessionId = s.id WHERE t.hash = ? AND s.expiresAt > ?`,
      hashRefreshToken(token),
      now,
    );
  }

  /** Ends a session; its tokens are refused from the commit on. */
  async end(tx: Transactor, id: string): Promise<void> {
    await tx.run("DELETE FROM _refresh_tokens WHERE sessionId = ?", id);
    await tx.run("DELETE FROM _sessions WHERE id = ?", id);
    tx.afterCommit(() => {
      this.#ended += 1;
      this.#live.delete(id);
      this.#tell({ sessionId: id, role: null });
    });
  }

  /** Makes a user's new role count in every session, from the commit on. */
  async changeRole(tx: Transactor, userId: string, role: Role): Promise<void> {
    const sessions = await tx.all<{ id: string }>("SELECT id FROM _sessions WHERE userId = ?", userId);
    tx.afterCommit(() => {
      this.#ended += 1;
      for (const { id } of sessions) {
        this.#live.delete(id);
        this.#tell({ sessionId: id, role });
      }
    });
  }

  /** Ends every session of a user but one that is to stay. */
  async endAll(tx: Transactor, userId: string, keptSession: string | null = null): Promise<void> {
    for (const { id } of await tx.all<{ id: string }>("SELECT id FROM _sessions WHERE userId = ?", userId))
      if (id !== keptSession) await this.end(tx, id);
  }

  /** The sessions of a user that have not expired, newest first. */
  async list(userId: string, now: number, reader: Reader = this.#database.reader): Promise<SessionEntry[]> {
    const rows = await reader.all<{ id: string; createdAt: number; expiresAt: number }>(
      "SELECT id, createdAt, expiresAt FROM _sessions WHERE userId = ? AND expiresAt > ? ORDER BY createdAt DESC, id DESC",
      userId,
      now,
    );
    return rows.map(({ id, createdAt, expiresAt }) => ({
      id,
      createdAt: toTimestamp(createdAt),
      expiresAt: toTimestamp(expiresAt),
    }));
  }

  /** `socle admin create` beside a running service ends sessions, too: looks whether another process has written. */
  lookOutside(): void {
    const now = performance.now();
    if (now < this.#nextLook) return;
    this.#nextLook = now + lookEveryMs;
    const version = this.#database.outsideVersion;
    if (version === this.#outsideVersion) return;
    this.#outsideVersion = version;
    this.#ended += 1;
    this.#live.clear();
    this.#tell({ sessionId: null });
  }

  #tell(change: SessionChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  async #issue(tx: Transactor, sessionId: string, now: number): Promise<string> {
    const { token, hash } = newRefreshToken();
    await tx.run("INSERT INTO _refresh_tokens (hash, sessionId, createdAt) VALUES (?, ?, ?)", hash, sessionId, now);
    return token;
  }

  async #sweep(tx: Transactor, now: number): Promise<void> {
    const expired = await tx.all<{ id: string }>("SELECT id FROM _sessions WHERE expiresAt <= ? LIMIT ?", now, sweep);
    for (const { id } of expired) await this.end(tx, id);
  }
}
