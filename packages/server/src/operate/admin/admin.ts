/** The admin module's face: everything that only an admin may do, by the noun. */
import type { EventEntry } from "@socle/protocol";
import type { Config, LiveSettings } from "../../base/config/index.ts";
import { AppError, type Clock, quote, type SignedIn } from "../../base/kernel/index.ts";
import type { Logger, LogRing } from "../../base/logging/index.ts";
import type { Previews } from "../../code/previews/index.ts";
import type { CodeFile, FileState, QueryPool } from "../../code/script-host/index.ts";
import { type Collection, countTrash, forgetTrash } from "../../data/collections/index.ts";
import type { Queries } from "../../data/queries/index.ts";
import type { Providers, UserDeletions } from "../../people/auth/index.ts";
import type { Waiter } from "../../store/database/index.ts";
import type { EventFilter, LoggedEvent } from "../../store/events/index.ts";
import type { Failures } from "../../store/failures/index.ts";
import { changesIn, type Histories } from "../history/index.ts";
import { Traces } from "../traces/index.ts";
import type { Undos } from "../undo/index.ts";
import { AdminChanges, deletion } from "./admin-changes.ts";
import { Alerts } from "./alerts.ts";
import { auditPages } from "./audit-export.ts";
import { FailureAdmin } from "./failure-admin.ts";
import { FileAdmin } from "./file-admin.ts";
import { FirstAdmin } from "./first-admin.ts";
import { KeyAdmin } from "./key-admin.ts";
import { LogLevelAdmin } from "./log-level-admin.ts";
import { MailAdmin } from "./mail-admin.ts";
import type { OverviewSources } from "./metrics-text.ts";
import { Overviews } from "./overview.ts";
import { ReadOnlyAdmin } from "./read-only-admin.ts";
import { RuleTrials } from "./rule-trials.ts";
import { SavedViewAdmin } from "./saved-view-admin.ts";
import { SchemaAdmin } from "./schema-admin.ts";
import { ScriptAdmin } from "./script-admin.ts";
import { SettingAdmin } from "./setting-admin.ts";
import { SocketAdmin, type SocketSources } from "./socket-admin.ts";
import { SqlAdmin } from "./sql-admin.ts";
import { Status, type StatusSources } from "./status.ts";
import { UndoAdmin } from "./undo-admin.ts";
import { UserAdmin } from "./user-admin.ts";

type StatusOptions = Pick<StatusSources, "certificate">;

export interface AdminOptions extends OverviewSources, StatusOptions, Pick<SocketSources, "otherSockets"> {
  /** Absent outside of a cluster. */
  cluster?: (NonNullable<OverviewSources["cluster"]> & NonNullable<SocketSources["cluster"]>) | undefined;
  config: Config;
  live: LiveSettings;
  histories: Histories;
  clock: Clock;
  failures: Failures;
  providers: Providers;
  undos: Undos;
  queries: Queries;
  /** The pool of `db.query`. */
  queryPool: QueryPool;
  userDeletions: UserDeletions;
  logger: Logger;
  log: LogRing;
  /** The files of functions and jobs, with the outcome of the last load. */
  scriptFiles: () => readonly FileState[];
  /** The files of the user's code, as on the disk. */
  code: () => readonly CodeFile[];
  previews: Previews;
  /** See `ScriptAdmin`. */
  reload: (() => void) | null;
}

/** Operations for admins only, by noun. The caller makes sure to serve an admin. */
export type Admin = ReturnType<typeof buildAdmin>;

