/** Changes that admins ask for: whether the caller is still an admin is looked at inside the transaction. */

import { AppError, isAdmin, type Principal, quote, type SignedIn } from "../../base/kernel/index.ts";
import type { Database, Migration, MigrationSite, Transactor } from "../../store/database/index.ts";

type Work<T> = (tx: Transactor) => T;

export class AdminChanges {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Like `Database.transact`, for an admin's change.
   * @throws AppError `unauthorized` when the session has ended, `forbidden` when the role is another by now.
   */
  transact<T>(admin: SignedIn, work: Work<T>): Promise<T> {
    return this.#database.transactFor(admin, (tx, caller) => {
      requireAdmin(caller);
      return work(tx);
    });
  }

  /** Like `Database.transactLong`, for an admin's change. @throws AppError as `transact`. */
  transactLong<T>(admin: SignedIn, work: (tx: Transactor) => Promise<T>): Promise<T> {
    return this.#database.transactLongFor(admin, (tx, caller) => {
      requireAdmin(caller);
      return work(tx);
    });
  }

  /** Like `Database.migrate`, for an admin's change. @throws AppError as `transact`. */
  migrate<T>(admin: SignedIn, work: (tx: Migration) => Promise<T>, site: MigrationSite): Promise<T> {
    const guarded = (tx: Migration, caller: Principal): Promise<T> => {
      requireAdmin(caller);
      return work(tx);
    };
    return this.#database.migrateFor(admin, guarded, site);
  }
}

function requireAdmin(caller: Principal): void {
  if (!isAdmin(caller)) throw new AppError("forbidden", "This is for admins only.");
}

/** Refuses members of a body that a change does not take. @throws AppError `bad_request`. */
export function refuseOthers(body: Record<string, unknown>, allowed: readonly string[]): void {
  for (const key of Object.keys(body))
    if (!allowed.includes(key))
      throw new AppError("bad_request", `${quote(key)} cannot be set here; allowed: ${allowed.join(", ")}.`);
}
