/** Users: creation, changes and deletion, with the records and the credentials. */
import type { Credentials, ErrorDetail, Role, SessionEntry, StoredRecord, User } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import {
  AppError,
  type Cause,
  type Clock,
  newId,
  type Principal,
  type SignedIn,
  toTimestamp,
  visitorFor,
} from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { TakesTarget, UserRecords } from "../../data/records/index.ts";
import type { Database, Reader, Transactor } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import { normaliseEmail } from "../mail/index.ts";
import { type CredentialKinds, nothingShown, type ShownCredentials } from "./credentials.ts";
import { formerEmails, sharedAddresses, storedEmail } from "./former-email-table.ts";
import type { CredentialChange, Notices } from "./notices.ts";
import { type CommonPasswords, ownCaller, type PasswordCaller, type Passwords } from "./passwords.ts";
import { endProofsOf } from "./proof-table.ts";
import { checkNewCredentials, passwordProblems, readEmail } from "./read-body.ts";
import type { Sessions } from "./sessions.ts";
import {
  deleteUser,
  findByEmail,
  findUser,
  hasAdmin,
  insertUser,
  isAdminEmailSpent,
  noteGivenPassword,
  sampleUsers,
  searchUsers,
  setPasswordHash,
  spendAdminEmail,
  type UserQuery,
  type UserRow,
  updateUser,
} from "./user-table.ts";

/** The refusal of a change that an anonymous user cannot make. */
export function anonymousRefused(): AppError {
  return new AppError("forbidden", "An anonymous user cannot do this: claim an account with an email address first.");
}

/** A user to be made: checked, and the password hashed, which takes longer than a transaction may. */
export interface NewUser {
  readonly email: string;
  readonly passwordHash: string;
  /** The fields of a form; absent for a user without a form, whose required fields are left empty. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** See `NewRecord` of records. */
  readonly takes?: TakesTarget;
  /** The request of a user who registers. */
  readonly cause?: Cause | undefined;
}

/** A user to be added; an anonymous user has no email. A user who moves in brings id and times from another service. */
type AddedUser = Omit<NewUser, "email"> & {
  readonly email: string | null;
  readonly role: Role;
  readonly moved?: Pick<UserRow, "id" | "createdAt" | "verifiedAt"> & { readonly updatedAt: string };
};

/** A user of another service; the hash may be of any algorithm that `Passwords` compares. */
export type MovedUser = Omit<AddedUser, "role" | "moved"> & { readonly moved: NonNullable<AddedUser["moved"]> };

/** A form that is tried: an empty email stands for a wrong email, and for an email that the trial must not look at. */
export interface TriedUser {
  readonly email: string;
  readonly fields: NonNullable<NewUser["fields"]>;
  readonly problems: readonly ErrorDetail[];
}

interface AccountChange extends Partial<Pick<User, "email" | "role" | "verified">> {
  /** The user before the change. */
  readonly user: User;
}

/** A proof of an address. */
interface AddressProof {
  readonly shown: ShownCredentials;
  /** By default, the present address of the user. */
  readonly email?: string | null;
  /** The caller, for a notice of the removed credentials; null for a caller who mails a notice in any case. */
  readonly by: CredentialChange["by"] | null;
}

interface UsersOptions {
  database: Database;
  mails: { readonly isOn: boolean };
  records: UserRecords;
  events: EventLog;
  clock: Clock;
  logger: Logger;
  sessions: Sessions;
  passwords: Passwords;
  notices: Notices;
  credentials: CredentialKinds;
  config: Config;
}

/** A change of a user is made in the caller's transaction; tokens and sockets follow in the moment of its commit. */
export class Users {
  /** The kinds of credentials of users. */
  readonly credentials: CredentialKinds;
  readonly #options: UsersOptions;
  readonly passwordMinLength: number;
  /** The email whose registration makes an admin, once. */
  readonly #adminEmail: string | undefined;

