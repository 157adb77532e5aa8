/** Auth: registration, login, refresh and logout of users, and the check of access tokens. */
import type { Credentials, Role, TokenResponse, User } from "@socle/protocol";
import type { Database, Reader, Transactor } from "../database/index.ts";
import type { EventLog } from "../events/index.ts";
import { AppError, type Awaitable, type Clock, randomToken, Secret, type SignedIn } from "../kernel/index.ts";
import type { LimitMeter, Logger } from "../logging/index.ts";
import { checkNewCredentials, normaliseEmail } from "./credentials.ts";
import { LoginGuard } from "./login-guard.ts";
import { ownCaller, type PasswordCaller, Passwords } from "./passwords.ts";
import type { Session } from "./session-table.ts";
import { type SessionChange, Sessions } from "./sessions.ts";
import { AccessTokens, invalidToken } from "./tokens.ts";
import {
  emailTaken,
  findByEmail,
  findById,
  findSecret,
  insertSecret,
  insertUser,
  isAdminEmailSpent,
  spendAdminEmail,
} from "./user-table.ts";
import { type NewUser, Users } from "./users.ts";

export interface AuthOptions {
  database: Database;
  events: EventLog;
  clock: Clock;
  logger: Logger;
  limits: LimitMeter;
  /** Signs access tokens; when absent, one is made and kept in the database. */
  jwtSecret?: Secret | undefined;
  accessTokenTtlMs: number;
  refreshTokenTtlMs: number;
  registration: boolean;
  passwordMinLength: number;
  /** Passwords that may wait to be hashed. */
  maxPasswords: number;
  /** Sessions of one user; a further one ends the oldest. */
  maxSessionsPerUser: number;
  /** The user who registers with this email becomes admin, once. */
  adminEmail?: string | undefined;
}

/** How often expired sessions and used refresh tokens are removed. */
const sweepEveryMs = 60_000;

/** A caller who stays connected, and until when (milliseconds since 1970). */
export interface Connected {
  readonly principal: SignedIn;
  readonly expiresAt: number;
}

/** A step of users that hooks are asked before. */
export type AuthStep = "register" | "login";

/** The hooks of users. Functions implement it. */
export interface AuthHooks {
  /**
   * Asks the hooks before a step, where there are any.
   * @param user of a registration, the user as they would stand, without an id.
   * @throws AppError: the refusal of a hook, or `unavailable` when one does not answer.
   */
  before(step: AuthStep, user: Readonly<Record<string, unknown>>, address: string): Promise<void>;
}

/** The steps of a set-up that belong to its caller; both run in the transaction, and roll it back by throwing. */
export interface FirstAdminSteps {
  /** Called before anything is written: passwords wait to be hashed, and the permission may be gone since. */
  confirm(tx: Transactor): void;
  record(tx: Transactor, made: { admin: SignedIn; user: User; before: User | null }): Awaitable<unknown>;
}

export class Auth {
  readonly users: Users;
  readonly #options: AuthOptions;
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #sessions: Sessions;
  readonly #passwords: Passwords;
  readonly #logins: LoginGuard;
  readonly #closing = new AbortController();
  #sweepTimer: Timer | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #tokens: AccessTokens | null = null;
  #hooks: AuthHooks | null = null;

