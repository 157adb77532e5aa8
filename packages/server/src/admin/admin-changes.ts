/** Changes that admins ask for: whether the caller is still an admin is looked at inside the transaction. */
import type { Database, MigrationSite, Transactor } from "../database/index.ts";
import { AppError, type Awaitable, isAdmin, type Principal, quote, type SignedIn } from "../kernel/index.ts";

type Work<T> = (tx: Transactor) => Awaitable<T>;

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
    return this.#database.transactFor(admin, (tx, caller) => run(tx, caller, work));
  }

  /** Like `Database.migrate`, for an admin's change. @throws AppError as `transact`. */
  migrate<T>(admin: SignedIn, work: Work<T>, site: MigrationSite): Promise<T> {
    return this.#database.migrateFor(admin, (tx, caller) => run(tx, caller, work), site);
  }
}

function run<T>(tx: Transactor, caller: Principal, work: Work<T>): Awaitable<T> {
  if (!isAdmin(caller)) throw new AppError("forbidden", "This is for admins only.");
  return work(tx);
}

/** Refuses members of a body that a change does not take. @throws AppError `bad_request`. */
export function refuseOthers(body: Record<string, unknown>, allowed: readonly string[]): void {
  for (const key of Object.keys(body))
    if (!allowed.includes(key))
      throw new AppError("bad_request", `${quote(key)} cannot be set here; allowed: ${allowed.join(", ")}.`);
}
