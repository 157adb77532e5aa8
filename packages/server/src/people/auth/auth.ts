/** Auth: registration, login, refresh and logout of users, and the check of access tokens. */
import type { Credentials, LoginResponse, Role, TokenResponse, User } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { AppError, type Clock, randomToken, Secret, type SignedIn } from "../../base/kernel/index.ts";
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
import { storedEmail } from "./former-email-table.ts";
import { apiKeys } from "./keys/key-table.ts";
import { Keys } from "./keys/keys.ts";
import { LoginGuard } from "./login-guard.ts";
import { MovedUsers } from "./moved-users.ts";
import { Notices } from "./notices.ts";
import type { PasswordCost } from "./password-worker.ts";
import { ownCaller, type PasswordCaller, PasswordChecks, Passwords } from "./passwords.ts";
import { Proofs } from "./proofs/proofs.ts";
import { linksTo } from "./providers/provider-table.ts";
import { Providers } from "./providers/providers.ts";
import { Registrations } from "./registrations.ts";
import { Sessions } from "./sessions.ts";
import { SignIns, signedIn } from "./sign-ins.ts";
import { storeUses, sweepExpired } from "./sweep.ts";
import { UserForms } from "./user-forms.ts";
import { findByEmail, isAdminEmailSpent, setPasswordHash, spendAdminEmail } from "./user-table.ts";
import { type NewUser, Users } from "./users.ts";
import { Uses } from "./uses.ts";

interface AuthOptions {
  readonly database: Database;
  /** The fields of users in the collection `users`. */
  readonly records: UserRecords;
  /** The turns of sign-ins with hooks whose reads have changed. */
  readonly turns: ConflictTurns;
  readonly events: EventLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: LimitMeter;
  readonly mails: Mails;
  readonly config: Config;
  /** The work of a hash, for tests; by default the full work. */
  readonly passwordCost?: PasswordCost | undefined;
}

/** The interval of removing expired sessions and used refresh tokens. */
const sweepEveryMs = 60_000;

/** Sessions begin and end in a read-only service, too. */
const whileReadOnly = { whileReadOnly: true };

export class Auth {
  readonly users: Users;
  readonly forms: UserForms;
  readonly movedUsers: MovedUsers;
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
  readonly providers: Providers;
  readonly #options: AuthOptions;
  readonly #database: Database;
  readonly #passwords: Passwords;
  readonly #guards: { readonly logins: LoginGuard; readonly factors: LoginGuard; readonly codes: LoginGuard };
  readonly #closing = new AbortController();
  #sweepTimer: Timer | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #removeUnused: ((before: number, signal: AbortSignal) => Promise<void>) | null = null;
  #tokens: AccessTokens | null = null;
  #jwtSecret: Secret | null = null;