  constructor(options: AuthOptions) {
    this.#options = options;
    this.#database = options.database;
    this.#clock = options.clock;
    this.#passwords = new Passwords(options.maxPasswords);
    this.#sessions = new Sessions({
      database: options.database,
      ttlMs: options.refreshTokenTtlMs,
      maxPerUser: options.maxSessionsPerUser,
      limits: options.limits,
      tokenKey: () => this.secretFor("refresh tokens"),
    });
    this.users = new Users({ ...options, sessions: this.#sessions, passwords: this.#passwords });
    this.#database.guardCallers((reader, caller) => this.#recheck(reader, caller));
    this.#logins = new LoginGuard({ ...options, maxWaiting: options.maxPasswords });
  }

  /** Finds or makes the key that signs tokens, and begins to sweep. To be called once, at start. */
  async start(): Promise<void> {
    this.#tokens = new AccessTokens(this.#options.jwtSecret ?? (await this.#storedSecret()));
    this.#sweepTimer = setInterval(() => {
      this.#logins.tick();
      this.#sweeping = this.#sweeping.then(() => this.sweep());
    }, sweepEveryMs).unref();
  }

  /**
   * Ends the threads of passwords and the sweep. A sweep that runs ends with its step, or when the database is closed.
   */
  async close(): Promise<void> {
    clearInterval(this.#sweepTimer);
    this.#closing.abort();
    this.#passwords.close();
    await this.#sweeping;
  }

  /** From now on, registrations and logins ask these hooks. */
  hookWith(hooks: AuthHooks): void {
    this.#hooks = hooks;
  }

  /** Removes expired sessions and refresh tokens. Never rejects. */
  async sweep(): Promise<void> {
    const { signal } = this.#closing;
    await this.#sessions.sweep(signal).catch((error) => {
      if (!signal.aborted) this.#options.logger.warn("Expired sessions were not removed", { error });
    });
  }

  /**
   * The caller that an access token stands for: signature, time, session and role of this moment. At once when both
   * were seen before.
   * @throws AppError `unauthorized`.
   */
  authenticate(token: string): SignedIn | Promise<SignedIn> {
    const claims = this.#issuer.known(token);
    if (claims === undefined) return this.#authenticateNew(token);
    const session = this.#sessions.known(claims.sid);
    if (session === undefined) return this.#authenticateNew(token);
    return this.#principal(claims, session);
  }

  /**
   * Like `authenticate`, for a caller who stays connected.
   * @throws AppError `unauthorized`.
   */
  async connect(token: string): Promise<Connected> {
    const principal = await this.authenticate(token);
    const { exp } = this.#issuer.known(token) ?? (await this.#issuer.verify(token));
    const sessionEnd = this.#sessions.known(principal.sessionId)?.expiresAt ?? Number.POSITIVE_INFINITY;
    return { principal, expiresAt: Math.min(exp * 1_000, sessionEnd) };
  }

  /** Has `listener` called when a session ends or its user's role changes: for callers who stay connected.
   * Answers how to stop that. */
  listenToSessions(listener: (change: SessionChange) => void): () => void {
    return this.#sessions.listen(listener);
  }

  /** The role that a session has in the database; null when it has ended. */
  async roleOf(sessionId: string): Promise<Role | null> {
    const session = await this.#sessions.find(sessionId);
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
    if ((await findByEmail(reader, email)) !== null) throw emailTaken();
    if (this.#hooks !== null) {
      const isAdmin = email === this.#options.adminEmail && !(await isAdminEmailSpent(reader, email));
      await this.#hooks.before("register", { email, role: isAdmin ? "admin" : "authenticated" }, caller.key);
    }
    const passwordHash = await this.#passwords.hash(password, caller);
    const now = this.#clock.now();
    const opened = await this.#database.transact(async (tx) => {
      const isAdmin = email === this.#options.adminEmail && !(await isAdminEmailSpent(tx, email));
      if (isAdmin) await spendAdminEmail(tx, email);
      const user = await insertUser(tx, { email, passwordHash, role: isAdmin ? "admin" : "authenticated" }, now);
      const session = await this.#sessions.open(tx, user);
      await this.#announce(tx, "auth.register", signedIn(user, session.session.id));
      return { user, ...session };
    });
    return this.#respond(opened.user, opened.session, opened.refreshToken);
  }

  /**
   * @param caller `key` is the address that the request comes from.
   * @throws AppError `unauthorized`, the same whether the user exists or not; `rate_limited` after too many failures;
   * `unavailable` when too many passwords wait to be checked; the refusal of a hook.
   */
  async login(credentials: Credentials, caller: PasswordCaller): Promise<TokenResponse> {
    const email = normaliseEmail(credentials.email);
    const found = email === null ? null : await findByEmail(this.#database.reader, email);
    const check = (): Promise<boolean> =>
      this.#passwords.verify(credentials.password, found?.passwordHash ?? null, caller);
    const isRight = await this.#logins.guard(email, caller, check);
    if (!isRight || found === null) throw new AppError("unauthorized", "The email or the password is wrong.");
    await this.#hooks?.before("login", { ...found.user }, caller.key);
    const signIn = async (tx: Transactor) => {
      // The user may have gone, or got another password, while this one was checked.
      const current = await findByEmail(tx, found.user.email);
      if (current?.user.id !== found.user.id || current.passwordHash !== found.passwordHash)
        throw new AppError("unauthorized", "The email or the password is wrong.");
      const { user } = current;
      if (this.#hooks !== null && user.role !== found.user.role)
        throw new AppError("conflict", "The user was changed during the login. Try again.");
      const session = await this.#sessions.open(tx, user);
      await this.#announce(tx, "auth.login", signedIn(user, session.session.id));
      return { user, ...session };
    };
    // An admin makes room on a full disk, and is let in for that.
    const opened = await this.#database.transact(signIn, { makesRoom: found.user.role === "admin" });
    return this.#respond(opened.user, opened.session, opened.refreshToken);
  }

  /** @throws AppError `unauthorized` for a token that is unknown, expired or was used before. */
  async refresh(refreshToken: string): Promise<TokenResponse> {
    const outcome = await this.#database.transact((tx) => this.#sessions.refresh(tx, refreshToken));
    if (outcome.kind === "reused")
      this.#options.logger.warn("A refresh token was used twice; its session is revoked", {
        userId: outcome.session.userId,
        sessionId: outcome.session.id,
      });
    if (outcome.kind !== "refreshed")
      throw new AppError("unauthorized", "The refresh token is invalid, expired or revoked.");
    const user = await this.user(outcome.session.userId);
    return this.#respond(user, outcome.session, outcome.refreshToken);
  }

  /**
   * Ends the caller's session, that of the refresh token, or both.
   * @throws AppError `unauthorized` when there is neither, or only a refresh token that is unknown.
   */
  async logout(principal: SignedIn | null, refreshToken: string | null): Promise<void> {
    if (principal === null && refreshToken === null)
      throw new AppError("unauthorized", "Logging out needs the access token or the refresh token.");
    await this.#database.transactFor(principal, async (tx) => {
      const sessions = new Map<string, { userId: string; role: Role }>();
      if (principal !== null) sessions.set(principal.sessionId, principal);
      if (refreshToken !== null) {
        const session = await this.#sessions.ofRefreshToken(tx, refreshToken);
        if (session !== null) sessions.set(session.id, session);
        else if (principal === null)
          throw new AppError("unauthorized", "The refresh token is invalid, expired or revoked.");
      }
      for (const [id, { userId, role }] of sessions) {
        await this.#sessions.end(tx, id);
        const user = { id: userId, role };
        await this.#announce(tx, "auth.logout", signedIn(user, id));
      }
    });
  }

  /** @throws AppError `unauthorized` when the user is gone. */
  async user(id: string): Promise<User> {
    const user = await findById(this.#database.reader, id);
    if (user === null) throw invalidToken(null);
    return user;
  }

  /**
   * Makes an admin, or makes one of the user with this email: with the new password, and all sessions ended.
   * @throws AppError `validation_error` for a bad email or a short password.
   */
  async makeAdmin(credentials: Credentials): Promise<"made" | "promoted"> {
    const values = await this.users.prepare(credentials);
    const { before } = await this.#database.transact((tx) => this.users.makeAdmin(tx, values));
    return before === null ? "made" : "promoted";
  }

  /**
   * Makes the admin that the configuration names, when that user is missing.
   * @returns "spent" when there was such an admin before, who was deleted or demoted.
   */
  async seedAdmin(credentials: Credentials): Promise<"made" | "exists" | "spent"> {
    if ((await this.users.findByEmail(credentials.email)) !== null) return "exists";
    const email = normaliseEmail(credentials.email);
    if (email !== null && (await isAdminEmailSpent(this.#database.reader, email))) return "spent";
    const values = await this.users.prepare(credentials);
    await this.#database.transact(async (tx) => {
      await this.users.makeAdmin(tx, values);
      await spendAdminEmail(tx, values.email);
    });
    return "made";
  }

  /**
   * Makes the first admin of a service, and signs in.
   * @throws AppError `not_found` when there is an admin.
   */
  async signInFirstAdmin(values: NewUser, steps: FirstAdminSteps): Promise<TokenResponse> {
    const opened = await this.#database.transact(async (tx) => {
      if (await this.users.adminExists(tx)) throw new AppError("not_found", "There is an admin already.");
      steps.confirm(tx);
      const { user, before } = await this.users.makeAdmin(tx, values);
      const session = await this.#sessions.open(tx, user);
      await steps.record(tx, { admin: signedIn(user, session.session.id), user, before });
      return { user, ...session };
    });
    return this.#respond(opened.user, opened.session, opened.refreshToken);
  }

  /** A secret of this service's own, another for each purpose. */
  secretFor(purpose: string): string {
    return this.#issuer.secretFor(purpose);
  }

  /** The caller guard of the database: from memory, which changes in the moment of each commit. */
  #recheck(reader: Reader, caller: SignedIn): Awaitable<SignedIn> {
    const session = this.#sessions.known(caller.sessionId);
    if (session !== undefined) return withSession(caller, session);
    return this.#sessions.find(caller.sessionId, reader).then((found) => withSession(caller, found));
  }

  get #issuer(): AccessTokens {
    if (this.#tokens === null) throw new Error("Auth is used before its start");
    return this.#tokens;
  }

  async #authenticateNew(token: string): Promise<SignedIn> {
    const claims = this.#issuer.known(token) ?? (await this.#issuer.verify(token));
    const session = this.#sessions.known(claims.sid) ?? (await this.#sessions.find(claims.sid));
    if (session === null) throw invalidToken(null);
    return this.#principal(claims, session);
  }

  #principal(claims: { sub: string; exp: number }, session: Session): SignedIn {
    const now = Date.now();
    if (claims.exp * 1_000 <= now || session.expiresAt <= now || session.userId !== claims.sub)
      throw invalidToken(null);
    return { userId: session.userId, role: session.role, sessionId: session.id };
  }

  async #respond(user: User, session: Session, refreshToken: string): Promise<TokenResponse> {
    const ttlMs = this.#options.accessTokenTtlMs;
    const claims = { sub: user.id, role: user.role, sid: session.id };
    const accessToken = await this.#issuer.issue(claims, Date.now(), ttlMs);
    const expiresIn = Math.ceil(ttlMs / 1_000);
    return { accessToken, token: accessToken, refreshToken, tokenType: "Bearer", expiresIn, user };
  }

  async #announce(tx: Transactor, type: string, principal: SignedIn): Promise<void> {
    const payload = { userId: principal.userId, role: principal.role };
    await this.#events.append(tx, { type, source: "auth", payload, principal });
  }

  get #events(): EventLog {
    return this.#options.events;
  }

  /** Two services never share a database, so whoever finds no secret may make it. */
  async #storedSecret(): Promise<Secret> {
    return this.#database.transact(async (tx) => {
      const stored = await findSecret(tx, "jwt");
      if (stored !== null) return new Secret(stored);
      const value = randomToken(32);
      await insertSecret(tx, "jwt", value);
      return new Secret(value);
    });
  }
}

/** A caller with the role that their session has now. @throws AppError `unauthorized` when it has ended. */
function withSession(caller: SignedIn, session: Session | null): SignedIn {
  if (session === null || session.expiresAt <= Date.now()) throw invalidToken(null);
  return session.role === caller.role ? caller : { ...caller, role: session.role };
}

function signedIn(user: { id: string; role: Role }, sessionId: string): SignedIn {
  return { userId: user.id, role: user.role, sessionId };
}
