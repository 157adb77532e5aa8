/** Admin API of API keys: service keys, which belong to no user, and the end of a user's keys. */
import type { ApiKey, CreatedApiKey, NewApiKey } from "@socle/protocol";
import type { SignedIn } from "../../base/kernel/index.ts";
import { checkRecent, type Keys } from "../../people/auth/index.ts";
import { type AdminChanges, deletion } from "./admin-changes.ts";

export class KeyAdmin {
  readonly #changes: AdminChanges;
  readonly #keys: Keys;

  constructor(options: { changes: AdminChanges; keys: Keys }) {
    this.#changes = options.changes;
    this.#keys = options.keys;
  }

  /** Newest first. @param userId null for service keys. */
  list(userId: string | null): ApiKey[] {
    return this.#keys.list(userId);
  }

  /**
   * Makes a service key.
   * @throws AppError `forbidden` for the scope `admin` and as `checkRecent`, `conflict` for too many keys.
   */
  create(body: NewApiKey, admin: SignedIn): Promise<CreatedApiKey> {
    return this.#changes.transact(admin, (tx, audit) => {
      checkRecent(tx, admin);
      const created = this.#keys.create(tx, null, body);
      const { key, ...after } = created;
      audit({ action: "key.created", target: created.id, after });
      return created;
    });
  }

  /**
   * Deletes a key, with a notice to the owner. A key that has leaked must end at once: the sign-in may be older.
   * @param userId the owner; null for a service key.
   * @throws AppError `not_found`.
   */
  async delete(userId: string | null, id: string, admin: SignedIn): Promise<void> {
    await this.#changes.transact(
      admin,
      (tx, audit) => {
        const before = this.#keys.delete(tx, userId, id);
        if (userId !== null) this.#keys.tell(tx, userId, { change: "deleted", by: "an administrator" });
        audit({ action: "key.deleted", target: id, before: { ...before, userId } });
      },
      deletion,
    );
  }
}
