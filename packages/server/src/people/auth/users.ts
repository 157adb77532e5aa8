/** Users and their credentials: emails and passwords of requests; search, creation, changes and deletion of users. */
import type { Credentials, ErrorDetail, Role, SessionEntry, User } from "@socle/protocol";
import { AppError, type Clock, isObject, newId, type Principal, quote, toTimestamp } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import {
  type Database,
  isUniqueViolation,
  type QueryTable,
  type Reader,
  type Transactor,
} from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import { ownCaller, type PasswordCaller, type Passwords } from "./passwords.ts";
import type { Sessions } from "./sessions.ts";

/** Longer ones only cost time. */
const maxPassword = 1_000;
/** RFC 5321, 4.5.3.1: local part and whole address. */
const maxLocal = 64;
const maxEmail = 254;

/** The lower case of "İ": an i with a second, invisible dot. */
const dottedI = "i\u0307";

/** Characters that no font shows. */
const hidden = /\p{DI}/u;
const localPart = /^[^\s@"(),:;<>[\\\]\p{C}]+$/u;
const domain = /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]*[\p{L}\p{N}]$/u;

/**
 * An email address in the stored form, or null for another text. Letters that differ in width, case or a style of Unicode
 * are one letter (NFKC), so that no second account looks like the first: "Ａnn@…" is "ann@…".
 */
export function normaliseEmail(text: string): string | null {
  const email = text.trim().normalize("NFKC").toLowerCase().replaceAll(dottedI, "i").normalize("NFKC");
  const at = email.lastIndexOf("@");
  const local = email.slice(0, at);
  if (at < 1 || email.length > maxEmail || local.length > maxLocal) return null;
  const dots = local.startsWith(".") || local.endsWith(".") || local.includes("..");
  return !dots && localPart.test(local) && domain.test(email.slice(at + 1)) && !hidden.test(email) ? email : null;
}

/** Cuts off the rest of a text that is too long in any case, so that a waiting request takes little memory. */
function cut(text: string, longest: number): string {
  return text.length <= longest ? text : Buffer.from(text.slice(0, longest)).toString();
}

function credential(body: Record<string, unknown>, field: string, problems: ErrorDetail[]): string | null {
  const value = Object.hasOwn(body, field) ? body[field] : undefined;
  if (value === undefined || value === null || value === "") {
    problems.push({ field, rule: "required", message: `${field} is required` });
    return null;
  }
  if (typeof value !== "string" || !value.isWellFormed() || value.includes("\0")) {
    problems.push({ field, rule: "type", message: `${field} must be a string` });
    return null;
  }
  return value;
}

/**
 * Email and password of a request; other keys, also a `role`, are ignored.
 * @throws AppError `validation_error`.
 */
export function readCredentials(body: unknown): Credentials {
  if (!isObject(body)) throw new AppError("bad_request", `The body must be a JSON object, not ${quote(body)}.`);
  const problems: ErrorDetail[] = [];
  const email = credential(body, "email", problems);
  const password = credential(body, "password", problems);
  if (email === null || password === null) throw AppError.validation(problems);
  // A character takes two code units at most.
  return { email: cut(email.trim(), maxEmail + 1), password: cut(password, 2 * maxPassword + 1) };
}

function passwordProblems(password: string, minLength: number): ErrorDetail[] {
  const length = [...password].length;
  const field = "password";
  if (length < minLength)
    return [{ field, rule: "min", message: `password must be at least ${minLength} characters long` }];
  if (length > maxPassword)
    return [{ field, rule: "max", message: `password must be at most ${maxPassword} characters long` }];
  return [];
}

/** @throws AppError `validation_error` for a bad email or password. */
export function checkNewCredentials(credentials: Credentials, passwordMinLength: number): Credentials {
  const problems: ErrorDetail[] = [];
  const email = normaliseEmail(credentials.email);
  if (email === null) problems.push({ field: "email", rule: "type", message: "email must be an email address" });
  problems.push(...passwordProblems(credentials.password, passwordMinLength));
  if (email === null || problems.length > 0) throw AppError.validation(problems);
  return { email, password: credentials.password };
}

/** @throws AppError `validation_error` for a missing password, and for another type. */
export function readPassword(body: Record<string, unknown>): string {
  const problems: ErrorDetail[] = [];
  const password = credential(body, "password", problems);
  if (password === null) throw AppError.validation(problems);
  return password;
}

/** The table of users, and its public columns. */
export const userTable = { table: "_users", fields: ["id", "email", "role", "createdAt"] } as const;

/** The part of the table that `db.query` may read: all but the hashes of passwords, through the view `users`. */
export const userQueryTable: QueryTable = { table: "_users", view: { name: "users", columns: userTable.fields } };

