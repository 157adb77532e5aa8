/**
 * Changes of credentials that signed-in users ask for: only with the password or after a recent sign-in, so that a stolen token
 * does not suffice, and with a notice to the user.
 */
import type { User } from "@socle/protocol";
import { AppError, type SignedIn } from "../../base/kernel/index.ts";
import type { Database, Reader, Transactor } from "../../store/database/index.ts";
import type { Notices } from "./notices.ts";
import type { PasswordCaller, PasswordChecks } from "./passwords.ts";
import { signInOf } from "./sessions.ts";
import { passwordHashOf } from "./user-table.ts";
import { anonymousRefused, type Users } from "./users.ts";

/** How long a sign-in counts as recent. */
const recentMs = 10 * 60_000;

interface OwnChange {
  readonly caller: SignedIn;
  /** The sender of the request, for the notice. */
  readonly by: PasswordCaller;
  /** A plain sentence for the notice; null for a change that needs no notice. */
  readonly change: string | null;
}

/** A request of a signed-in user that shows the present password. */
interface OwnerRequest {
  readonly principal: SignedIn;
  readonly caller: PasswordCaller;
  /** The name of the password in the body. */
  readonly field: string;
  /** Null for a request without a password. */
  readonly password: string | null;
}

/**
 * For a change of credentials whose request proves no password. To be called in the transaction of the change.
 * @throws AppError `forbidden` for an anonymous user, and with the rule `recent_login` for a session whose sign-in is older than ten minutes.
 */
export function checkRecent(reader: Reader, { sessionId }: Pick<SignedIn, "sessionId">): void {
  const signIn = signInOf(reader, sessionId);
  if (signIn !== null && signIn.email === null) throw anonymousRefused();
  // The sign-in lies in the future when the clock was set back: the age of the sign-in is unknown then.
  if (signIn !== null && Math.abs(Date.now() - signIn.createdAt) <= recentMs) return;
  const message = "This needs a sign-in that is at most 10 minutes old: sign in again.";
  throw new AppError("forbidden", message, { details: [{ field: "", rule: "recent_login", message }] });
}

/**
 * Makes sure that a session is in the hands of the user: by the password; for a user without a password, by a recent sign-in.
 * @returns looks at the proof again, in the transaction of the change.
 * @throws AppError `validation_error` without the password, `forbidden` without a recent sign-in, and as `PasswordChecks.demand`.
 */
export async function demandOwner(
  { database, checks }: { database: Database; checks: PasswordChecks },
  user: User,
  { principal, caller, field, password }: OwnerRequest,
): Promise<(tx: Transactor) => void> {
  const { reader } = database;
  // The password of a claim counts from the proof on.
  if (user.email === null) throw anonymousRefused();
  if (passwordHashOf(reader, user.id) === "") {
    checkRecent(reader, principal);
    return (tx) => {
      if (passwordHashOf(tx, user.id) !== "") throw changed();
      checkRecent(tx, principal);
    };
  }
  if (password === null) throw AppError.validation([{ field, rule: "required", message: `${field} is required` }]);
  const right = await checks.demand(user, password, caller);
  return (tx) => {
    if (!right.holds(tx)) throw changed();
  };
}

function changed(): AppError {
  return new AppError("conflict", "The password was changed meanwhile. Try again.");
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
