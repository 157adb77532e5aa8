/** Auth: registration, login, refresh and logout of users, and the check of access tokens. */
import type { Credentials, Role, TokenResponse, User } from "@socle/protocol";
import { AppError, BoundedMap, type Clock, randomToken, Secret, type SignedIn } from "../../base/kernel/index.ts";
import type { LimitMeter, Logger } from "../../base/logging/index.ts";
import type { Database, Reader, Transactor } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import { LoginGuard } from "./login-guard.ts";
import { ownCaller, type PasswordCaller, Passwords } from "./passwords.ts";
import { type AccessClaims, AccessTokens, invalidToken, type Session, Sessions } from "./sessions.ts";
import {
  checkNewCredentials,
  emailTaken,
  findByEmail,
  insertUser,
  isAdminEmailSpent,
  type NewUser,
  normaliseEmail,
  spendAdminEmail,
  Users,
} from "./users.ts";

interface AuthOptions {
  database: Database;
  events: EventLog;
  clock: Clock;
  logger: Logger;
  limits: LimitMeter;
  /** Signs access tokens; by default, a generated secret of the database. */
  jwtSecret?: Secret | undefined;
  accessTokenTtlMs: number;
  refreshTokenTtlMs: number;
  registration: boolean;
  passwordMinLength: number;
  /** The most passwords that may wait to be hashed. */
  maxPasswords: number;
  /** The most sessions of a user; another login ends the oldest session. */
  maxSessionsPerUser: number;
  /** The email whose registration makes an admin, once. */
  adminEmail?: string | undefined;
}

/** The most verified tokens in memory: the claims of a token stay; its session and its time are checked at each use. */
const maxClaims = 5_000;

/** The interval of removing expired sessions and used refresh tokens. */
const sweepEveryMs = 60_000;

/** A step of a user that asks hooks first. */
export type AuthStep = "register" | "login";

/** The hooks of users. Functions implement it. */
export interface AuthHooks {
  /**
   * Asks the hooks before a step, if the step has hooks.
   * @param user for a registration, the future user, without an id.
   * @throws AppError: the refusal of a hook, or `unavailable` when a hook does not answer.
   */
  before(step: AuthStep, user: Readonly<Record<string, unknown>>, address: string): Promise<void>;
}

/** A user who is signed in, with the session. */
interface Opened {
  readonly user: User;
  readonly session: Session;
  readonly refreshToken: string;
}

export class Auth {
  readonly users: Users;
  readonly sessions: Sessions;
  readonly #options: AuthOptions;
  readonly #database: Database;
  readonly #passwords: Passwords;
  readonly #logins: LoginGuard;
  readonly #closing = new AbortController();
  #sweepTimer: Timer | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #tokens: AccessTokens | null = null;
  readonly #claims = new BoundedMap<string, AccessClaims>(maxClaims);
  #hooks: AuthHooks | null = null;

  constructor(given: AuthOptions) {
    const { adminEmail } = given;
    const options = { ...given, adminEmail: adminEmail && (normaliseEmail(adminEmail) ?? adminEmail) };
    this.#options = options;
    this.#database = options.database;
    this.#passwords = new Passwords(options.maxPasswords);
    this.sessions = new Sessions({
      database: options.database,
      ttlMs: options.refreshTokenTtlMs,
      maxPerUser: options.maxSessionsPerUser,
      limits: options.limits,
      tokenKey: () => this.secretFor("refresh tokens"),
    });
    this.users = new Users({ ...options, sessions: this.sessions, passwords: this.#passwords });
    this.#database.guardCallers((reader, caller) => this.#recheck(reader, caller));
    this.#logins = new LoginGuard({ ...options, maxWaiting: options.maxPasswords });
  }

  /** Finds or makes the key that signs tokens, and begins to sweep. Call `start` once. */
  async start(): Promise<void> {
    this.#tokens = new AccessTokens(this.#options.jwtSecret ?? (await this.#storedSecret()));
    this.#sweepTimer = setInterval(() => {
      this.#logins.tick();
      this.#sweeping = this.#sweeping.then(() => this.sweep());
    }, sweepEveryMs).unref();
  }

