/** Admin API of users: lists users, changes roles and passwords, ends sessions, in force at once on open sockets too. */
import {
  type Invitation,
  type Link,
  ROLES,
  type Role,
  type User,
  type UserEntry,
  type UserFactors,
} from "@socle/protocol";
import { AppError, readChoice, type SignedIn } from "../../base/kernel/index.ts";
import type { Records } from "../../data/records/index.ts";
import {
  checkRecent,
  type Factors,
  type Notices,
  type PasswordCaller,
  type Proofs,
  type Providers,
  readPassword,
  type UserDeletions,
  type UserForms,
  type Users,
} from "../../people/auth/index.ts";
import { type AdminChanges, deletion, refuseOthers } from "./admin-changes.ts";

interface UserAdminOptions {
  readonly changes: AdminChanges;
  readonly users: Users;
  readonly forms: UserForms;
  readonly factors: Factors;
  readonly notices: Notices;
  readonly providers: Providers;
  readonly userDeletions: UserDeletions;
  readonly proofs: Pick<Proofs, "invitations" | "mailReset" | "mailVerification">;
  readonly records: Records;
}

export class UserAdmin {
  readonly #options: UserAdminOptions;

  constructor(options: UserAdminOptions) {
    this.#options = options;
  }

  /** Newest first. The filter is a part of the email and a role, each null for any. */
  search(
    filter: { search: string | null; role: string | null },
    page: { limit: number; offset: number },
  ): { items: User[]; total: number } {
    const role = filter.role === null ? null : readChoice("role", filter.role, ROLES);
    const { users } = this.#options;
    const { items, total } = users.search({ search: filter.search, role, ...page });
    return { items: items.map((user) => users.shown(user)), total };
  }

  /** @throws AppError `not_found`. */
  get(id: string): UserEntry {
    const { users } = this.#options;
    return { ...users.shown(users.get(id)), sessions: users.sessions(id) };
  }