  constructor(options: UsersOptions) {
    this.#options = options;
    this.credentials = options.credentials;
    this.passwordMinLength = options.config["auth.passwordMinLength"];
    const email = options.config["admin.email"];
    this.#adminEmail = email && (normaliseEmail(email) ?? email);
  }

  /**
   * Brings emails that earlier versions stored into the present form, by which a login finds its user. A user whose present
   * form is the email of another user keeps the stored form, and signs in with this spelling, until the next start after the
   * other user is gone; the log names both spellings.
   */
  async normaliseEmails(): Promise<void> {
    const { database, logger } = this.#options;
    await database.upkeep((tx) => {
      for (const { id, present, isTaken } of formerEmails(tx))
        if (present === null) logger.warn("A user cannot log in: the email is no email address", { userId: id });
        else if (!isTaken) this.change(tx, { user: this.get(id, tx), email: present }, null);
    });
    for (const line of sharedAddresses(database.reader)) logger.warn(line);
  }

  /** The stored email that a body means. @throws AppError as `readEmail`. */
  readEmail(body: Readonly<Record<string, unknown>>): string {
    const email = readEmail(body);
    return storedEmail(this.#options.database.reader, String(body["email"])) ?? email;
  }

  /** A user as answers show the user: without mail and providers, nobody proves an address. */
  shown<T extends User>({ verified, anonymous, ...user }: T): Omit<T, "verified" | "anonymous"> & User {
    const { mails, config } = this.#options;
    const isProvable = mails.isOn || (config["auth.providers"]?.length ?? 0) > 0;
    return { ...user, ...(isProvable && { verified }), ...(config["auth.anonymous"] && { anonymous }) } as T;
  }

  find(id: string, reader: Reader = this.#options.database.reader): User | null {
    return findUser(reader, id);
  }

  /** The email of a user. @throws AppError `forbidden` for an anonymous user. */
  emailOf(id: string, reader?: Reader): string {
    const { email } = this.get(id, reader);
    if (email === null) throw anonymousRefused();
    return email;
  }

  /** The anonymous user of a session; null for any other caller. */
  anonymous(principal: SignedIn | null, reader?: Reader): User | null {
    const user = principal && this.find(principal.userId, reader);
    return user?.email === null ? user : null;
  }

  /** The role of a user who registers: the email of the configuration makes an admin, once. */
  roleOfNew(reader: Reader, email: string): Role {
    return email === this.#adminEmail && !isAdminEmailSpent(reader, email) ? "admin" : "authenticated";
  }

  findByEmail(email: string, reader: Reader = this.#options.database.reader): User | null {
    const stored = storedEmail(reader, email);
    return stored === null ? null : (findByEmail(reader, stored)?.user ?? null);
  }

  /** A page of the users by a filter, and the total. */
  search(query: UserQuery, reader: Reader = this.#options.database.reader): { items: User[]; total: number } {
    return searchUsers(reader, query);
  }

  /** Users without the role admin, spread from the oldest to the newest. */
  sample(size: number): User[] {
    return sampleUsers(this.#options.database.reader, size);
  }

  /** The sessions of a user that have not expired, newest first. */
  sessions(userId: string): SessionEntry[] {
    return this.#options.sessions.list(userId);
  }

  adminExists(reader: Reader = this.#options.database.reader): boolean {
    return hasAdmin(reader);
  }

  /**
   * @param common as `Passwords.hash`.
   * @throws AppError `validation_error` for a bad email or a password that is not allowed, `unavailable` when too many
   * passwords wait to be hashed.
   */
  async prepare(
    credentials: Credentials,
    caller: PasswordCaller = ownCaller,
    common?: CommonPasswords,
  ): Promise<NewUser> {
    const { email, password } = checkNewCredentials(credentials, this.passwordMinLength);
    return { email, passwordHash: await this.#options.passwords.hash(password, caller, common) };
  }

  /** @throws AppError `validation_error` for a password that is not allowed, `unavailable` when too many wait to be hashed. */
  async preparePassword(password: string, caller: PasswordCaller): Promise<string> {
    const problems = passwordProblems(password, this.passwordMinLength);
    if (problems.length > 0) throw AppError.validation(problems);
    return this.#options.passwords.hash(password, caller);
  }

  /**
   * Adds a user and the record of the user: the only way in which users come.
   * @param creator null for the user.
   * @throws AppError `conflict` for a taken email, `validation_error` and `forbidden` for fields.
   */
  add(tx: Transactor, values: AddedUser, creator: Principal): User {
    const { records } = this.#options;
    const user = this.#insert(tx, values);
    records.create(tx, user, {
      ...values,
      creator,
      fields: values.fields ?? null,
      updatedAt: values.moved?.updatedAt,
    });
    return user;
  }

  /**
   * Tries a new user: the transaction must be taken back. Answers the fields of the future record, with defaults.
   * @throws AppError as `add`, with the other problems of the form beside the problems of the fields.
   */
  try(tx: Transactor, { email, fields, problems }: TriedUser, creator: Principal): Partial<StoredRecord> {
    const { records } = this.#options;
    // A default may point to the new user.
    const user = this.#insert(tx, { email, passwordHash: "", role: "authenticated" });
    return records.create(tx, user, { creator, fields, problems });
  }

  /**
   * Changes the account of a user, and the record: the only way in which the email, the role and the proof change. Tokens
   * that were mailed to the former address end.
   * @throws AppError `conflict` for a taken email.
   */
  change(
    tx: Transactor,
    { user, email = user.email, role = user.role, verified = user.verified }: AccountChange,
    principal: Principal,
  ): User {
    const { clock, records } = this.#options;
    const changed: User = { ...user, email, role, verified: verified === true, anonymous: email === null };
    updateUser(tx, changed, toTimestamp(clock.now()));
    if (email !== user.email) {
      endProofsOf(tx, user.id);
      this.#spendAdminEmail(tx, user);
    }
    records.follow(tx, changed, principal);
    return changed;
  }

  /** Makes a user who can log in, also while registration is off. @throws AppError as `add`. */
  create(tx: Transactor, values: NewUser & { role: Role }, principal: Principal): User {
    const { events } = this.#options;
    const user = this.add(tx, values, principal);
    const payload = { userId: user.id, role: user.role };
    const by = principal ?? (values.cause === undefined ? null : visitorFor(values.cause));
    events.append(tx, { type: "auth.register", source: "auth", payload, principal: by });
    return user;
  }

  /**
   * Makes an admin of the email: a new user, or the existing user with the new password, without sessions and API keys. The
   * operator of the service stands for the address.
   */
  makeAdmin(tx: Transactor, values: NewUser): { user: User; before: User | null } {
    const before = findByEmail(tx, values.email)?.user ?? null;
    const user = before ?? this.add(tx, { ...values, role: "admin" }, null);
    const proven = this.prove(tx, user, { shown: nothingShown, by: null });
    setPasswordHash(tx, user.id, values.passwordHash);
    this.credentials.endAccess(tx, user.id);
    return { user: this.change(tx, { user: proven, role: "admin" }, null), before };
  }

  /**
   * Marks an address of a user as proven, and makes the address the address of the user. The first proof removes the credentials
   * that were made before: somebody else may have registered with the address. Each first proof, by mail or by a provider,
   * calls this function.
   */
  prove(tx: Transactor, user: User, { shown, email = user.email, by }: AddressProof): User {
    const { id: userId, role } = user;
    if (user.verified && email === user.email) return user;
    const removed = user.verified ? "" : this.credentials.removeUnproven(tx, userId, shown);
    if (removed !== "" && by !== null) {
      const change = `The address was proven for the first time. ${removed}`;
      // The proven address: the former address may be of somebody else.
      this.#options.notices.tell(tx, { id: userId, email }, { change, by });
    }
    return this.change(tx, { user, email, verified: true }, { userId, role });
  }

  /**
   * Gives a user another role, which counts at once.
   * @throws AppError `not_found`, or `bad_request` for the last admin.
   */
  setRole(tx: Transactor, { id, role }: Pick<User, "id" | "role">, principal: Principal): User {
    const user = this.get(id, tx);
    if (user.email === null && role === "admin")
      throw new AppError("bad_request", "An anonymous user cannot be an admin.");
    const changed = this.change(tx, { user, role }, principal);
    this.#keepAnAdmin(tx, user, "must stay one");
    if (role !== "admin") this.#spendAdminEmail(tx, user);
    this.#options.sessions.changeRole(tx, id, role);
    this.credentials.changeRole(tx, id, role);
    return changed;
  }

  /**
   * Gives a user another password, and ends the sessions but a kept session, and tokens that were mailed.
   * @throws AppError `not_found`.
   */
  setPassword(tx: Transactor, id: string, change: { passwordHash: string; keptSession: string | null }): User {
    const user = this.get(id, tx);
    setPasswordHash(tx, id, change.passwordHash);
    this.#options.sessions.endAll(tx, id, change.keptSession);
    // A token that proves the present address is no danger.
    endProofsOf(tx, id, "verify");
    return user;
  }

  /**
   * Gives a user a password that somebody else has chosen: an admin, or the user's code. A stranger may have registered with the
   * address, and made the other credentials: so this password keeps no other credential at the first proof of the address.
   * @throws AppError `not_found`.
   */
  givePassword(tx: Transactor, id: string, passwordHash: string): User {
    const user = this.setPassword(tx, id, { passwordHash, keptSession: null });
    if (!user.verified) noteGivenPassword(tx, id);
    return user;
  }

  /**
   * Deletes a user with the record of the user and every credential. Other records and files stay. `UserDeletions` calls, and
   * follows the relations first.
   * @throws AppError `not_found`, or `bad_request` for the last admin.
   */
  delete(tx: Transactor, id: string, principal: Principal): User {
    const user = this.get(id, tx);
    // Before the deletion, so that each session is found and its sockets are told.
    this.credentials.removeAll(tx, id);
    deleteUser(tx, id);
    this.#options.records.delete(tx, id, principal);
    this.#keepAnAdmin(tx, user, "cannot be deleted");
    this.#spendAdminEmail(tx, user);
    return user;
  }

  /** @throws AppError `not_found` for a session that is over or is not this user's. */
  endSession(tx: Transactor, userId: string, sessionId: string): void {
    const { sessions } = this.#options;
    this.get(userId, tx);
    if (!sessions.list(userId, tx).some(({ id }) => id === sessionId))
      throw new AppError("not_found", "The session does not exist.");
    sessions.end(tx, sessionId);
  }

  /** @throws AppError `not_found`. */
  get(id: string, reader?: Reader): User {
    const user = this.find(id, reader);
    if (user === null) throw new AppError("not_found", "The user does not exist.");
    return user;
  }

  #insert(tx: Transactor, { email, passwordHash, role, moved }: AddedUser): User {
    const now = this.#options.clock.now();
    const { id = newId("usr", now), createdAt = toTimestamp(now), verifiedAt = null } = moved ?? {};
    return insertUser(tx, { id, email, passwordHash, role, createdAt, verifiedAt });
  }

  #keepAnAdmin(tx: Transactor, { role }: User, verb: string): void {
    if (role === "admin" && !this.adminExists(tx))
      throw new AppError("bad_request", `The last admin ${verb}: the service would have no admin left.`);
  }

  /** `admin.email` makes no admin again of a deleted or demoted admin. */
  #spendAdminEmail(tx: Transactor, { email, role }: User): void {
    if (role === "admin" && email !== null && email === this.#adminEmail) spendAdminEmail(tx, email);
  }
}
