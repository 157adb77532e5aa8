/** Auth: registration, login, refresh and logout of users, and the check of access tokens. */
import type { Credentials, LoginResponse, Role, TokenResponse, User } from "@socle/protocol";
import { AppError, type Clock, type Rate, randomToken, Secret, type SignedIn } from "../../base/kernel/index.ts";
import type { LimitMeter, Logger } from "../../base/logging/index.ts";
import type { ConflictTurns, UserRecords } from "../../data/records/index.ts";
import type { Database, Reader, Transactor } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import { type Mails, normaliseEmail } from "../mail/index.ts";
import { AccessTokens, invalidToken } from "./access-tokens.ts";
import { Callers } from "./callers.ts";
import { CredentialKinds } from "./credentials.ts";
import { authenticatorApp, methodsOf } from "./factors/factor-table.ts";
import { Factors } from "./factors/factors.ts";
import { passkeys } from "./factors/passkey-table.ts";
import { Passkeys } from "./factors/passkeys.ts";
import { apiKeys } from "./keys/key-table.ts";
import { Keys } from "./keys/keys.ts";
import { LoginGuard } from "./login-guard.ts";
import { Notices } from "./notices.ts";
import type { PasswordCost } from "./password-worker.ts";
import { type CommonPasswords, ownCaller, type PasswordCaller, PasswordChecks, Passwords } from "./passwords.ts";
import { Proofs } from "./proofs/proofs.ts";
import { linksTo } from "./providers/provider-table.ts";
import { Registrations } from "./registrations.ts";
import { Sessions } from "./sessions.ts";
import { SignIns, signedIn } from "./sign-ins.ts";
import { storeUses, sweepExpired } from "./sweep.ts";
import { UserForms } from "./user-forms.ts";
import { setPasswordHash, storedEmail } from "./user-table.ts";
import { findByEmail, isAdminEmailSpent, type NewUser, spendAdminEmail, Users } from "./users.ts";
import { Uses } from "./uses.ts";

interface AuthOptions {
  database: Database;
  /** The fields of users in the collection `users`. */
  records: UserRecords;
  /** The turns of sign-ins with hooks whose reads have changed. */
  turns: ConflictTurns;
  events: EventLog;
  clock: Clock;
  logger: Logger;
  limits: LimitMeter;
  mails: Mails;
  /** Signs access tokens; by default, a generated secret of the database. */
  jwtSecret?: Secret | undefined;
  accessTokenTtlMs: number;
  refreshTokenTtlMs: number;
  registration: boolean;
  /** Whether a sign-in needs a proven address. */
  requireVerified: boolean;
  /** Whether users may sign in with a code. */
  codes: boolean;
  /** The names of the configured providers. */
  providers: ReadonlySet<string>;
  /** Mails with a link or a code to a recipient; null for no bound. */
  recipientRate: Rate | null;
  passwordMinLength: number;
  commonPasswords: CommonPasswords;
  /** The most passwords that may wait to be hashed. */
  maxPasswords: number;
  /** The work of a hash, for tests; by default the full work. */
  passwordCost?: PasswordCost | undefined;
  /** The most sessions of a user; another login ends the oldest session. */
  maxSessionsPerUser: number;
  /** The most API keys of a user, and the most service keys. */
  maxKeysPerUser: number;
  maxPasskeysPerUser: number;
  /** The email whose registration makes an admin, once. */
  adminEmail?: string | undefined;
  /** The address of this service for people. */
  publicUrl?: string | undefined;
}

/** The interval of removing expired sessions and used refresh tokens. */
const sweepEveryMs = 60_000;

export class Auth {
  readonly users: Users;
  readonly forms: UserForms;
  readonly sessions: Sessions;
  readonly checks: PasswordChecks;
  /** Mails about changes of credentials. */
  readonly notices: Notices;
  /** Where every sign-in ends. */
  readonly signIns: SignIns;
  readonly passkeys: Passkeys;
  /** The second factors of users. */
  readonly factors: Factors;
  readonly keys: Keys;
  /** The uses of API keys and access tokens. */
  readonly uses = new Uses();
  readonly callers: Callers;
  /** Proofs of an address by a mail, and what a proof changes. */
  readonly proofs: Proofs;
  readonly registrations: Registrations;
  readonly #options: AuthOptions;
  readonly #database: Database;
  readonly #passwords: Passwords;
  readonly #guards: { readonly logins: LoginGuard; readonly factors: LoginGuard; readonly codes: LoginGuard };
  readonly #closing = new AbortController();
  #sweepTimer: Timer | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #tokens: AccessTokens | null = null;
  #jwtSecret: Secret | null = null;