/** Looks a user up by a normalised email. */
export function findByEmail(reader: Reader, email: string): { user: User; passwordHash: string } | null {
  const row = reader.get<User & { passwordHash: string }>(
    "SELECT id, email, role, createdAt, passwordHash FROM _users WHERE email = ?",
    email,
  );
  if (row === null) return null;
  const { passwordHash, ...user } = row;
  return { user, passwordHash };
}

/** @throws AppError `conflict` when the email is taken. */
export function insertUser(tx: Transactor, { email, passwordHash, role }: NewUser & { role: Role }, now: number): User {
  const user: User = { id: newId("usr", now), email, role, createdAt: toTimestamp(now) };
  const sql = "INSERT INTO _users (id, email, passwordHash, role, createdAt) VALUES (?, ?, ?, ?, ?)";
  try {
    tx.run(sql, user.id, email, passwordHash, role, user.createdAt);
  } catch (thrown) {
    throw isUniqueViolation(thrown) ? emailTaken() : thrown;
  }
  return user;
}

export function emailTaken(): AppError {
  return new AppError("conflict", "There is already a user with this email.");
}

/** Whether `admin.email` must not make an admin of this email any more. */
export function isAdminEmailSpent(reader: Reader, email: string): boolean {
  return reader.get("SELECT 1 FROM _spent_admin_emails WHERE email = ?", email) !== null;
}

/** From now on `admin.email` makes no admin of this email. */
export function spendAdminEmail(tx: Transactor, email: string): void {
  tx.run("INSERT OR IGNORE INTO _spent_admin_emails (email) VALUES (?)", email);
}

/** The filter and the page of a list of users. */
interface UserQuery {
  /** A part of the email. */
  readonly search?: string | null;
  readonly role?: Role | null;
  readonly limit: number;
  readonly offset: number;
  /** By default, the newest user is first. */
  readonly order?: "newest" | "oldest";
}

/** A user to be made: checked, and the password hashed, which takes longer than a transaction may. */
export interface NewUser {
  readonly email: string;
  readonly passwordHash: string;
}

interface UsersOptions {
  database: Database;
  events: EventLog;
  clock: Clock;
  logger: Logger;
  sessions: Sessions;
  passwords: Passwords;
  passwordMinLength: number;
  adminEmail?: string | undefined;
}

/** A change of a user is made in the caller's transaction; tokens and sockets follow in the moment of its commit. */
export class Users {
  readonly #options: UsersOptions;
  readonly passwordMinLength: number;

  constructor(options: UsersOptions) {
    this.#options = options;
    this.passwordMinLength = options.passwordMinLength;
  }

  /**
   * Brings emails that earlier versions stored into the present form, by which a login finds its user. A user whose present
   * form is the email of another user keeps the stored form until the other user is deleted, and the log names the user.
   */
  async normaliseEmails(): Promise<void> {
    const { database, logger } = this.#options;
    // Every version has stored an email of ASCII in the present form. The inner query reads only the index of the emails.
    const beyondAscii =
      "SELECT id, email FROM _users WHERE _seq IN (SELECT _seq FROM _users WHERE octet_length(email) > length(email)) ORDER BY _seq";
    await database.transact((tx) => {
      for (const { id, email } of tx.all<{ id: string; email: string }>(beyondAscii)) {
        const normal = normaliseEmail(email);
        if (normal === email) continue;
        const isFree = normal !== null && findByEmail(tx, normal) === null;
        if (isFree) tx.run("UPDATE _users SET email = ? WHERE id = ?", normal, id);
        else logger.warn("A user cannot log in: the email is that of another user, or none", { userId: id });
      }
    });
  }

  find(id: string, reader: Reader = this.#options.database.reader): User | null {
    return reader.get<User>("SELECT id, email, role, createdAt FROM _users WHERE id = ?", id);
  }

