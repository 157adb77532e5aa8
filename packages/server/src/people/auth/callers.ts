/** Callers: who holds an access token or an API key, looked up in memory after the first use, and looked at again in transactions. */
import type { Role, User } from "@socle/protocol";
import {
  type Acting,
  AppError,
  type Bearer,
  BoundedMap,
  type Clock,
  quote,
  type SignedIn,
} from "../../base/kernel/index.ts";
import type { Database, Reader } from "../../store/database/index.ts";
import { type AccessClaims, type AccessTokens, invalidToken } from "./access-tokens.ts";
import { Keys } from "./keys/keys.ts";
import type { Session, Sessions } from "./sessions.ts";
import type { Users } from "./users.ts";
import type { Uses } from "./uses.ts";

/** The most verified tokens in memory: the claims of a token stay; its session and its time are checked at each use. */
const maxClaims = 5_000;

interface CallersOptions {
  database: Database;
  clock: Clock;
  sessions: Sessions;
  keys: Keys;
  users: Users;
  uses: Uses;
  /** Available once auth has started. */
  tokens: () => AccessTokens;
}

export class Callers {
  readonly #sessions: Sessions;
  readonly #keys: Keys;
  readonly #users: Users;
  readonly #uses: Uses;
  readonly #tokens: () => AccessTokens;
  readonly #claims = new BoundedMap<string, AccessClaims>(maxClaims);
  #catchUp: (() => Promise<unknown>) | null = null;
  readonly #clock: Clock;

  constructor(options: CallersOptions) {
    this.#clock = options.clock;
    this.#sessions = options.sessions;
    this.#keys = options.keys;
    this.#users = options.users;
    this.#uses = options.uses;
    this.#tokens = options.tokens;
    options.database.callers.guardBy((reader, caller) => this.#recheck(reader, caller));
  }

  /**
   * The caller of an access token or an API key, after checks of signature, time, session and present role. The answer comes
   * at once if token and session were seen before.
   * @throws AppError `unauthorized`.
   */
  authenticate(token: string): Bearer | Promise<Bearer> {
    const claims = this.#claims.get(token);
    const session = claims && this.#sessions.known(claims.sid);
    if (claims !== undefined && session !== undefined) return signedIn(claims, session, this.#clock.ofLeader());
    const authenticate = (): Promise<SignedIn> | Bearer =>
      Keys.isKey(token) ? this.#keys.authenticate(token) : this.#authenticateNew(token);
    return this.#catchUp === null ? authenticate() : this.#patiently(authenticate, this.#catchUp);
  }

  /** In a replica of a cluster: the session or key of a caller may be newer than this instance; `catchUp` takes all present commits. */
  catchUpWith(catchUp: () => Promise<unknown>): void {
    this.#catchUp = catchUp;
  }

  /**
   * Like `authenticate`, for a caller with an open connection, with the end of the caller's right (milliseconds since 1970, by the clock of this machine).
   * @throws AppError `unauthorized`.
   */
  async connect(token: string): Promise<{ principal: Bearer; expiresAt: number }> {
    const principal = await this.authenticate(token);
    const { aheadMs } = this.#clock;
    const { sessionId } = principal;
    if (Keys.isKey(token)) return { principal, expiresAt: (this.#keys.find(sessionId)?.expiresAt ?? 0) + aheadMs };
    const { exp } = await this.#claimsOf(token);
    const sessionEnd = this.#sessions.known(sessionId)?.expiresAt ?? Number.POSITIVE_INFINITY;
    return { principal, expiresAt: Math.min(exp * 1_000, sessionEnd) + aheadMs };
  }

  /** The role of a session or a key in the database; null for an ended session or key. */
  roleOf(sessionId: string): Role | null {
    if (Keys.isId(sessionId)) return this.#keys.find(sessionId)?.caller.role ?? null;
    const session = this.#sessions.find(sessionId);
    return session === null || session.expiresAt <= this.#clock.ofLeader() ? null : session.role;
  }

  /** The user of a caller, with the role of the caller: a key may have less than its owner. Null for a service key. */
  userOf({ userId, role }: Bearer): User | null {
    const user = userId === null ? null : this.#users.find(userId);
    return user && { ...user, role };
  }

  /** The user behind a change, by the id of a user or an API key (`actorOf`); null for no user, and for a key that has ended. */
  actor(id: string | null): User | null {
    return id === null ? null : (this.#users.find(id) ?? this.#ownerOf(id));
  }

  #ownerOf(keyId: string): User | null {
    const key = this.#keys.find(keyId);
    return key && this.userOf(key.caller);
  }

  /** The caller guard of the database. The guard reads memory, which changes at the moment of each commit. */
  #recheck(reader: Reader, caller: Bearer | Acting): Bearer | Acting {
    if ("code" in caller) return this.#present(reader, caller);
    const { sessionId } = caller;
    if ("scopes" in caller) {
      const key = this.#keys.find(sessionId, reader);
      if (key === null) throw invalidToken(null);
      return caller.cause === undefined ? key.caller : { ...key.caller, cause: caller.cause };
    }
    const session = this.#sessions.known(sessionId) ?? this.#sessions.find(sessionId, reader);
    if (session === null || session.expiresAt <= this.#clock.ofLeader()) throw invalidToken(null);
    return session.role === caller.role ? caller : { ...caller, role: session.role };
  }

  /** The user of `db.as`, with the present role. @throws AppError `unauthorized`, as for a token of a user who is gone. */
  #present(reader: Reader, acting: Acting): Acting {
    const { userId } = acting;
    if (userId === null) return acting;
    const user = this.#users.find(userId, reader);
    if (user !== null) return { ...acting, role: user.role };
    throw new AppError("unauthorized", `db.as: there is no user ${quote(userId)}; the account may have been deleted.`);
  }

  async #claimsOf(token: string): Promise<AccessClaims> {
    const known = this.#claims.get(token);
    if (known !== undefined) return known;
    const claims = await this.#tokens().verify(token, this.#clock.ofLeader());
    this.#claims.set(token, claims);
    return claims;
  }

  async #patiently(authenticate: () => Bearer | Promise<SignedIn>, catchUp: () => Promise<unknown>): Promise<Bearer> {
    try {
      return await authenticate();
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
      await catchUp();
      return authenticate();
    }
  }

  async #authenticateNew(token: string): Promise<SignedIn> {
    const claims = await this.#claimsOf(token);
    const session = this.#sessions.known(claims.sid) ?? this.#sessions.find(claims.sid);
    if (session === null) throw invalidToken(null);
    const caller = signedIn(claims, session, this.#clock.ofLeader());
    // The first use in this process: later uses find claims and session in memory.
    if (claims.gen !== null) this.#uses.note(claims.gen);
    return caller;
  }
}

function signedIn(claims: AccessClaims, session: Session, now: number): SignedIn {
  if (claims.exp * 1_000 <= now || session.expiresAt <= now || session.userId !== claims.sub) throw invalidToken(null);
  return { userId: session.userId, role: session.role, sessionId: session.id };
}
