/** Recent sign-ins: a change of credentials needs a sign-in of the last minutes, so that a stolen token does not suffice. */
import { AppError, type SignedIn } from "../../base/kernel/index.ts";
import type { Reader } from "../../store/database/index.ts";
import { sessionStart } from "./session-table.ts";

/** How long a sign-in counts as recent. */
const recentMs = 10 * 60_000;

/**
 * For a change of credentials whose request proves no password. To be called in the transaction of the change.
 * @throws AppError `forbidden` with the rule `recent_login` for a session whose sign-in is older than ten minutes.
 */
export function checkRecent(reader: Reader, { sessionId }: Pick<SignedIn, "sessionId">): void {
  const start = sessionStart(reader, sessionId);
  // The start lies in the future when the clock was set back: the age of the sign-in is unknown then.
  if (start !== null && Math.abs(Date.now() - start) <= recentMs) return;
  const message = "This needs a sign-in that is at most 10 minutes old: sign in again.";
  throw new AppError("forbidden", message, { details: [{ field: "", rule: "recent_login", message }] });
}
