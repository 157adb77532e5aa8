/** Checks of callers: callers are checked again when a right is used, because a session may have ended since the request came; and the rights of the transactions of a caller. */
import { type Acting, AppError, type Bearer, isAdmin, type Principal } from "../../base/kernel/index.ts";
import type { Reader } from "./store.ts";
import type { TransactOptions } from "./transaction.ts";

/**
 * Checks a caller again inside the transaction of the caller's change. Answers the caller with the present role.
 * @throws AppError `unauthorized` when the session has ended.
 */
type CallerGuard = (reader: Reader, caller: Bearer | Acting) => Principal;

export class CallerChecks {
  readonly #reader: Reader;
  #guard: CallerGuard | null = null;

  /** @param reader sees the last commit. */
  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** Registers `guard`, which checks callers again when the right is used. The module `auth` calls this method. */
  guardBy(guard: CallerGuard): void {
    this.#guard = guard;
  }

  /** The caller with the present role. @throws AppError `unauthorized` when the session has ended, or the user of `db.as` is gone. */
  recheck(principal: Acting, reader?: Reader): Acting;
  recheck(principal: Principal, reader?: Reader): Principal;
  recheck(principal: Principal, reader: Reader = this.#reader): Principal {
    if (principal === null || !("sessionId" in principal || "code" in principal)) return principal;
    if (this.#guard === null) throw new Error("Nobody looks at callers");
    return this.#guard(reader, principal);
  }

  /** To be called when the work of a caller who has waited begins. @throws AppError when the session has ended, or the role has changed. */
  refuseOtherRole(principal: Principal): void {
    if (this.recheck(principal)?.role !== principal?.role)
      throw new AppError("forbidden", "Your role has changed; send the request again.");
  }
}

/** The transactions of a caller that run on a full disk, and while the service is read-only. Code of the project deletes nothing in a read-only service. */
export function rightsOf(
  principal: Principal,
  { makesRoom = false, whileReadOnly = false }: TransactOptions,
): Pick<TransactOptions, "makesRoom" | "whileReadOnly"> {
  const isRoomy = makesRoom && isAdmin(principal);
  const isOwn = principal !== null && "sessionId" in principal;
  return { makesRoom: isRoomy, whileReadOnly: whileReadOnly || (isRoomy && isOwn) };
}
