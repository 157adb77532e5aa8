/** Changes of credentials that signed-in users ask for: after a recent sign-in, and with a notice to the user. */
import type { SignedIn } from "../../base/kernel/index.ts";
import type { Database, Transactor } from "../../store/database/index.ts";
import type { Notices } from "./notices.ts";
import type { PasswordCaller } from "./passwords.ts";
import { checkRecent } from "./recent-login.ts";
import type { Users } from "./users.ts";

interface OwnChange {
  readonly caller: SignedIn;
  /** The sender of the request, for the notice. */
  readonly by: PasswordCaller;
  /** A plain sentence for the notice; null for a change that needs no notice. */
  readonly change: string | null;
}

/** @throws AppError `forbidden` without a recent sign-in, `unauthorized` without a session; the error of `work`. */
export function changeOwn<T>(
  parts: { database: Database; notices: Notices; users: Users },
  { caller, by, change }: OwnChange,
  work: (tx: Transactor) => T,
): Promise<T> {
  return parts.database.transactFor(caller, (tx) => {
    checkRecent(tx, caller);
    const result = work(tx);
    if (change !== null) parts.notices.tell(tx, parts.users.get(caller.userId, tx), { change, by });
    return result;
  });
}
