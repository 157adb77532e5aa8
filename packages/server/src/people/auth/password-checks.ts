/** Checks of passwords: a password against the hash of a user, with the bounds of failed logins. */
import type { User } from "@socle/protocol";
import { AppError, type SignedIn } from "../../base/kernel/index.ts";
import type { Database, Reader, Transactor } from "../../store/database/index.ts";
import type { LoginGuard } from "./login-guard.ts";
import type { PasswordCaller, Passwords } from "./passwords.ts";
import { checkRecent } from "./recent-login.ts";
import { passwordHashOf } from "./user-table.ts";

interface PasswordChecksOptions {
  database: Database;
  passwords: Passwords;
  guard: LoginGuard;
}

/** A password that was right. The password may be replaced until the transaction of the change. */
export interface RightPassword {
  /** Whether the password is still the password of the user. */
  holds(reader: Reader): boolean;
}

/** A password of a request, with the name of the field; null for a request without a password. */
interface ShownPassword {
  readonly field: string;
  readonly password: string | null;
}

export class PasswordChecks {
  readonly #options: PasswordChecksOptions;

  constructor(options: PasswordChecksOptions) {
    this.#options = options;
  }

  /**
   * Whether a password is right, in the same time for every account.
   * @param account with a null email for a text that is no email address, and a null hash for an unknown user.
   * @throws AppError `rate_limited` after too many failures; `unavailable` when too many passwords wait to be checked.
   */
  isRight(
    account: { email: string | null; passwordHash: string | null },
    password: string,
    caller: PasswordCaller,
  ): Promise<boolean> {
    const { passwords, guard } = this.#options;
    const { email, passwordHash } = account;
    return guard.guard({ email, caller }, () => passwords.verify(password, passwordHash, caller));
  }

  /**
   * Whether a password is the password of a user; false for an unknown user.
   * @throws AppError as `isRight`.
   */
  isUsersPassword(id: string, password: string, caller: PasswordCaller): Promise<boolean> {
    const passwordHash = passwordHashOf(this.#options.database.reader, id);
    return this.isRight({ email: null, passwordHash }, password, caller);
  }

  /**
   * Checks the password of a known user. No 401: the caller's token is right.
   * @throws AppError `forbidden` for a wrong password, and as `isRight`.
   */
  async demand({ id, email }: User, password: string, caller: PasswordCaller): Promise<RightPassword> {
    const passwordHash = passwordHashOf(this.#options.database.reader, id);
    if (!(await this.isRight({ email, passwordHash }, password, caller)))
      throw new AppError("forbidden", "The password is wrong.");
    return { holds: (reader) => passwordHashOf(reader, id) === passwordHash };
  }

  /**
   * Makes sure that a session is in the hands of the user: by the password; for a user without a password, by a recent sign-in.
   * @param caller the session, and the caller of the request.
   * @returns looks at the proof again, in the transaction of the change.
   * @throws AppError `validation_error` without the password, `forbidden` without a recent sign-in, and as `demand`.
   */
  async demandOwner(
    user: User,
    { field, password }: ShownPassword,
    { principal, caller }: { principal: SignedIn; caller: PasswordCaller },
  ): Promise<(tx: Transactor) => void> {
    const { reader } = this.#options.database;
    if (passwordHashOf(reader, user.id) === "") {
      checkRecent(reader, principal);
      return (tx) => {
        if (passwordHashOf(tx, user.id) !== "") throw changed();
        checkRecent(tx, principal);
      };
    }
    if (password === null) throw AppError.validation([{ field, rule: "required", message: `${field} is required` }]);
    const right = await this.demand(user, password, caller);
    return (tx) => {
      if (!right.holds(tx)) throw changed();
    };
  }
}

function changed(): AppError {
  return new AppError("conflict", "The password was changed meanwhile. Try again.");
}
