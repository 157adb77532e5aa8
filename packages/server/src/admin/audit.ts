/**
 * Audit of admins: writes who changed what as an event, in the transaction of the change, and logs it. Only admins see
 * it: no realtime channel carries it.
 */
import type { Transactor } from "../database/index.ts";
import type { EventLog } from "../events/index.ts";
import type { Awaitable, SignedIn } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";

/** Something that an admin did. */
export interface AuditEntry {
  /** The event's type after `admin.`: the kind of the target, and the change. */
  readonly action:
    | "collection.created"
    | "collection.updated"
    | "collection.deleted"
    | "user.created"
    | "user.updated"
    | "user.deleted"
    | "user.password"
    | "session.deleted"
    | "file.updated"
    | "job.run"
    | "job.enqueued"
    | "job.retried"
    | "job.deleted"
    | "function.retried";
  /** Its name or id. */
  readonly target: string;
  /** The target before; null if it did not exist. Never a secret. */
  readonly before: object | null;
  readonly after: object | null;
}

export class Audit {
  readonly #events: EventLog;
  readonly #logger: Logger;

  constructor(options: { events: EventLog; logger: Logger }) {
    this.#events = options.events;
    this.#logger = options.logger;
  }

  record(
    tx: Transactor,
    admin: Pick<SignedIn, "userId" | "role" | "sessionId">,
    entry: AuditEntry,
  ): Awaitable<unknown> {
    const { action, target, before, after } = entry;
    const payload = { userId: admin.userId, target, before, after };
    tx.onDurable(() => this.#logger.info(`An admin: ${action}`, { target, userId: admin.userId }));
    return this.#events.append(tx, { type: `admin.${action}`, source: "admin", payload, principal: admin });
  }
}
