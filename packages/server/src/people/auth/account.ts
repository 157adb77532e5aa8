/** Account: the sessions, the password and the deletion of a signed-in user. Every method acts on the user of the caller alone. */
import type { OwnSession, User } from "@socle/protocol";
import { AppError, type SignedIn } from "../../base/kernel/index.ts";
import type { Database, Transactor } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import type { Auth } from "./auth.ts";
import { demandOwner } from "./own-change.ts";
import type { PasswordCaller } from "./passwords.ts";
import type { UserDeletions } from "./user-deletions.ts";

interface AccountOptions {
  database: Database;
  events: EventLog;
  auth: Pick<Auth, "sessions" | "users" | "user" | "checks" | "notices">;
  userDeletions: UserDeletions;
}

/** A request of a signed-in user. */
interface OwnRequest {
  readonly principal: SignedIn;
  readonly caller: PasswordCaller;
}

/** Sessions end in a read-only service, too. */
const whileReadOnly = { whileReadOnly: true };

export class Account {
  readonly #options: AccountOptions;

  constructor(options: AccountOptions) {
    this.#options = options;
  }

  /** The caller's sessions that have not expired, newest first. */
  sessions({ userId, sessionId }: SignedIn): OwnSession[] {
    const entries = this.#options.auth.sessions.list(userId);
    return entries.map((entry) => ({ ...entry, current: entry.id === sessionId }));
  }

  /** Ends a session of the caller, also the current session. @throws AppError `not_found` for any other session. */
  async endSession(caller: SignedIn, id: string): Promise<void> {
    const { database, auth } = this.#options;
    await database.transactFor(
      caller,
      (tx) => {
        auth.users.endSession(tx, caller.userId, id);
        this.#tell(tx, "auth.logout", caller);
      },
      whileReadOnly,
    );
  }

  /** Ends the caller's sessions but the current session, and the sign-ins that wait for the second factor. */
  async endOtherSessions(caller: SignedIn): Promise<void> {
    const { database, auth } = this.#options;
    const { userId, sessionId } = caller;
    await database.transactFor(
      caller,
      (tx) => {
        for (const { id } of auth.sessions.list(userId, tx))
          if (id !== sessionId) this.#tell(tx, "auth.logout", caller);
        auth.sessions.endAll(tx, userId, sessionId);
      },
      whileReadOnly,
    );
  }

  /**
   * Replaces the caller's password, or sets the password of a user without a password. The other sessions end.
   * @throws AppError `forbidden` for a wrong present password, which counts as a failed login, and without a recent sign-in for
   * a user without a password; `validation_error` for a new password that is not allowed.
   */
  async setPassword(
    { principal, caller }: OwnRequest,
    { current, password }: { current: string | null; password: string },
  ): Promise<void> {
    const { database, auth } = this.#options;
    const { userId, sessionId: keptSession } = principal;
    const { checks } = auth;
    const shown = { principal, caller, field: "current", password: current };
    const confirm = await demandOwner({ database, checks }, auth.user(userId), shown);
    const passwordHash = await auth.users.preparePassword(password, caller);
    await database.transactFor(principal, (tx) => {
      confirm(tx);
      const user = auth.users.setPassword(tx, userId, { passwordHash, keptSession });
      auth.notices.tell(tx, user, { change: "The password was changed.", by: caller });
      this.#tell(tx, "auth.password", principal);
    });
  }

  /**
   * Deletes the caller's account.
   * @throws AppError `forbidden` as `setPassword`; `bad_request` for the last admin, and for records that refuse the deletion.
   */
  async delete({ principal, caller }: OwnRequest, password: string | null): Promise<void> {
    const { auth, database, userDeletions } = this.#options;
    const { userId } = principal;
    const { checks } = auth;
    const shown = { principal, caller, field: "password", password };
    const stillAnonymous = (tx: Transactor): void => {
      if (auth.users.anonymous(principal, tx) === null)
        throw new AppError("conflict", "The account was changed meanwhile. Try again.");
    };
    // An anonymous user has nothing but the session.
    const isAnonymous = auth.users.anonymous(principal) !== null;
    const confirm = isAnonymous ? stillAnonymous : await demandOwner({ database, checks }, auth.user(userId), shown);
    await userDeletions.delete(userId, principal, (tx) => {
      confirm(tx);
      return (user: User): void => {
        auth.notices.tell(tx, user, { change: "The account was deleted.", by: caller });
        this.#tell(tx, "auth.deleted", principal);
      };
    });
  }

  #tell(tx: Transactor, type: "auth.logout" | "auth.password" | "auth.deleted", principal: SignedIn): void {
    const payload = { userId: principal.userId, role: principal.role };
    this.#options.events.append(tx, { type, source: "auth", payload, principal });
  }
}
