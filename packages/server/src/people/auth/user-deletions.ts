/** Deletions of users: the one way in which a user goes, with the `onDelete` of the relations that point to the user. */
import type { User } from "@socle/protocol";
import type { Principal } from "../../base/kernel/index.ts";
import type { Records } from "../../data/records/index.ts";
import type { Database, Transactor } from "../../store/database/index.ts";
import type { Users } from "./users.ts";

/**
 * Looks at the right of the caller, in the transaction and before any change.
 * @returns is called with the deleted user, at the end of the transaction.
 * @throws AppError for a caller without the right.
 */
type DeletionCheck = (tx: Transactor, caller: Principal) => (deleted: User) => void;

interface UserDeletionsOptions {
  database: Database;
  users: Users;
  relations: Records["deletions"];
}

export class UserDeletions {
  readonly #options: UserDeletionsOptions;

  constructor(options: UserDeletionsOptions) {
    this.#options = options;
  }

  /**
   * Deletes a user with the credentials and the record of the user. Records and files of the user stay; records that point
   * to the user do what the `onDelete` of the field says.
   * @throws AppError `not_found`; `bad_request` for the last admin, and for records that refuse the deletion.
   */
  async delete(id: string, principal: Principal, admit: DeletionCheck): Promise<void> {
    const { database, users, relations } = this.#options;
    const isDone = await database.transactFor(principal, (tx, caller) => {
      const done = admit(tx, caller);
      if (relations.isPointedTo(tx, { collection: "users", id })) return false;
      done(users.delete(tx, id, principal));
      return true;
    });
    if (isDone) return;
    await database.transactLongFor(principal, async (tx, caller) => {
      const done = admit(tx, caller);
      users.get(id, tx);
      await relations.followUser(tx, principal, id);
      done(users.delete(tx, id, principal));
    });
  }
}
