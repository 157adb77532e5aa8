/** Deletions of users: the one way in which a user goes, with the `onDelete` of the relations that point to the user. */
import type { User } from "@socle/protocol";
import { AppError, isAdmin, type Principal, system } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Records } from "../../data/records/index.ts";
import type { Database, Transactor } from "../../store/database/index.ts";
import { isUnused, noteUse, unusedUsers } from "./user-table.ts";
import type { Users } from "./users.ts";

/**
 * Looks at the right of the caller, in the transaction and before any change.
 * @returns is called with the deleted user, at the end of the transaction.
 * @throws AppError for a caller without the right.
 */
type DeletionCheck = (tx: Transactor, caller: Principal) => (deleted: User) => void;

/** Users whose removal is looked for at a time. */
const sweepStep = 50;

interface UserDeletionsOptions {
  database: Database;
  logger: Logger;
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
    // A deletion by an admin, not by code of the project, runs in a read-only service, too.
    const options = { whileReadOnly: isAdmin(principal) && principal !== null && "sessionId" in principal };
    const isDone = await database.transactFor(
      principal,
      (tx, caller) => {
        const done = admit(tx, caller);
        if (relations.isPointedTo(tx, { collection: "users", id })) return false;
        done(users.delete(tx, id, principal));
        return true;
      },
      options,
    );
    if (isDone) return;
    await database.transactLongFor(
      principal,
      async (tx, caller) => {
        const done = admit(tx, caller);
        users.get(id, tx);
        await relations.followUser(tx, principal, id);
        done(users.delete(tx, id, principal));
      },
      options,
    );
  }

  /**
   * Deletes the anonymous users without a use since `before` (milliseconds since 1970), each in an own transaction, until `signal`
   * is aborted. A user whose records refuse the deletion stays, and counts as used.
   */
  async removeUnused(before: number, signal: AbortSignal): Promise<void> {
    const { database, logger } = this.#options;
    // The deletions wait for the end of the mode.
    if (database.readOnly.state !== null) return;
    let ids: readonly string[];
    do {
      ids = unusedUsers(database.reader, before, sweepStep);
      for (const id of ids) {
        if (signal.aborted) return;
        const admit = (tx: Transactor): (() => void) => {
          if (!isUnused(tx, id, before)) throw new AppError("conflict", "The user was used meanwhile.");
          return () => undefined;
        };
        await this.delete(id, system, admit).catch(async (thrown: unknown) => {
          if (!(thrown instanceof AppError) || thrown.code === "unavailable") throw thrown;
          logger.often("An anonymous user without a use was not deleted", { userId: id, error: thrown });
          await database.upkeep((tx) => noteUse(tx, id, Date.now()));
        });
        // Waiting writes run between two users.
        await Bun.sleep(1);
      }
    } while (ids.length === sweepStep);
  }
}
