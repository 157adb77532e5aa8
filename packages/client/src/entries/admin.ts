/** `@socle/client/admin`: the admin API, for users with the role admin. */
import { AdminClient } from "../admin.ts";
import { type Requesting, requestsOf } from "../requests.ts";
import type { CallOptions } from "../transport.ts";

export type {
  CollectionAdmin,
  CollectionChange,
  EventQuery,
  FileQuery,
  LogQuery,
  UserAdmin,
  UserQuery,
} from "../admin.ts";
export { AdminClient } from "../admin.ts";
export type { FailureAdmin, FailureQuery } from "../admin-failures.ts";
export type { MailAdmin, MailQuery } from "../admin-mails.ts";
export type { QueueQuery, RunQuery, ScriptAdmin } from "../admin-scripts.ts";
export type { UndoAdmin, UndoSelection } from "../admin-undo.ts";
export type { PageQuery } from "../page-query.ts";

/** The admin API: `admin(socle).collections.list()`. With a signal, the signal aborts every call. */
export function admin(client: Requesting, options?: CallOptions): AdminClient {
  return new AdminClient(requestsOf(client, options));
}
