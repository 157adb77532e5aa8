/**
 * Audit of admins: writes each change of an admin as an event, in the transaction of the change, and logs the change.
 * Only admins see these events: no realtime channel carries the events.
 */

import type { SignedIn } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";

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
  /** The target before; null for a new target. Never a secret. */
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

  record(tx: Transactor, admin: Pick<SignedIn, "userId" | "role" | "sessionId">, entry: AuditEntry): void {
    const { action, target, before, after } = entry;
    const payload = { userId: admin.userId, target, before, after };
    tx.onDurable(() => this.#logger.info(`An admin: ${action}`, { target, userId: admin.userId }));
    this.#events.append(tx, { type: `admin.${action}`, source: "admin", payload, principal: admin });
  }
}
