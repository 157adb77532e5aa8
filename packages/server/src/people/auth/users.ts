/** Users, for admins, functions and the command line: search, creation, roles, passwords, deletion. */
import type { Credentials, Role, SessionEntry, User } from "@socle/protocol";
import { AppError, type Clock, type Principal } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database, Reader, Transactor } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import { checkNewCredentials, checkNewPassword, normaliseEmail } from "./credentials.ts";
import { ownCaller, type PasswordCaller, type Passwords } from "./passwords.ts";
import type { Sessions } from "./sessions.ts";
import {
  adminExists,
  deleteUser,
  emailsBeyondAscii,
  findByEmail,
  findById,
  insertUser,
  listUsers,
  spendAdminEmail,
  type UserFilter,
  updateEmail,
  updateUser,
} from "./user-table.ts";

/** A user to be made: checked, and the password hashed, which takes longer than a transaction may. */
export interface NewUser {
  readonly email: string;
  readonly passwordHash: string;
}

/**
 * A change of a user is made in the caller's transaction; tokens and sockets follow in the moment of its commit.
 */
export class Users {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #events: EventLog;
  readonly #clock: Clock;
  readonly #sessions: Sessions;
  readonly #passwords: Passwords;
  readonly #passwordMinLength: number;
  readonly #adminEmail: string | undefined;

  constructor(options: {
    database: Database;
    logger: Logger;
    events: EventLog;
    clock: Clock;
    sessions: Sessions;
    passwords: Passwords;
    passwordMinLength: number;
    adminEmail?: string | undefined;
  }) {
    this.#database = options.database;
    this.#logger = options.logger;
    this.#events = options.events;
    this.#clock = options.clock;
    this.#sessions = options.sessions;
    this.#passwords = options.passwords;
    this.#passwordMinLength = options.passwordMinLength;
    this.#adminEmail = options.adminEmail;
  }