export function buildAdmin(options: AdminOptions) {
  const changes = new AdminChanges(options);
  const { auth, backups, events, histories, log } = options;
  const { users, forms, factors, keys, notices, proofs } = auth;
  const status = new Status(options);
  const schema = new SchemaAdmin({ ...options, changes });
  return {
    schema,
    users: new UserAdmin({ ...options, changes, users, forms, factors, notices, proofs }),
    keys: new KeyAdmin({ changes, keys }),
    trials: new RuleTrials({ ...options, changes, users, schema }),
    mails: new MailAdmin({ ...options, changes }),
    failures: new FailureAdmin({ ...options, changes }),
    traces: new Traces(options),
    undo: new UndoAdmin({ ...options, changes }),
    sql: new SqlAdmin({ ...options, changes }),
    providers: options.providers,
    scripts: new ScriptAdmin({ ...options, changes }),
    sockets: new SocketAdmin(options),
    overviews: new Overviews(options, status),
    status,
    alerts: new Alerts({ ...options, status }),
    logLevel: new LogLevelAdmin({ ...options, changes }),
    readOnly: new ReadOnlyAdmin({ ...options, changes }),
    savedViews: new SavedViewAdmin({ ...options, changes, schema }),
    firstAdmin: new FirstAdmin({ ...options, changes }),
    files: new FileAdmin({ ...options, changes }),
    backups,
    log,
    settings: new SettingAdmin({ ...options, changes }),

    /** The plan of a list as SQLite runs the list for an admin. @throws AppError `not_found`, `bad_request`. */
    async explain(name: string, search: string, { principal, caller, signal }: Waiter & { principal: SignedIn }) {
      const asking = { principal, caller: () => caller, signal: () => signal };
      const { ms, plan, index } = await options.queries.explain(options.records.listed(name), search, asking);
      return { ms: Math.round(ms * 10) / 10, plan: [...plan], index };
    },

    /** The event log, newest first. */
    async events(
      filter: EventFilter,
      page: { limit: number; offset: number; waiter: Waiter },
    ): Promise<{ items: EventEntry[]; total: number }> {
      const { items, total } = await events.search(filter, page);
      return { items: items.map(toEntry), total };
    },

    /** See `auditPages`. @throws AppError `unavailable` when too many wait for a thread. */
    audit(asked: Parameters<typeof auditPages>[1], waiter: Waiter): AsyncGenerator<string, void, void> {
      return auditPages((range) => events.audit(range, waiter), asked);
    },

    /** The collection of a record. @throws AppError `not_found` for an id without a record. */
    place(id: string): { id: string; collection: string } {
      const collection = options.records.collectionOf(id);
      if (collection === null) throw new AppError("not_found", `There is no record ${quote(id)}.`);
      return { id, collection };
    },

    /** Erases the values of a record in the event log. @throws AppError `not_found` for a record without an event. */
    eraseHistory(collection: Collection, id: string, admin: SignedIn): Promise<void> {
      return changes.transact(admin, (tx, audit) => {
        const erased = histories.erase(tx, collection, id);
        forgetTrash(tx, collection.name, id);
        audit({ action: "history.erased", target: id, after: { collection: collection.name, events: erased } });
      });
    },

    /** Removes all records of the trash of a collection for good. Answers the number. @throws AppError `not_found`. */
    async emptyTrash(name: string, admin: SignedIn): Promise<number> {
      const collection = options.records.collection(name);
      await changes.transact(
        admin,
        (tx, audit) => {
          const records = countTrash(tx, collection.name);
          audit({ action: "trash.emptied", target: collection.name, after: { records } });
        },
        { ...deletion, makesRoom: true },
      );
      return options.records.trash.empty(collection);
    },

    /** Calls `listener` with each event once the event is on disk. Answers a function that removes the listener. */
    listen(listener: (event: EventEntry) => void): () => void {
      return events.listen((event) => listener(toEntry(event)));
    },
  };
}

function toEntry(event: LoggedEvent): EventEntry {
  const { id, type, timestamp, source, payload, actor, isPartial, seq, cause } = event;
  const known = { ...(isPartial && { partial: true as const }), ...(cause !== null && { cause }) };
  const changes = changesIn(event);
  return { id, type, timestamp, source, payload, actor, seq, ...known, ...(changes !== null && { changes }) };
}