  /**
   * Makes a user, also when registration is closed. The body has the fields of a definition of `users`, too.
   * @throws AppError `bad_request` for an unknown role, `validation_error`, `conflict` when the email is taken; `forbidden` for
   * an admin without a recent sign-in who makes an admin.
   */
  async create(body: Record<string, unknown>, admin: SignedIn): Promise<User> {
    const { users, forms, records } = this.#options;
    if (!records.users.isOn) refuseOthers(body, ["email", "password", "role"]);
    const { role: asked = "authenticated", ...form } = body;
    const role = readChoice("role", asked, ROLES);
    const { credentials, fields } = await forms.check(form, { creator: admin });
    const values = await users.prepare(credentials, { key: admin.userId });
    return this.#options.changes.transact(admin, (tx, audit) => {
      if (role === "admin") checkRecent(tx, admin);
      const user = users.shown(users.create(tx, { ...values, role, fields }, admin));
      audit({ action: "user.created", target: user.id, after: user });
      return user;
    });
  }

  /** Mails an invitation. @throws AppError as `Invitations.prepare`, and `forbidden` as `create`. */
  async invite(body: Record<string, unknown>, admin: SignedIn, caller: PasswordCaller): Promise<Invitation> {
    refuseOthers(body, ["email", "role", "data"]);
    const invitation = await this.#options.proofs.invitations.prepare(body, admin, caller);
    return this.#options.changes.transact(admin, (tx, audit) => {
      const after = invitation.write(tx);
      if (after.role === "admin") checkRecent(tx, admin);
      audit({ action: "user.invited", target: after.email, after });
      return after;
    });
  }

  /** @throws AppError `not_found`, `bad_request` for the last admin, `forbidden` as `create`. */
  async setRole(id: string, role: Role, admin: SignedIn): Promise<User> {
    return this.#options.changes.transact(admin, (tx, audit) => {
      const { users } = this.#options;
      const old = users.shown(users.get(id, tx));
      if (old.role === role) return old;
      if (role === "admin") checkRecent(tx, admin);
      const user = users.shown(users.setRole(tx, { id, role }, admin));
      audit({ action: "user.updated", target: id, before: old, after: user });
      return user;
    });
  }

  /**
   * Gives a user a new password. All sessions end but the admin's own.
   * @throws AppError `not_found`, `validation_error`, `forbidden` for an admin without a recent sign-in.
   */
  async setPassword(id: string, body: { password: string }, admin: SignedIn): Promise<User> {
    const passwordHash = await this.#options.users.preparePassword(readPassword(body), { key: admin.userId });
    return this.#options.changes.transact(admin, (tx, audit) => {
      checkRecent(tx, admin);
      const { users, notices } = this.#options;
      const own = { passwordHash, keptSession: admin.sessionId };
      const user = id === admin.userId ? users.setPassword(tx, id, own) : users.givePassword(tx, id, passwordHash);
      notices.tell(tx, user, { change: "The password was changed.", by: "an administrator" });
      audit({ action: "user.password", target: id });
      return users.shown(user);
    });
  }

  /**
   * Mails a user a link that sets a new password.
   * @throws AppError `not_found`; `unavailable` when mail is off, and without `publicUrl`.
   */
  async sendReset(id: string, admin: SignedIn, caller: PasswordCaller): Promise<void> {
    await this.#options.changes.transact(admin, (tx, audit) => {
      this.#options.proofs.mailReset(tx, this.#options.users.get(id, tx), caller);
      audit({ action: "user.reset", target: id });
    });
  }

  /**
   * Mails a user a link that proves the address.
   * @throws AppError as `sendReset`; `bad_request` for a user with a proven address.
   */
  async sendVerification(id: string, admin: SignedIn, caller: PasswordCaller): Promise<void> {
    await this.#options.changes.transact(admin, (tx, audit) => {
      const user = this.#options.users.get(id, tx);
      if (user.verified) throw new AppError("bad_request", "The user has proven the address already.");
      this.#options.proofs.mailVerification(tx, user, caller);
      audit({ action: "user.verification", target: id });
    });
  }

  /**
   * Records that point to the user do what the `onDelete` of their field says.
   * @throws AppError `not_found`, or `bad_request` for the last admin and for records that refuse the deletion.
   */
  async delete(id: string, admin: SignedIn): Promise<void> {
    const { changes, notices, userDeletions } = this.#options;
    await userDeletions.delete(id, admin, (tx, caller) => {
      const audit = changes.admit(tx, admin, caller);
      return (before) => {
        notices.tell(tx, before, { change: "The account was deleted.", by: "an administrator" });
        audit({ action: "user.deleted", target: id, before });
      };
    });
  }

  /** @throws AppError `not_found`. */
  factors(id: string): UserFactors {
    this.#options.users.get(id);
    return this.#options.factors.of(id);
  }

  /** Removes every second factor of a user who has lost the factors. @throws AppError `not_found`, `forbidden` as `setPassword`. */
  async removeFactors(id: string, admin: SignedIn): Promise<void> {
    await this.#options.changes.transact(admin, (tx, audit) => {
      checkRecent(tx, admin);
      const user = this.#options.users.get(id, tx);
      const before = this.#options.factors.removeAll(tx, id);
      const change = "Second factor and passkeys were removed.";
      this.#options.notices.tell(tx, user, { change, by: "an administrator" });
      audit({ action: "user.factors", target: id, before, after: this.#options.factors.of(id, tx) });
    });
  }

  /**
   * Removes a second factor of a user, also the last way to sign in.
   * @param factor `totp`, or the id of a passkey.
   * @throws AppError `not_found`.
   */
  async removeFactor(id: string, factor: string, admin: SignedIn): Promise<void> {
    await this.#options.changes.transact(admin, (tx, audit) => {
      checkRecent(tx, admin);
      const user = this.#options.users.get(id, tx);
      const before = this.#options.factors.removeOne(tx, id, factor);
      const change = factor === "totp" ? "The authenticator app was removed." : "A passkey was removed.";
      this.#options.notices.tell(tx, user, { change, by: "an administrator" });
      audit({ action: "user.factors", target: id, before, after: this.#options.factors.of(id, tx) });
    });
  }

  /** @throws AppError `not_found`. */
  links(id: string): Link[] {
    this.#options.users.get(id);
    return this.#options.providers.accounts.links(id);
  }

  /** Removes the link of a user to an account at a provider, also the last way to sign in. @throws AppError `not_found`. */
  async removeLink(id: string, provider: string, admin: SignedIn): Promise<void> {
    await this.#options.changes.transact(admin, (tx, audit) => {
      const user = this.#options.users.get(id, tx);
      const { accounts } = this.#options.providers;
      const before = accounts.remove(tx, user, { provider, by: "an administrator" });
      audit({ action: "user.unlinked", target: id, before });
    });
  }

  /** @throws AppError `not_found`. */
  async endSession(id: string, sessionId: string, admin: SignedIn): Promise<void> {
    await this.#options.changes.transact(
      admin,
      (tx, audit) => {
        this.#options.users.endSession(tx, id, sessionId);
        audit({ action: "session.deleted", target: sessionId, before: { userId: id } });
      },
      deletion,
    );
  }
}