  /**
   * Brings emails that earlier versions stored into the present form, by which a login finds its user. Two users may have the
   * same email then: the second keeps the stored form, and the log names the user.
   */
  async start(): Promise<void> {
    const former = emailsBeyondAscii(this.#database.reader).filter(({ email }) => normaliseEmail(email) !== email);
    for (const { id, email } of former) {
      const normal = normaliseEmail(email);
      const isFree = normal !== null && findByEmail(this.#database.reader, normal) === null;
      if (isFree) await this.#database.transact((tx) => updateEmail(tx, id, normal));
      else this.#logger.warn("A user cannot log in: the email is that of another user, or none", { userId: id });
    }
  }

  find(id: string, reader: Reader = this.#database.reader): User | null {
    return findById(reader, id);
  }

  findByEmail(email: string): User | null {
    const normal = normaliseEmail(email);
    return normal === null ? null : (findByEmail(this.#database.reader, normal)?.user ?? null);
  }

  exists(reader: Reader, id: string): boolean {
    return findById(reader, id) !== null;
  }

  /** Users in the order of their creation. */
  list(page: { limit: number; offset: number }): User[] {
    return listUsers(this.#database.reader, { ...page, order: "oldest" }).items;
  }

  /** Users by a filter, newest first, and the total. */
  search(filter: UserFilter & { limit: number; offset: number }): { items: User[]; total: number } {
    return listUsers(this.#database.reader, { ...filter, order: "newest" });
  }

  /** The sessions of a user that have not expired, newest first. */
  sessions(userId: string): SessionEntry[] {
    return this.#sessions.list(userId, Date.now());
  }

  /** Characters that a password has at least. */
  get passwordMinLength(): number {
    return this.#passwordMinLength;
  }

  adminExists(reader: Reader = this.#database.reader): boolean {
    return adminExists(reader);
  }

  /**
   * @throws AppError `validation_error` for a bad email or a short password, `unavailable` when too many passwords wait
   * to be hashed.
   */
  async prepare(credentials: Credentials, caller: PasswordCaller = ownCaller): Promise<NewUser> {
    const { email, password } = checkNewCredentials(credentials, this.#passwordMinLength);
    return { email, passwordHash: await this.#passwords.hash(password, caller) };
  }

  /** @throws AppError `validation_error` for a short password, `unavailable` when too many wait to be hashed. */
  async preparePassword(password: string, caller: PasswordCaller = ownCaller): Promise<string> {
    checkNewPassword(password, this.#passwordMinLength);
    return this.#passwords.hash(password, caller);
  }

  /**
   * Makes a user who can log in, also while registration is off.
   * @throws AppError `conflict` for a taken email.
   */
  create(tx: Transactor, values: NewUser & { role: Role }, principal: Principal): User {
    const user = insertUser(tx, values, this.#clock.now());
    const payload = { userId: user.id, role: user.role };
    this.#events.append(tx, { type: "auth.register", source: "auth", payload, principal });
    return user;
  }

  /** Makes an admin of the email: a new user, or the existing user with the new password and without sessions. */
  makeAdmin(tx: Transactor, values: NewUser): { user: User; before: User | null } {
    const found = findByEmail(tx, values.email);
    if (found === null) {
      const user = insertUser(tx, { ...values, role: "admin" }, this.#clock.now());
      return { user, before: null };
    }
    const { user } = found;
    updateUser(tx, user.id, { role: "admin", passwordHash: values.passwordHash });
    this.#sessions.endAll(tx, user.id);
    return { user: { ...user, role: "admin" }, before: user };
  }

  /**
   * Gives a user another role, which counts at once.
   * @throws AppError `not_found`, or `bad_request` for the last admin.
   */
  setRole(tx: Transactor, id: string, role: Role): User {
    const user = this.get(tx, id);
    updateUser(tx, id, { role });
    this.#keepAnAdmin(tx, user, "must stay one");
    if (role !== "admin") this.#spendAdminEmail(tx, user);
    this.#sessions.changeRole(tx, id, role);
    return { ...user, role };
  }

  /** Gives a user another password, and ends the sessions but a kept session. @throws AppError `not_found`. */
  setPassword(tx: Transactor, id: string, change: { passwordHash: string; keptSession: string | null }): User {
    const user = this.get(tx, id);
    updateUser(tx, id, { passwordHash: change.passwordHash });
    this.#sessions.endAll(tx, id, change.keptSession);
    return user;
  }

  /**
   * Deletes a user and ends the sessions. Records and files stay.
   * @throws AppError `not_found`, or `bad_request` for the last admin.
   */
  delete(tx: Transactor, id: string): User {
    const user = this.get(tx, id);
    // Before the deletion, so that each session is found and its sockets are told.
    this.#sessions.endAll(tx, id);
    deleteUser(tx, id);
    this.#keepAnAdmin(tx, user, "cannot be deleted");
    this.#spendAdminEmail(tx, user);
    return user;
  }

  /** @throws AppError `not_found` for a session that is over or is not this user's. */
  endSession(tx: Transactor, userId: string, sessionId: string): void {
    this.get(tx, userId);
    const sessions = this.#sessions.list(userId, Date.now(), tx);
    if (!sessions.some(({ id }) => id === sessionId)) throw new AppError("not_found", "There is no such session.");
    this.#sessions.end(tx, sessionId);
  }

  /** @throws AppError `not_found`. */
  get(reader: Reader, id: string): User {
    const user = findById(reader, id);
    if (user === null) throw new AppError("not_found", "There is no such user.");
    return user;
  }

  #keepAnAdmin(tx: Transactor, { role }: User, verb: string): void {
    if (role === "admin" && !adminExists(tx))
      throw new AppError("bad_request", `The last admin ${verb}: the service would have no admin left.`);
  }

  /** `admin.email` makes no admin again of a deleted or demoted admin. */
  #spendAdminEmail(tx: Transactor, { email, role }: User): void {
    if (role === "admin" && email === this.#adminEmail) spendAdminEmail(tx, email);
  }
}