  constructor(options: AuthOptions) {
    const { database, clock, logger, limits, mails, config } = options;
    const { uses } = this;
    const maxPasswords = config["limits.passwords"];
    const passwords = new Passwords(maxPasswords, config["auth.commonPasswords"], options.passwordCost);
    const secretFor = (purpose: string): string => this.secretFor(purpose);
    const tokens = (): AccessTokens => this.#issuer;
    const sessions = new Sessions({
      database,
      ttlMs: config["auth.refreshTokenTtl"],
      maxPerUser: config["limits.sessionsPerUser"],
      limits,
      uses,
      tokenKey: () => secretFor("refresh tokens"),
    });
    const notices = new Notices({ config, mails, logger });
    const providers = new Set(config["auth.providers"]?.map(({ name }) => name));
    const kinds = [authenticatorApp, passkeys, apiKeys, linksTo(providers)];
    const credentials = new CredentialKinds({ kinds, codes: config["auth.codes"] });
    const users = new Users({ ...options, sessions, notices, credentials, passwords });
    const keys = new Keys({
      database,
      clock,
      sessions,
      users,
      notices,
      uses,
      maxPerUser: config["limits.keysPerUser"],
    });
    const signIns = new SignIns({ ...options, users, sessions, tokens, secondFactorsOf: methodsOf });
    const guard = { ...options, maxWaiting: maxPasswords };
    // Failures in ten minutes (contract, "Authentication"). Six digits need a lower bound than passwords.
    const guards = {
      logins: new LoginGuard({ ...guard, bounds: { account: 10, address: 100 }, failures: "Logins" }),
      factors: new LoginGuard({ ...guard, bounds: { account: 5, address: 20 }, failures: "Second factors" }),
      codes: new LoginGuard({ ...guard, bounds: { account: 5, address: 20 }, failures: "Codes" }),
    };
    const checks = new PasswordChecks({ database, passwords, guard: guards.logins });
    const parts = { ...options, users, sessions, signIns, notices, checks, secretFor };
    this.#options = options;
    this.#database = database;
    this.#passwords = passwords;
    this.#guards = guards;
    this.sessions = sessions;
    this.notices = notices;
    this.users = users;
    this.keys = keys;
    this.signIns = signIns;
    this.checks = checks;
    this.callers = new Callers({ database, clock, sessions, users, keys, uses, tokens });
    this.forms = new UserForms(parts);
    this.movedUsers = new MovedUsers(this.users, options.clock);
    this.passkeys = new Passkeys(parts);
    this.factors = new Factors({ ...parts, passkeys: this.passkeys, guard: guards.factors });
    this.proofs = new Proofs({ ...parts, forms: this.forms, guard: guards.codes });
    this.providers = new Providers(parts);
    this.registrations = new Registrations({ ...parts, forms: this.forms, proofs: this.proofs, passwords });
  }

  /** Finds or makes the key that signs tokens, and begins to sweep. Call `start` once. */
  async start(): Promise<void> {
    this.startWith(this.#options.config["auth.jwtSecret"] ?? (await this.#storedSecret()));
    this.proofs.start();
    this.providers.start();
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
    const stored = this.#options.config["auth.jwtSecret"] ?? storedSecret(this.#database.reader);
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

  /** Lets the sweep remove anonymous users: see `UserDeletions.removeUnused`. */
  sweepWith(removeUnused: (before: number, signal: AbortSignal) => Promise<void>): void {
    this.#removeUnused = removeUnused;
  }

  /**
   * Removes expired sessions, attempts, refresh tokens and API keys, stores the uses of credentials, and removes anonymous users. Never
   * rejects.
   */
  async sweep(): Promise<void> {
    const { signal } = this.#closing;
    try {
      await sweepExpired(this.#database, signal);
      await storeUses(this.uses, this.#database, signal);
      await this.#removeUnused?.(Date.now() - this.#options.config["auth.anonymousKeep"], signal);
    } catch (error) {
      if (!signal.aborted)
        this.#options.logger.warn("Expired sessions, API keys and anonymous users were not removed", { error });
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
    if (!isRight || email === null || found === null) throw wrongCredentials();
    const renewed = isFormer ? await this.#passwords.hash(password, caller, "allow") : null;
    const prove = (tx: Transactor): User => {
      // The user may have been deleted, or may have a new password, since the check began.
      const current = findByEmail(tx, email);
      if (current?.user.id !== found.user.id || current.passwordHash !== found.passwordHash) throw wrongCredentials();
      if (renewed !== null) setPasswordHash(tx, current.user.id, renewed);
      return current.user;
    };
    return this.signIns.signIn({ user: found.user, caller, prove });
  }

  /** @throws AppError `unauthorized` for a token that is unknown, expired or was used before. */
  async refresh(refreshToken: string): Promise<TokenResponse> {
    const outcome = await this.#database.upkeep((tx) => this.sessions.refresh(tx, refreshToken));
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
    await this.#database.transactFor(
      principal,
      (tx) => {
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
      },
      whileReadOnly,
    );
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
    await this.#database.upkeep((tx) => {
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
    return this.#database.upkeep((tx) => {
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
