/**
 * App codes: how a person who has signed in on the pages of this service comes back to an app. The address of the app has a code,
 * which the app exchanges for tokens, once, with the verifier of the first request (PKCE, RFC 7636).
 */
import type { TokenResponse } from "@socle/protocol";
import { AppError } from "../../../base/kernel/index.ts";
import type { Database } from "../../../store/database/index.ts";
import type { PasswordCaller } from "../passwords.ts";
import { invalidProof } from "../proof-table.ts";
import { findUnexpired, type Sessions } from "../sessions.ts";
import type { SignIns } from "../sign-ins.ts";
import type { Users } from "../users.ts";
import type { Redirects } from "./redirects.ts";
import { type AppTarget, type SessionStep, type Steps, ttlMs } from "./steps.ts";

/** 256 bits in base64url: the form of a SHA-256 hash. */
const hashPattern = /^[\w-]{43}$/;

/** The request of an app; null for a parameter that is missing. */
export interface AppRequest {
  /** The address for the outcome. */
  readonly redirect: string | null;
  readonly challenge: string | null;
}

interface AppCodesOptions {
  readonly database: Database;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly signIns: SignIns;
  readonly redirects: Redirects;
  readonly steps: Steps;
}

export class AppCodes {
  readonly #options: AppCodesOptions;

  constructor(options: AppCodesOptions) {
    this.#options = options;
  }

  /** @throws AppError `validation_error`. */
  check({ redirect, challenge }: AppRequest): AppTarget {
    const checked = this.#options.redirects.check(redirect);
    if (challenge !== null && hashPattern.test(challenge)) return { redirect: checked, challenge };
    const message = "challenge must be the SHA-256 hash of the app's verifier in base64url (PKCE, S256)";
    throw AppError.validation([{ field: "challenge", rule: challenge === null ? "required" : "regex", message }]);
  }

  /**
   * Leaves a session that has just begun to an app, and answers the address of the app with the code. A session that no app takes
   * ends with the code.
   * @throws AppError `conflict` for a session that has ended meanwhile.
   */
  async leave(target: AppTarget, { refreshToken }: TokenResponse, caller: PasswordCaller): Promise<string> {
    const { database, sessions, steps } = this.#options;
    const code = await database.upkeep((tx) => {
      const session = sessions.ofRefreshToken(tx, refreshToken);
      if (session === null) throw new AppError("conflict", "The user was changed during the login. Try again.");
      sessions.shorten(tx, session.id, ttlMs.code);
      return steps.add(tx, "code", { content: { ...target, sessionId: session.id }, caller: caller.key });
    });
    return withFragment(target, { code });
  }

  /**
   * Gives an app a session in the place of the session that was left. The end of the left session is the end of the code: an exchange,
   * a new password and a deletion of the user end the session.
   * @throws AppError `bad_request`.
   */
  async exchange({ sessionId }: SessionStep, caller: PasswordCaller): Promise<TokenResponse> {
    const { database, users, sessions, signIns } = this.#options;
    const opened = await database.upkeep((tx) => {
      const left = findUnexpired(tx, sessionId, Date.now());
      if (left === null) throw invalidProof();
      const user = users.get(left.userId, tx);
      sessions.end(tx, left.id);
      return { user, ...sessions.open(tx, user, caller) };
    });
    return signIns.respond(opened);
  }
}

/** The address of an app with the outcome, which no server gets to see. */
export function withFragment({ redirect }: AppTarget, values: Record<string, string>): string {
  return `${redirect}#${new URLSearchParams(values)}`;
}