  /** Ends the threads of passwords and the sweep. A running sweep ends with its step, or when the database is closed. */
  async close(): Promise<void> {
    clearInterval(this.#sweepTimer);
    this.#closing.abort();
    this.#passwords.close();
    await this.#sweeping;
  }

  /** Sets the hooks for all later registrations and logins. */
  hookWith(hooks: AuthHooks): void {
    this.#hooks = hooks;
  }

  /** Removes expired sessions and refresh tokens. Never rejects. */
  async sweep(): Promise<void> {
    const { signal } = this.#closing;
    await this.sessions.sweep(signal).catch((error) => {
      if (!signal.aborted) this.#options.logger.warn("Expired sessions were not removed", { error });
    });
  }

  /**
   * The caller of an access token, after checks of signature, time, session and present role. The answer comes at once if
   * token and session were seen before.
   * @throws AppError `unauthorized`.
   */
  authenticate(token: string): SignedIn | Promise<SignedIn> {
    const claims = this.#claims.get(token);
    const session = claims && this.sessions.known(claims.sid);
    if (claims === undefined || session === undefined) return this.#authenticateNew(token);
    return this.#principal(claims, session);
  }

  /**
   * Like `authenticate`, for a caller with an open connection, with the end of the caller's right (milliseconds since 1970).
   * @throws AppError `unauthorized`.
   */
  async connect(token: string): Promise<{ principal: SignedIn; expiresAt: number }> {
    const principal = await this.authenticate(token);
    const { exp } = await this.#claimsOf(token);
    const sessionEnd = this.sessions.known(principal.sessionId)?.expiresAt ?? Number.POSITIVE_INFINITY;
    return { principal, expiresAt: Math.min(exp * 1_000, sessionEnd) };
  }

  /** The role of a session in the database; null for an ended session. */
  roleOf(sessionId: string): Role | null {
    const session = this.sessions.find(sessionId);
    return session === null || session.expiresAt <= Date.now() ? null : session.role;
  }

  /**
   * @throws AppError `validation_error`, `conflict`, `forbidden` when registration is off, or `unavailable` when too
   * many passwords wait to be hashed; the refusal of a hook.
   */
  async register(credentials: Credentials, caller: PasswordCaller = ownCaller): Promise<TokenResponse> {
    if (!this.#options.registration) throw new AppError("forbidden", "Registration is switched off.");
    const { email, password } = checkNewCredentials(credentials, this.#options.passwordMinLength);
    const { reader } = this.#database;
    if (findByEmail(reader, email) !== null) throw emailTaken();
    await this.#hooks?.before("register", { email, role: this.#roleOfNew(reader, email) }, caller.key);
    const passwordHash = await this.#passwords.hash(password, caller);
    const now = this.#options.clock.now();
    const opened = await this.#database.transact((tx) => {
      const role = this.#roleOfNew(tx, email);
      if (role === "admin") spendAdminEmail(tx, email);
      return this.#open(tx, "auth.register", insertUser(tx, { email, passwordHash, role }, now));
    });
    return this.#respond(opened);
  }

  /**
   * @param caller `key` is the address that the request comes from.
   * @throws AppError `unauthorized`, the same whether the user exists or not; `rate_limited` after too many failures;
   * `unavailable` when too many passwords wait to be checked; the refusal of a hook.
   */
  async login(credentials: Credentials, caller: PasswordCaller): Promise<TokenResponse> {
    const email = normaliseEmail(credentials.email);
    const found = email === null ? null : findByEmail(this.#database.reader, email);
    const check = (): Promise<boolean> =>
      this.#passwords.verify(credentials.password, found?.passwordHash ?? null, caller);
    const isRight = await this.#logins.guard(email, caller, check);
    if (!isRight || found === null) throw new AppError("unauthorized", "The email or the password is wrong.");
    await this.#hooks?.before("login", { ...found.user }, caller.key);
    const signIn = (tx: Transactor): Opened => {
      // The user may have been deleted, or may have a new password, since the check began.
      const current = findByEmail(tx, found.user.email);
      if (current?.user.id !== found.user.id || current.passwordHash !== found.passwordHash)
        throw new AppError("unauthorized", "The email or the password is wrong.");
      const { user } = current;
      if (this.#hooks !== null && user.role !== found.user.role)
        throw new AppError("conflict", "The user was changed during the login. Try again.");
      return this.#open(tx, "auth.login", user);
    };
    // An admin can make room on a full disk, so the login may use the reserve.
    const opened = await this.#database.transact(signIn, { makesRoom: found.user.role === "admin" });
    return this.#respond(opened);
  }

  /** @throws AppError `unauthorized` for a token that is unknown, expired or was used before. */
  async refresh(refreshToken: string): Promise<TokenResponse> {
    const outcome = await this.#database.transact((tx) => this.sessions.refresh(tx, refreshToken));
    if (outcome.kind === "reused")
      this.#options.logger.warn("A refresh token was used twice; its session is revoked", {
        userId: outcome.session.userId,
        sessionId: outcome.session.id,
      });
    if (outcome.kind !== "refreshed")
      throw new AppError("unauthorized", "The refresh token is invalid, expired or revoked.");
    return this.#respond({ ...outcome, user: this.user(outcome.session.userId) });
  }

  /**
   * Ends the session of the caller, the session of the refresh token, or both.
   * @throws AppError `unauthorized` without both, and for an unknown refresh token alone.
   */
  async logout(principal: SignedIn | null, refreshToken: string | null): Promise<void> {
    if (principal === null && refreshToken === null)
      throw new AppError("unauthorized", "Logging out needs the access token or the refresh token.");
    await this.#database.transactFor(principal, (tx) => {
      const sessions = new Map<string, { userId: string; role: Role }>();
      if (principal !== null) sessions.set(principal.sessionId, principal);
      if (refreshToken !== null) {
        const session = this.sessions.ofRefreshToken(tx, refreshToken);
        if (session !== null) sessions.set(session.id, session);
        else if (principal === null)
          throw new AppError("unauthorized", "The refresh token is invalid, expired or revoked.");
      }
      for (const [id, { userId, role }] of sessions) {
        this.sessions.end(tx, id);
        this.#announce(tx, "auth.logout", { userId, role, sessionId: id });
      }
    });
  }

  /** @throws AppError `unauthorized` when the user is gone. */
  user(id: string): User {
    const user = this.users.find(id);
    if (user === null) throw invalidToken(null);
    return user;
  }

  /**
   * Makes an admin of the email: a new user, or the existing user with the new password and without sessions.
   * @throws AppError `validation_error` for a bad email or a short password.
   */
  async makeAdmin(credentials: Credentials): Promise<"made" | "promoted"> {
    const values = await this.users.prepare(credentials);
    const { before } = await this.#database.transact((tx) => this.users.makeAdmin(tx, values));
    return before === null ? "made" : "promoted";
  }

  /**
   * Makes the admin of the configuration, when the user is missing.
   * @returns "spent" after a deletion or demotion of this admin.
   */
  async seedAdmin(credentials: Credentials): Promise<"made" | "exists" | "spent"> {
    if (this.users.findByEmail(credentials.email) !== null) return "exists";
    const email = normaliseEmail(credentials.email);
    if (email !== null && isAdminEmailSpent(this.#database.reader, email)) return "spent";
    const values = await this.users.prepare(credentials);
    await this.#database.transact((tx) => {
      this.users.makeAdmin(tx, values);
      spendAdminEmail(tx, values.email);
    });
    return "made";
  }

  /**
   * Makes the first admin of a service, and signs in.
   * @param confirm runs in the transaction, and rolls the transaction back by throwing.
   * @throws AppError `not_found` when an admin exists.
   */
  async signInFirstAdmin(
    values: NewUser,
    confirm: (tx: Transactor, made: { admin: SignedIn; user: User; before: User | null }) => void,
  ): Promise<TokenResponse> {
    const opened = await this.#database.transact((tx) => {
      if (this.users.adminExists(tx)) throw new AppError("not_found", "There is an admin already.");
      const { user, before } = this.users.makeAdmin(tx, values);
      const opened = this.sessions.open(tx, user);
      confirm(tx, { admin: signedIn(user, opened.session), user, before });
      return { user, ...opened };
    });
    return this.#respond(opened);
  }

  /** A secret of this service; each purpose has another secret. */
  secretFor(purpose: string): string {
    return this.#issuer.secretFor(purpose);
  }

  /** The caller guard of the database. The guard reads memory, which changes at the moment of each commit. */
  #recheck(reader: Reader, caller: SignedIn): SignedIn {
    const { sessionId } = caller;
    const session = this.sessions.known(sessionId) ?? this.sessions.find(sessionId, reader);
    if (session === null || session.expiresAt <= Date.now()) throw invalidToken(null);
    return session.role === caller.role ? caller : { ...caller, role: session.role };
  }

  get #issuer(): AccessTokens {
    if (this.#tokens === null) throw new Error("Auth is used before its start");
    return this.#tokens;
  }

  async #claimsOf(token: string): Promise<AccessClaims> {
    const known = this.#claims.get(token);
    if (known !== undefined) return known;
    const claims = await this.#issuer.verify(token);
    this.#claims.set(token, claims);
    return claims;
  }

  async #authenticateNew(token: string): Promise<SignedIn> {
    const claims = await this.#claimsOf(token);
    const session = this.sessions.known(claims.sid) ?? this.sessions.find(claims.sid);
    if (session === null) throw invalidToken(null);
    return this.#principal(claims, session);
  }

  #principal(claims: { sub: string; exp: number }, session: Session): SignedIn {
    const now = Date.now();
    if (claims.exp * 1_000 <= now || session.expiresAt <= now || session.userId !== claims.sub)
      throw invalidToken(null);
    return { userId: session.userId, role: session.role, sessionId: session.id };
  }

  /** The role of a user who registers: the email of the configuration makes an admin, once. */
  #roleOfNew(reader: Reader, email: string): Role {
    return email === this.#options.adminEmail && !isAdminEmailSpent(reader, email) ? "admin" : "authenticated";
  }

  /** Opens a session for a user, and announces the session. */
  #open(tx: Transactor, type: string, user: User): Opened {
    const opened = this.sessions.open(tx, user);
    this.#announce(tx, type, signedIn(user, opened.session));
    return { user, ...opened };
  }

  async #respond({ user, session, refreshToken }: Opened): Promise<TokenResponse> {
    const ttlMs = this.#options.accessTokenTtlMs;
    const claims = { sub: user.id, role: user.role, sid: session.id };
    const accessToken = await this.#issuer.issue(claims, ttlMs);
    const expiresIn = Math.ceil(ttlMs / 1_000);
    return { accessToken, token: accessToken, refreshToken, tokenType: "Bearer", expiresIn, user };
  }

  #announce(tx: Transactor, type: string, principal: SignedIn): void {
    const payload = { userId: principal.userId, role: principal.role };
    this.#options.events.append(tx, { type, source: "auth", payload, principal });
  }

  /** Two services never share a database, so a missing secret is made at once. */
  async #storedSecret(): Promise<Secret> {
    return this.#database.transact((tx) => {
      const stored = tx.get<{ value: string }>("SELECT value FROM _secrets WHERE name = 'jwt'");
      if (stored !== null) return new Secret(stored.value);
      const value = randomToken(32);
      tx.run("INSERT INTO _secrets (name, value) VALUES ('jwt', ?)", value);
      return new Secret(value);
    });
  }
}

function signedIn(user: User, session: Session): SignedIn {
  return { userId: user.id, role: user.role, sessionId: session.id };
}
