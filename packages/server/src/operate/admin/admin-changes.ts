/**
 * Changes that admins ask for: whether the caller is still an admin is looked at inside the transaction, and the
 * transaction writes an event of the change, the audit. Only admins see these events: no realtime channel carries the
 * events.
 */
import {
  AppError,
  isAdmin,
  type Principal,
  quote,
  type SignedIn,
  type System,
  system,
} from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database, Migration, MigrationSite, TransactOptions, Transactor } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";

export interface AuditEntry {
  /** The event's type after `admin.`: the kind of the target, and the change. */
  readonly action:
    | "collection.created"
    | "collection.updated"
    | "collection.deleted"
    | "dropped.restored"
    | "user.created"
    | "user.invited"
    | "user.updated"
    | "user.deleted"
    | "user.password"
    | "user.reset"
    | "user.verification"
    | "user.factors"
    | "user.unlinked"
    | "user.viewed"
    | "session.deleted"
    | "key.created"
    | "key.deleted"
    | "file.updated"
    | "history.erased"
    | "trash.emptied"
    | "savedView.saved"
    | "savedView.deleted"
    | "mail.read"
    | "mail.retried"
    | "mail.tested"
    | "job.run"
    | "job.enqueued"
    | "job.retried"
    | "job.deleted"
    | "function.retried"
    | "failure.retried"
    | "failure.muted"
    | "failure.resolved"
    | "failure.reopened"
    | "undo.started"
    | "sql.run"
    | "log.level"
    | "setting.changed"
    | "code.reloaded"
    | "readOnly.on"
    | "readOnly.off";
  /** The name or id. */
  readonly target: string;
  /** The target before; left out for a new target. Never a secret. */
  readonly before?: object | null;
  readonly after?: object | null;
}

/** Writes an entry of the audit in the transaction of the change. */
export type Audit = (entry: AuditEntry) => void;

/** The options of a deletion, which a read-only service takes from admins. */
export const deletion = { whileReadOnly: true };

export class AdminChanges {
  readonly #options: { database: Database; events: EventLog; logger: Logger };

  constructor(options: { database: Database; events: EventLog; logger: Logger }) {
    this.#options = options;
  }

  /**
   * Like `Database.transact`, for an admin's change. @param admin null for the command line.
   * @throws AppError `unauthorized` when the session has ended, `forbidden` when the role has changed.
   */
  transact<T>(
    admin: SignedIn | null,
    work: (tx: Transactor, audit: Audit) => T,
    options: Pick<TransactOptions, "makesRoom" | "whileReadOnly"> = {},
  ): Promise<T> {
    const { database } = this.#options;
    if (admin === null) return database.transact((tx) => work(tx, (entry) => this.record(tx, system, entry)), options);
    return database.transactFor(admin, (tx, caller) => work(tx, this.admit(tx, admin, caller)), options);
  }

  /** Like `Database.migrate`, for an admin's change. @throws AppError as `transact`. */
  migrate<T>(admin: SignedIn, site: MigrationSite, work: (tx: Migration, audit: Audit) => Promise<T>): Promise<T> {
    const guarded = (tx: Migration, caller: Principal): Promise<T> => work(tx, this.admit(tx, admin, caller));
    return this.#options.database.migrateFor(admin, guarded, site);
  }

  /** Writes an entry of the audit, and logs the entry once the entry is on disk. */
  record(tx: Transactor, admin: SignedIn | System, { action, target, before = null, after = null }: AuditEntry): void {
    const { logger, events } = this.#options;
    const { userId } = admin;
    const payload = { userId, target, before, after };
    const by = { target, userId, ...("scopes" in admin && admin.scopes !== undefined && { keyId: admin.sessionId }) };
    tx.onDurable(() => logger.info(`An admin: ${action}`, by));
    events.append(tx, { type: `admin.${action}`, source: "admin", payload, principal: admin });
  }

  /** Answers the audit of an admin's change, for a transaction that another part of the service opens. @throws AppError `forbidden` for a caller that is no admin any more. */
  admit(tx: Transactor, admin: SignedIn, caller: Principal): Audit {
    if (!isAdmin(caller)) throw new AppError("forbidden", "This is for admins only.");
    return (entry) => this.record(tx, admin, entry);
  }
}

/** Refuses members of a body that a change does not take. @throws AppError `bad_request`. */
export function refuseOthers(body: Record<string, unknown>, allowed: readonly string[]): void {
  for (const key of Object.keys(body))
    if (!allowed.includes(key))
      throw new AppError("bad_request", `${quote(key)} cannot be set here; allowed: ${allowed.join(", ")}.`);
}
