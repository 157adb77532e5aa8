/** Admin API of users: lists users, changes roles and passwords, ends sessions, in force at once on open sockets too. */
import { ROLES, type User, type UserEntry } from "@socle/protocol";
import { readChoice, type SignedIn } from "../../base/kernel/index.ts";
import type { Records } from "../../data/records/index.ts";
import { readCredentials, readPassword, type Users } from "../../people/auth/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import { type AdminChanges, type AuditEntry, refuseOthers } from "./admin-changes.ts";

export class UserAdmin {
  readonly #options: { changes: AdminChanges; users: Users; records: Records };

  constructor(options: { changes: AdminChanges; users: Users; records: Records }) {
    this.#options = options;
  }

  /** Newest first. The filter is a part of the email and a role, each null for any. */
  search(
    filter: { search: string | null; role: string | null },
    page: { limit: number; offset: number },
  ): { items: User[]; total: number } {
    const role = filter.role === null ? null : readChoice("role", filter.role, ROLES);
    return this.#options.users.search({ search: filter.search, role, ...page });
  }

  /** @throws AppError `not_found`. */
  get(id: string): UserEntry {
    const { users } = this.#options;
    return { ...users.get(id), sessions: users.sessions(id) };
  }

  /**
   * Makes a user, also when registration is closed.
   * @throws AppError `bad_request` for an unknown role, `validation_error`, `conflict` when the email is taken.
   */
  async create(body: Record<string, unknown>, admin: SignedIn): Promise<User> {
    refuseOthers(body, ["email", "password", "role"]);
    const role = body["role"] === undefined ? "authenticated" : readChoice("role", body["role"], ROLES);
    const values = await this.#options.users.prepare(readCredentials(body), { key: admin.userId });
    return this.#options.changes.transact(admin, (tx, audit) => {
      const user = this.#options.users.create(tx, { ...values, role }, admin);
      audit({ action: "user.created", target: user.id, after: user });
      return user;
    });
  }

  /** @throws AppError `not_found`, `bad_request` for an unknown role, or for the last admin. */
  async setRole(id: string, body: Record<string, unknown>, admin: SignedIn): Promise<User> {
    refuseOthers(body, ["role"]);
    const role = readChoice("role", body["role"], ROLES);
    return this.#options.changes.transact(admin, (tx, audit) => {
      const old = this.#options.users.get(id, tx);
      if (old.role === role) return old;
      const user = this.#options.users.setRole(tx, id, role);
      audit({ action: "user.updated", target: id, before: old, after: user });
      return user;
    });
  }

  /**
   * Gives a user a new password. All sessions end but the admin's own.
   * @throws AppError `not_found`, `validation_error`.
   */
  async setPassword(id: string, body: Record<string, unknown>, admin: SignedIn): Promise<User> {
    refuseOthers(body, ["password"]);
    const passwordHash = await this.#options.users.preparePassword(readPassword(body), { key: admin.userId });
    const keptSession = id === admin.userId ? admin.sessionId : null;
    return this.#options.changes.transact(admin, (tx, audit) => {
      const user = this.#options.users.setPassword(tx, id, { passwordHash, keptSession });
      audit({ action: "user.password", target: id });
      return user;
    });
  }

  /**
   * Records that point to the user do what the `onDelete` of their field says.
   * @throws AppError `not_found`, or `bad_request` for the last admin and for records that refuse the deletion.
   */
  async delete(id: string, admin: SignedIn): Promise<void> {
    const remove = (tx: Transactor): AuditEntry => {
      const before = this.#options.users.delete(tx, id);
      return { action: "user.deleted", target: id, before };
    };
    const isDone = await this.#options.changes.transact(admin, (tx, audit) => {
      if (this.#options.records.deletions.isPointedTo(tx, { collection: "users", id })) return false;
      audit(remove(tx));
      return true;
    });
    if (isDone) return;
    await this.#options.changes.transactLong(admin, async (tx, audit) => {
      this.#options.users.get(id, tx);
      await this.#options.records.deletions.followUser(tx, admin, id);
      audit(remove(tx));
    });
  }

  /** @throws AppError `not_found`. */
  async endSession(id: string, sessionId: string, admin: SignedIn): Promise<void> {
    await this.#options.changes.transact(admin, (tx, audit) => {
      this.#options.users.endSession(tx, id, sessionId);
      audit({ action: "session.deleted", target: sessionId, before: { userId: id } });
    });
  }
}