  constructor(given: AuthOptions) {
    const { adminEmail } = given;
    const options = { ...given, adminEmail: adminEmail && (normaliseEmail(adminEmail) ?? adminEmail) };
    this.#options = options;
    this.#database = options.database;
    this.#passwords = new Passwords(options.maxPasswords, options.commonPasswords, options.passwordCost);
    this.sessions = new Sessions({
      database: options.database,
      ttlMs: options.refreshTokenTtlMs,
      maxPerUser: options.maxSessionsPerUser,
      limits: options.limits,
      uses: this.uses,
      tokenKey: () => this.secretFor("refresh tokens"),
    });
    this.notices = new Notices(options);
    const { sessions, notices, uses } = this;
    const tokens = (): AccessTokens => this.#issuer;
    const kinds = [authenticatorApp, passkeys, apiKeys, linksTo(options.providers)];
    const credentials = new CredentialKinds({ kinds, codes: options.codes });
    const users = new Users({ ...options, sessions, notices, credentials, passwords: this.#passwords });
    const keys = new Keys({ ...options, sessions, users, notices, uses, maxPerUser: options.maxKeysPerUser });
    this.users = users;
    this.keys = keys;
    this.signIns = new SignIns({ ...options, sessions, tokens, secondFactorsOf: methodsOf });
    this.forms = new UserForms({ ...options, users });
    this.callers = new Callers({ ...options, sessions, users, keys, uses, tokens });
    const guard = { ...options, maxWaiting: options.maxPasswords };
    // Failures in ten minutes (contract, "Authentication"). Six digits need a lower bound than passwords.
    this.#guards = {
      logins: new LoginGuard({ ...guard, bounds: { account: 10, address: 100 }, failures: "Logins" }),
      factors: new LoginGuard({ ...guard, bounds: { account: 5, address: 20 }, failures: "Second factors" }),
      codes: new LoginGuard({ ...guard, bounds: { account: 5, address: 20 }, failures: "Codes" }),
    };
    const { signIns } = this;
    const checks = new PasswordChecks({ ...options, passwords: this.#passwords, guard: this.#guards.logins });
    this.checks = checks;
    const parts = { ...options, signIns, users, notices };
    this.passkeys = new Passkeys({ ...parts, challengeKey: () => this.secretFor("passkeys") });
    this.factors = new Factors({
      ...parts,
      passkeys: this.passkeys,
      guard: this.#guards.factors,
      sealKey: () => this.secretFor("authenticator apps"),
    });
    const { forms } = this;
    this.proofs = new Proofs({
      ...options,
      users,
      forms,
      signIns,
      notices,
      checks,
      codeGuard: this.#guards.codes,
      attemptKey: () => this.secretFor("attempts of codes"),
    });
    const { proofs } = this;
    this.registrations = new Registrations({ ...options, users, forms, signIns, proofs, passwords: this.#passwords });
  }

  /** Finds or makes the key that signs tokens, and begins to sweep. Call `start` once. */
  async start(): Promise<void> {
    this.startWith(this.#options.jwtSecret ?? (await this.#storedSecret()));
    this.proofs.start();
    this.#sweepTimer = setInterval(() => {
      for (const guard of Object.values(this.#guards)) guard.tick();
      this.#sweeping = this.#sweeping.then(() => this.sweep());
    }, sweepEveryMs).unref();
  }

  /** Takes the key that signs tokens. In a reader process, `startWith` takes the place of `start`. */
  startWith(secret: Secret): void {
    this.#jwtSecret = secret;
    this.#tokens = new AccessTokens(secret);
  }

  /** In a replica of a cluster: takes the key that the leader has stored. */
  startReplica(): void {
    const stored = this.#options.jwtSecret ?? storedSecret(this.#database.reader);
    if (stored === null) throw new Error("The database has no key that signs tokens");
    this.startWith(stored);
  }

  /** The key that signs tokens, for another process of the service. */
  get jwtSecret(): Secret {
    if (this.#jwtSecret === null) throw new Error("Auth is used before its start");
    return this.#jwtSecret;
  }

  /** Ends the threads of passwords and the sweep. A running sweep ends with its step, or when the database is closed. */
  async close(): Promise<void> {
    clearInterval(this.#sweepTimer);
    this.#closing.abort();
    this.#passwords.close();
    await Promise.all([this.#sweeping, this.proofs.close()]);
  }

  /** Removes expired sessions, attempts, refresh tokens and API keys, and stores the uses of credentials. Never rejects. */
  async sweep(): Promise<void> {
    const { signal } = this.#closing;
    try {
      await sweepExpired(this.#database, signal);
      await storeUses(this.uses, this.#database, signal);
    } catch (error) {
      if (!signal.aborted) this.#options.logger.warn("Expired sessions and API keys were not removed", { error });
    }
  }

  /**
   * Answers tokens, or the attempt of a user with a second factor.
   * @param caller `key` is the address that the request comes from.
   * @throws AppError `unauthorized`, the same whether the user exists or not; `rate_limited` after too many failures;
   * `unavailable` when too many passwords wait to be checked; the refusal of a hook.
   */
  async login(credentials: Credentials, caller: PasswordCaller): Promise<LoginResponse> {
    const email = storedEmail(this.#database.reader, credentials.email);
    const found = email === null ? null : findByEmail(this.#database.reader, email);
    const { password } = credentials;
    let isFormer = false;
    const onFormer = (): void => {
      isFormer = true;
    };
    const account = { email, passwordHash: found?.passwordHash ?? null, onFormer };
    const isRight = await this.checks.isRight(account, password, caller);
    if (!isRight || found === null) throw wrongCredentials();
    const renewed = isFormer ? await this.#passwords.hash(password, caller, "allow") : null;
    const prove = (tx: Transactor): User => {
      // The user may have been deleted, or may have a new password, since the check began.
      const current = findByEmail(tx, found.user.email);
      if (current?.user.id !== found.user.id || current.passwordHash !== found.passwordHash) throw wrongCredentials();
      if (renewed !== null) setPasswordHash(tx, current.user.id, renewed);
      return current.user;
    };
    return this.signIns.signIn({ user: found.user, caller, prove });
  }

  /** @throws AppError `unauthorized` for a token that is unknown, expired or was used before. */
  async refresh(refreshToken: string): Promise<TokenResponse> {
    const outcome = await this.#database.transact((tx) => this.sessions.refresh(tx, refreshToken));
    if (outcome.kind === "reused")
      this.#options.logger.often("A refresh token was used twice; its session is revoked", {
        userId: outcome.session.userId,
        sessionId: outcome.session.id,
      });
    if (outcome.kind !== "refreshed")
      throw new AppError("unauthorized", "The refresh token is invalid, expired or revoked.");
    return this.signIns.respond({ ...outcome, user: this.user(outcome.session.userId) });
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
   * Makes an admin of the email: a new user, or the existing user with the new password and without sessions. The operator
   * chooses the password, also a common password.
   * @throws AppError `validation_error` for a bad email or a short password.
   */
  async makeAdmin(credentials: Credentials): Promise<"made" | "promoted"> {
    const values = await this.users.prepare(credentials, ownCaller, "allow");
    const { before } = await this.#database.transact((tx) => this.#makeAdmin(tx, values));
    return before === null ? "made" : "promoted";
  }

  /**
   * Makes the admin of the configuration, when the user is missing. The password may be a common password, as for `makeAdmin`.
   * @returns "spent" after a deletion or demotion of this admin.
   */
  async seedAdmin(credentials: Credentials): Promise<"made" | "exists" | "spent"> {
    if (this.users.findByEmail(credentials.email) !== null) return "exists";
    const email = normaliseEmail(credentials.email);
    if (email !== null && isAdminEmailSpent(this.#database.reader, email)) return "spent";
    const values = await this.users.prepare(credentials, ownCaller, "allow");
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
    caller: PasswordCaller,
    confirm: (tx: Transactor, made: { admin: SignedIn; user: User; before: User | null }) => void,
  ): Promise<TokenResponse> {
    const opened = await this.#database.transact((tx) => {
      if (this.users.adminExists(tx)) throw new AppError("not_found", "An admin exists already.");
      const { user, before } = this.#makeAdmin(tx, values);
      const opened = this.sessions.open(tx, user, caller);
      confirm(tx, { admin: signedIn(user, opened.session), user, before });
      return { user, ...opened };
    });
    return this.signIns.respond(opened);
  }

  #makeAdmin(tx: Transactor, values: NewUser): { user: User; before: User | null } {
    const made = this.users.makeAdmin(tx, values);
    const change = "The password was changed, and the account is the account of an admin now.";
    if (made.before !== null) this.notices.tell(tx, made.before, { change, by: "an administrator" });
    return made;
  }

  /** A secret of this service; each purpose has another secret. */
  secretFor(purpose: string): string {
    return this.#issuer.secretFor(purpose);
  }

  get #issuer(): AccessTokens {
    if (this.#tokens === null) throw new Error("Auth is used before its start");
    return this.#tokens;
  }

  #announce(tx: Transactor, type: string, principal: SignedIn): void {
    const payload = { userId: principal.userId, role: principal.role };
    this.#options.events.append(tx, { type, source: "auth", payload, principal });
  }

  /** Two services never share a database, so a missing secret is made at once. */
  async #storedSecret(): Promise<Secret> {
    return this.#database.transact((tx) => {
      const stored = storedSecret(tx);
      if (stored !== null) return stored;
      const value = randomToken(32);
      tx.run("INSERT INTO _secrets (name, value) VALUES ('jwt', ?)", value);
      return new Secret(value);
    });
  }
}

function storedSecret(reader: Reader): Secret | null {
  const row = reader.get<{ value: string }>("SELECT value FROM _secrets WHERE name = 'jwt'");
  return row === null ? null : new Secret(row.value);
}

function wrongCredentials(): AppError {
  return new AppError("unauthorized", "The email or the password is wrong.");
}
