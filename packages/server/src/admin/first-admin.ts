/** Set-up of the first admin with a one-time token that the start log prints. */
import type { SetupInvitation, TokenResponse } from "@socle/protocol";
import { type Auth, type PasswordCaller, readCredentials } from "../auth/index.ts";
import { AppError, type Clock, isSameSecret, randomToken, toTimestamp } from "../kernel/index.ts";
import type { Audit } from "./audit.ts";

/** How long the link of the start log works. */
const lifetimeMs = 30 * 60_000;

/**
 * The set-up of a service without an admin: whoever has the token of the start log makes the first one. It works once,
 * for half an hour, and never while there is an admin; a restart makes another.
 */
export class FirstAdmin {
  readonly #auth: Auth;
  readonly #audit: Audit;
  readonly #clock: Clock;
  #token: string | null = null;
  #expiresAt = 0;

  constructor(options: { auth: Auth; audit: Audit; clock: Clock }) {
    this.#auth = options.auth;
    this.#audit = options.audit;
    this.#clock = options.clock;
  }

  /** A new token; null when there is an admin. */
  async invite(): Promise<string | null> {
    if (await this.#auth.users.adminExists()) return null;
    this.#token = randomToken(32);
    this.#expiresAt = this.#clock.now() + lifetimeMs;
    return this.#token;
  }

  /** When the token expires, and how long the password must be. @throws AppError as `create` does. */
  async check(token: unknown): Promise<SetupInvitation> {
    if (this.#token === null || (await this.#auth.users.adminExists())) throw over();
    this.#confirm(token);
    return { expiresAt: toTimestamp(this.#expiresAt), passwordMinLength: this.#auth.users.passwordMinLength };
  }

  /**
   * Makes the first admin, and signs in. A user who has this email becomes it, with the new password.
   * @throws AppError `not_found` when the link is over, `unauthorized` for another token, `validation_error`.
   */
  async create(body: Record<string, unknown>, token: unknown, caller?: PasswordCaller): Promise<TokenResponse> {
    await this.check(token);
    const values = await this.#auth.users.prepare(readCredentials(body), caller);
    return this.#auth.signInFirstAdmin(values, {
      confirm: (tx) => {
        this.#confirm(token);
        tx.onCommit(() => {
          this.#token = null;
        });
      },
      record: (tx, { admin, user, before }) =>
        this.#audit.record(tx, admin, {
          action: before === null ? "user.created" : "user.updated",
          target: user.id,
          before,
          after: user,
        }),
    });
  }

  /** Whether the token is the one of this moment. @throws AppError as `create` does. */
  #confirm(token: unknown): void {
    if (this.#token === null || this.#clock.now() >= this.#expiresAt) throw over();
    if (typeof token !== "string" || !isSameSecret(token, this.#token))
      throw new AppError("unauthorized", "This is not the token of the set-up link; the log of the last start has it.");
  }
}

function over(): AppError {
  return new AppError(
    "not_found",
    "This link works no more: there is an admin, or it is too old. A restart prints another while there is no admin.",
  );
}
