/** Users, for admins, functions and the command line: search, creation, roles, passwords, deletion. */
import type { Credentials, Role, SessionEntry, User } from "@socle/protocol";
import type { Database, Reader, Transactor } from "../database/index.ts";
import type { EventLog } from "../events/index.ts";
import { AppError, type Clock, type Principal } from "../kernel/index.ts";
import { checkNewCredentials, checkNewPassword, normaliseEmail } from "./credentials.ts";
import { ownCaller, type PasswordCaller, type Passwords } from "./passwords.ts";
import type { Sessions } from "./sessions.ts";
import {
  adminExists,
  deleteUser,
  findByEmail,
  findById,
  insertUser,
  listUsers,
  spendAdminEmail,
  type UserFilter,
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
  readonly #events: EventLog;
  readonly #clock: Clock;
  readonly #sessions: Sessions;
  readonly #passwords: Passwords;
  readonly #passwordMinLength: number;
  readonly #adminEmail: string | undefined;

  constructor(options: {
    database: Database;
    events: EventLog;
    clock: Clock;
    sessions: Sessions;
    passwords: Passwords;
    passwordMinLength: number;
    adminEmail?: string | undefined;
  }) {
    this.#database = options.database;
    this.#events = options.events;
    this.#clock = options.clock;
    this.#sessions = options.sessions;
    this.#passwords = options.passwords;
    this.#passwordMinLength = options.passwordMinLength;
    this.#adminEmail = options.adminEmail;
  }

  find(id: string, reader: Reader = this.#database.reader): Promise<User | null> {
    return findById(reader, id);
  }

  async findByEmail(email: string): Promise<User | null> {
    const normal = normaliseEmail(email);
    return normal === null ? null : ((await findByEmail(this.#database.reader, normal))?.user ?? null);
  }

  async exists(reader: Reader, id: string): Promise<boolean> {
    return (await findById(reader, id)) !== null;
  }

  /** Users in the order in which they came. */
  async list(page: { limit: number; offset: number }): Promise<User[]> {
    return (await listUsers(this.#database.reader, { ...page, order: "oldest" })).items;
  }

  /** Users that a filter lets through, newest first, and how many there are in all. */
  search(filter: UserFilter & { limit: number; offset: number }): Promise<{ items: User[]; total: number }> {
    return listUsers(this.#database.reader, { ...filter, order: "newest" });
  }

  /** The sessions of a user that have not expired, newest first. */
  sessions(userId: string): Promise<SessionEntry[]> {
    return this.#sessions.list(userId, Date.now());
  }

  /** Characters that a password has at least. */
  get passwordMinLength(): number {
    return this.#passwordMinLength;
  }

  adminExists(reader: Reader = this.#database.reader): Promise<boolean> {
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
   * Makes a user who can log in; whether anybody may register is not asked.
   * @throws AppError `conflict` when the email is taken.
   */
  async create(tx: Transactor, values: NewUser & { role: Role }, principal: Principal): Promise<User> {
    const user = await insertUser(tx, values, this.#clock.now());
    const payload = { userId: user.id, role: user.role };
    await this.#events.append(tx, { type: "auth.register", source: "auth", payload, principal });
    return user;
  }

  /**
   * Makes an admin, or makes one of the user who has this email: with the new password, and all sessions ended.
   */
  async makeAdmin(tx: Transactor, values: NewUser): Promise<{ user: User; before: User | null }> {
    const found = await findByEmail(tx, values.email);
    if (found === null) {
      const user = await insertUser(tx, { ...values, role: "admin" }, this.#clock.now());
      return { user, before: null };
    }
    const { user } = found;
    await updateUser(tx, user.id, { role: "admin", passwordHash: values.passwordHash });
    await this.#sessions.endAll(tx, user.id);
    return { user: { ...user, role: "admin" }, before: user };
  }

  /**
   * Gives a user another role, which counts at once.
   * @throws AppError `not_found`, or `bad_request` for the last admin.
   */
  async setRole(tx: Transactor, id: string, role: Role): Promise<User> {
    const user = await this.get(tx, id);
    await updateUser(tx, id, { role });
    await this.#keepAnAdmin(tx, user, "must stay one");
    if (role !== "admin") await this.#spendAdminEmail(tx, user);
    await this.#sessions.changeRole(tx, id, role);
    return { ...user, role };
  }

  /** Gives a user another password, and ends the sessions but one that is to stay. @throws AppError `not_found`. */
  async setPassword(
    tx: Transactor,
    id: string,
    change: { passwordHash: string; keptSession: string | null },
  ): Promise<User> {
    const user = await this.get(tx, id);
    await updateUser(tx, id, { passwordHash: change.passwordHash });
    await this.#sessions.endAll(tx, id, change.keptSession);
    return user;
  }

  /**
   * Deletes a user and ends the sessions. Records and files stay.
   * @throws AppError `not_found`, or `bad_request` for the last admin.
   */
  async delete(tx: Transactor, id: string): Promise<User> {
    const user = await this.get(tx, id);
    // While the user is there, so that each session is found, and told to its sockets.
    await this.#sessions.endAll(tx, id);
    await deleteUser(tx, id);
    await this.#keepAnAdmin(tx, user, "cannot be deleted");
    await this.#spendAdminEmail(tx, user);
    return user;
  }

  /** @throws AppError `not_found` for a session that is over or is not this user's. */
  async endSession(tx: Transactor, userId: string, sessionId: string): Promise<void> {
    await this.get(tx, userId);
    const sessions = await this.#sessions.list(userId, Date.now(), tx);
    if (!sessions.some(({ id }) => id === sessionId)) throw new AppError("not_found", "There is no such session.");
    await this.#sessions.end(tx, sessionId);
  }

  /** @throws AppError `not_found`. */
  async get(reader: Reader, id: string): Promise<User> {
    const user = await findById(reader, id);
    if (user === null) throw new AppError("not_found", "There is no such user.");
    return user;
  }

  async #keepAnAdmin(tx: Transactor, { role }: User, verb: string): Promise<void> {
    if (role === "admin" && !(await adminExists(tx)))
      throw new AppError("bad_request", `The last admin ${verb}: the service would have no admin left.`);
  }

  /** An admin who is deleted or demoted is not made again by `admin.email`. */
  async #spendAdminEmail(tx: Transactor, { email, role }: User): Promise<void> {
    if (role === "admin" && email === this.#adminEmail) await spendAdminEmail(tx, email);
  }
}