  findByEmail(email: string): User | null {
    const normal = normaliseEmail(email);
    return normal === null ? null : (findByEmail(this.#options.database.reader, normal)?.user ?? null);
  }

  /** A page of the users by a filter, and the total. */
  search({ search, role, limit, offset, order = "newest" }: UserQuery): { items: User[]; total: number } {
    const { reader } = this.#options.database;
    const conditions: [string, string][] = [];
    // Emails are stored in lower case.
    if (search) conditions.push(["instr(email, ?) > 0", search.toLowerCase()]);
    if (role) conditions.push(["role = ?", role]);
    const where = conditions.length === 0 ? "" : `WHERE ${conditions.map(([condition]) => condition).join(" AND ")}`;
    const values = conditions.map(([, value]) => value);
    const direction = order === "newest" ? "DESC" : "ASC";
    const sql = `SELECT id, email, role, createdAt FROM _users ${where} ORDER BY _seq ${direction} LIMIT ? OFFSET ?`;
    const items = reader.all<User>(sql, ...values, limit, offset);
    // The last page tells the total.
    const isLast = items.length < limit && (items.length > 0 || offset === 0);
    if (isLast) return { items, total: offset + items.length };
    const row = reader.get<{ n: number }>(`SELECT count(*) AS n FROM _users ${where}`, ...values);
    return { items, total: row?.n ?? 0 };
  }

  /** The sessions of a user that have not expired, newest first. */
  sessions(userId: string): SessionEntry[] {
    return this.#options.sessions.list(userId);
  }

  adminExists(reader: Reader = this.#options.database.reader): boolean {
    return reader.get("SELECT 1 FROM _users WHERE role = 'admin' LIMIT 1") !== null;
  }

  /**
   * @throws AppError `validation_error` for a bad email or a short password, `unavailable` when too many passwords wait
   * to be hashed.
   */
  async prepare(credentials: Credentials, caller: PasswordCaller = ownCaller): Promise<NewUser> {
    const { email, password } = checkNewCredentials(credentials, this.passwordMinLength);
    return { email, passwordHash: await this.#options.passwords.hash(password, caller) };
  }

  /** @throws AppError `validation_error` for a short password, `unavailable` when too many wait to be hashed. */
  async preparePassword(password: string, caller: PasswordCaller): Promise<string> {
    const problems = passwordProblems(password, this.passwordMinLength);
    if (problems.length > 0) throw AppError.validation(problems);
    return this.#options.passwords.hash(password, caller);
  }

  /** Makes a user who can log in, also while registration is off. @throws AppError `conflict` for a taken email. */
  create(tx: Transactor, values: NewUser & { role: Role }, principal: Principal): User {
    const { clock, events } = this.#options;
    const user = insertUser(tx, values, clock.now());
    const payload = { userId: user.id, role: user.role };
    events.append(tx, { type: "auth.register", source: "auth", payload, principal });
    return user;
  }

  /** Makes an admin of the email: a new user, or the existing user with the new password and without sessions. */
  makeAdmin(tx: Transactor, values: NewUser): { user: User; before: User | null } {
    const before = findByEmail(tx, values.email)?.user ?? null;
    if (before === null)
      return { user: insertUser(tx, { ...values, role: "admin" }, this.#options.clock.now()), before };
    tx.run("UPDATE _users SET role = 'admin', passwordHash = ? WHERE id = ?", values.passwordHash, before.id);
    this.#options.sessions.endAll(tx, before.id);
    return { user: { ...before, role: "admin" }, before };
  }

  /**
   * Gives a user another role, which counts at once.
   * @throws AppError `not_found`, or `bad_request` for the last admin.
   */
  setRole(tx: Transactor, id: string, role: Role): User {
    const user = this.get(id, tx);
    tx.run("UPDATE _users SET role = ? WHERE id = ?", role, id);
    this.#keepAnAdmin(tx, user, "must stay one");
    if (role !== "admin") this.#spendAdminEmail(tx, user);
    this.#options.sessions.changeRole(tx, id, role);
    return { ...user, role };
  }

  /** Gives a user another password, and ends the sessions but a kept session. @throws AppError `not_found`. */
  setPassword(tx: Transactor, id: string, change: { passwordHash: string; keptSession: string | null }): User {
    const user = this.get(id, tx);
    tx.run("UPDATE _users SET passwordHash = ? WHERE id = ?", change.passwordHash, id);
    this.#options.sessions.endAll(tx, id, change.keptSession);
    return user;
  }

  /**
   * Deletes a user and ends the sessions. Records and files stay.
   * @throws AppError `not_found`, or `bad_request` for the last admin.
   */
  delete(tx: Transactor, id: string): User {
    const user = this.get(id, tx);
    // Before the deletion, so that each session is found and its sockets are told.
    this.#options.sessions.endAll(tx, id);
    tx.run("DELETE FROM _users WHERE id = ?", id);
    this.#keepAnAdmin(tx, user, "cannot be deleted");
    this.#spendAdminEmail(tx, user);
    return user;
  }

  /** @throws AppError `not_found` for a session that is over or is not this user's. */
  endSession(tx: Transactor, userId: string, sessionId: string): void {
    const { sessions } = this.#options;
    this.get(userId, tx);
    if (!sessions.list(userId, tx).some(({ id }) => id === sessionId))
      throw new AppError("not_found", "There is no such session.");
    sessions.end(tx, sessionId);
  }

  /** @throws AppError `not_found`. */
  get(id: string, reader?: Reader): User {
    const user = this.find(id, reader);
    if (user === null) throw new AppError("not_found", "There is no such user.");
    return user;
  }

  #keepAnAdmin(tx: Transactor, { role }: User, verb: string): void {
    if (role === "admin" && !this.adminExists(tx))
      throw new AppError("bad_request", `The last admin ${verb}: the service would have no admin left.`);
  }

  /** `admin.email` makes no admin again of a deleted or demoted admin. */
  #spendAdminEmail(tx: Transactor, { email, role }: User): void {
    if (role === "admin" && email === this.#options.adminEmail) spendAdminEmail(tx, email);
  }
}
