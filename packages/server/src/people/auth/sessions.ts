/** Sessions with their access tokens and refresh tokens: opened, refreshed, looked up in memory, and ended. */
import type { Role, SessionEntry, User } from "@socle/protocol";
import { AppError, BoundedMap, isSameSecret, newId, randomToken, type Secret } from "../../base/kernel/index.ts";
import type { LimitMeter } from "../../base/logging/index.ts";
import { type Database, noteKind, type Reader, type Transactor } from "../../store/database/index.ts";
import { endAttemptsOf, expiredAttempts, removeAttempt } from "./factors/attempt-table.ts";
import { expiredChallenges, removeChallenge } from "./factors/passkey-table.ts";
import type { PasswordCaller } from "./passwords.ts";
import { expiredProofs, removeProof } from "./proofs/proof-table.ts";
import { expiredSteps, removeStep } from "./providers/provider-table.ts";
import {
  findSession,
  findToken,
  findUnexpired,
  insertSession,
  listSessions,
  type Session,
  sessionIdsOf,
} from "./session-table.ts";

/** The grace time of a used token: two tabs that refresh at the same time use the same token. */
const graceMs = 10_000;
const capacity = 20_000;
/** The most used refresh tokens in memory. */
const usesCapacity = 50_000;
/** The most expired sessions, and used refresh tokens, that a transaction removes. */
const sweepStep = 50;
/** The most exchanges within the grace time that lead from a used token to the token in force. */
const maxChain = 1_000;

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
  | { kind: "refreshed"; session: Session; refreshToken: string }
  | { kind: "unknown" }
  /** A copy of the token was used before, and the session is over. */
  | { kind: "reused"; session: Session };

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

/** The stored hash of a refresh token: 256 random bits need no slow hash. */
function hashOf(token: string): string {
  return Bun.SHA256.hash(token, "hex");
}

interface SessionsOptions {
  database: Database;
  ttlMs: number;
  /** The most sessions of a user; another login ends the oldest session. */
  maxPerUser: number;
  limits: LimitMeter;
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
    const refreshToken = this.#signed(`${session.id}.${randomToken(32)}`);
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
    const hash = hashOf(token);
    const found = findToken(tx, hash);
    const session = findUnexpired(tx, found?.sessionId ?? this.#sessionOf(token), now);
    if (session === null) return { kind: "unknown" };
    if (found?.usedAt !== null) {
      if (this.#isInGrace(hash, found?.usedAt ?? null)) return this.#inForce(tx, session, token);
      this.end(tx, session.id);
      return { kind: "reused", session };
    }
    const renewed: Session = { ...session, expiresAt: now + this.#options.ttlMs };
    const refreshToken = this.#successor(token, session.id);
    tx.run("UPDATE _refresh_tokens SET usedAt = ? WHERE hash = ?", now, hash);
    tx.run("UPDATE _sessions SET expiresAt = ?, lastUsedAt = ? WHERE id = ?", renewed.expiresAt, now, session.id);
    this.#keep(tx, session.id, refreshToken);
    tx.note(sessionKept.of({ session: renewed, used: hash }));
    return { kind: "refreshed", session: renewed, refreshToken };
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
   * Removes what has expired (sessions, attempts, proofs, sign-ins at providers, challenges) and used refresh tokens, in small steps,
   * to the end or until `signal` is aborted.
   */
  async sweep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.#sweepStep(Date.now()))) {
      // Waiting writes run between two steps.
      await Bun.sleep(5);
    }
  }

  /** Answers whether another step is due. */
  async #sweepStep(now: number): Promise<boolean> {
    const { database } = this.#options;
    const { reader } = database;
    const expired = "SELECT id FROM _sessions WHERE expiresAt <= ? LIMIT ?";
    const sessions = reader.all<{ id: string }>(expired, now, sweepStep);
    const used = "SELECT hash FROM _refresh_tokens WHERE usedAt < ? LIMIT ?";
    const tokens = reader.all<{ hash: string }>(used, now - graceMs, sweepStep);
    const attempts = expiredAttempts(reader, now, sweepStep);
    const proofs = expiredProofs(reader, now, sweepStep);
    const steps = expiredSteps(reader, now, sweepStep);
    const challenges = expiredChallenges(reader, now, sweepStep);
    const longest = Math.max(...[sessions, tokens, attempts, proofs, steps, challenges].map(({ length }) => length));
    if (longest === 0) return false;
    await database.transact((tx) => {
      // The session may have been renewed since.
      for (const { id } of sessions) if (findUnexpired(tx, id, now) === null) this.end(tx, id);
      for (const { hash } of tokens) tx.run("DELETE FROM _refresh_tokens WHERE hash = ?", hash);
      for (const hash of attempts) removeAttempt(tx, hash);
      for (const hash of proofs) removeProof(tx, hash);
      for (const hash of steps) removeStep(tx, hash);
      for (const hash of challenges) removeChallenge(tx, hash);
    });
    return longest === sweepStep;
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

  #keep(tx: Transactor, sessionId: string, token: string): void {
    const sql = "INSERT INTO _refresh_tokens (hash, sessionId, createdAt) VALUES (?, ?, ?)";
    tx.run(sql, hashOf(token), sessionId, Date.now());
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
      if (row?.usedAt === null) return { kind: "refreshed", session, refreshToken };
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

/** The claims of an access token (RFC 7519); `sid` is the session. */
export interface AccessClaims {
  readonly sub: string;
  readonly sid: string;
  /** Seconds since 1970. */
  readonly exp: number;
}

/**
 * Three parts in base64url, the last of 32 bytes without padding and without stray bits (RFC 7515, 2): a decoder ignores
 * padding and stray bits, so a token would have several texts.
 */
const canonical = /^[\w-]+\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]$/;

/** Access tokens: JWT, signed with HS256. The library is loaded with the first token. */
export class AccessTokens {
  readonly #key: Uint8Array;

  constructor(secret: Secret) {
    this.#key = new TextEncoder().encode(secret.reveal());
  }

  /** A secret derived from the signing key. */
  secretFor(purpose: string): string {
    return new Bun.CryptoHasher("sha256", this.#key).update(`socle ${purpose}`).digest("hex");
  }

  async issue(claims: { sub: string; role: string; sid: string }, ttlMs: number): Promise<string> {
    const { SignJWT } = await import("jose");
    const issuedAt = Math.floor(Date.now() / 1_000);
    return new SignJWT({ role: claims.role, sid: claims.sid })
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .setSubject(claims.sub)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + Math.ceil(ttlMs / 1_000))
      .sign(this.#key);
  }

  /** @throws AppError `unauthorized` for anything but a token that this service has signed and that is in time. */
  async verify(token: string): Promise<AccessClaims> {
    if (!canonical.test(token)) throw invalidToken(null);
    const { jwtVerify } = await import("jose");
    const { payload } = await jwtVerify(token, this.#key, { algorithms: ["HS256"] }).catch((cause: unknown) => {
      throw invalidToken(cause);
    });
    const { sub, exp, sid } = payload;
    if (typeof sub !== "string" || typeof sid !== "string") throw invalidToken(null);
    // JavaScript reads a large number of JSON as infinite: the token would have no end.
    if (exp === undefined || !Number.isSafeInteger(exp)) throw invalidToken(null);
    return { sub, sid, exp };
  }
}

export function invalidToken(cause: unknown): AppError {
  return new AppError("unauthorized", "The access token is invalid, expired or revoked.", { cause });
}
