/**
 * The set-up of a service without an admin: the holder of the token in the start log makes the first admin. The token
 * works once, for half an hour, and never beside an admin; a restart makes another token. A page of the service, which anybody
 * may find, asks for the password: so a common password is refused in any case.
 */
import type { SetupInvitation, SetupStatus, TokenResponse } from "@socle/protocol";
import { AppError, type Clock, isSameSecret, randomToken, toTimestamp } from "../../base/kernel/index.ts";
import { type Auth, type PasswordCaller, readCredentials } from "../../people/auth/index.ts";
import type { AdminChanges } from "./admin-changes.ts";

/** How long the link of the start log works. */
const lifetimeMs = 30 * 60_000;

export class FirstAdmin {
  readonly #options: { auth: Auth; changes: AdminChanges; clock: Clock };
  #token: string | null = null;
  #expiresAt = 0;

  constructor(options: { auth: Auth; changes: AdminChanges; clock: Clock }) {
    this.#options = options;
  }

  /** A new token; null beside an admin. */
  invite(): string | null {
    if (this.#options.auth.users.adminExists()) return null;
    this.#token = randomToken(32);
    this.#expiresAt = this.#options.clock.now() + lifetimeMs;
    return this.#token;
  }

  /** Whether the service waits for the first admin, and the link of the start still works. */
  status(): SetupStatus["status"] {
    const isOver = this.#token === null || this.#options.clock.now() >= this.#expiresAt;
    return isOver || this.#options.auth.users.adminExists() ? "over" : "open";
  }

  /** When the token expires, and how long the password must be. @throws AppError as `create` does. */
  check(token: unknown): SetupInvitation {
    if (this.#options.auth.users.adminExists()) throw over();
    this.#confirm(token);
    return { expiresAt: toTimestamp(this.#expiresAt), passwordMinLength: this.#options.auth.users.passwordMinLength };
  }

  /**
   * Makes the first admin, and signs in. An existing user with this email becomes the admin, with the new password.
   * @throws AppError `not_found` when the link is over, `unauthorized` for another token, `validation_error`.
   */
  async create(body: Record<string, unknown>, token: unknown, caller: PasswordCaller): Promise<TokenResponse> {
    this.check(token);
    const values = await this.#options.auth.users.prepare(readCredentials(body), caller, "refuse");
    const made = await this.#options.auth.signInFirstAdmin(values, caller, (tx, { admin, user, before }) => {
      // The password had to wait to be hashed, and the token may have ended since.
      this.#confirm(token);
      const action = before === null ? "user.created" : "user.updated";
      this.#options.changes.record(tx, admin, { action, target: user.id, before, after: user });
    });
    this.#token = null;
    return made;
  }

  /** Makes sure that the token is the current token. @throws AppError as `create` does. */
  #confirm(token: unknown): void {
    if (this.#token === null || this.#options.clock.now() >= this.#expiresAt) throw over();
    if (typeof token !== "string" || !isSameSecret(token, this.#token))
      throw new AppError(
        "unauthorized",
        "This is not the token of the set-up link, which is in the log of the last start.",
      );
  }
}

function over(): AppError {
  return new AppError(
    "not_found",
    "This link no longer works: an admin exists already, or the link is too old. Without an admin, a restart prints a new link.",
  );
}
