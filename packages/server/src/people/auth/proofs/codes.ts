/**
 * Sign-ins with a code: six digits that were mailed, for an attempt that only the requester knows. An attempt carries a keyed hash
 * of the email, so that wrong codes count for the email, whether the service keeps a row of the attempt or not.
 */
import type { LoginResponse, User } from "@socle/protocol";
import type { Config } from "../../../base/config/index.ts";
import { AppError, isSameSecret } from "../../../base/kernel/index.ts";
import type { Database, Transactor } from "../../../store/database/index.ts";
import type { Mails } from "../../mail/index.ts";
import { nothingShown } from "../credentials.ts";
import type { LoginGuard } from "../login-guard.ts";
import { mailFor, type Prover } from "../passwords.ts";
import { addProof, consume, endPurposeOf, findProof, invalidProof, newToken } from "../proof-table.ts";
import type { SignIns } from "../sign-ins.ts";
import { emailTaken, findByEmail, setPasswordHash } from "../user-table.ts";
import type { Users } from "../users.ts";
import type { MailRequests } from "./mail-requests.ts";

interface CodesOptions {
  database: Database;
  mails: Mails;
  requests: MailRequests;
  users: Users;
  signIns: SignIns;
  /** Counts wrong codes: for an account from all addresses, and for an address. */
  guard: LoginGuard;
  config: Config;
  /** A secret of the service for a purpose, available once auth has started. */
  secretFor: (purpose: string) => string;
}

export class Codes {
  readonly #options: CodesOptions;

  constructor(options: CodesOptions) {
    this.#options = options;
  }

  /**
   * Mails a code, and answers the attempt that the code is for, also for an unknown address. For an anonymous user, the code of an
   * unknown address gives the user the address.
   * @throws AppError `forbidden` when codes are off.
   */
  request(email: string, { principal, caller }: Prover): string {
    const { requests, mails, users, config } = this.#options;
    this.#checkOn();
    const attempt = this.#newAttempt(email);
    requests.later({ recipient: email, caller, needs: "code", principal, isSignIn: true }, (tx) => {
      const code = newCode();
      const claimant = config["auth.registration"] ? users.anonymous(principal, tx) : null;
      const user = findByEmail(tx, email)?.user ?? claimant;
      const session = user === claimant && principal !== null ? ` ${principal.sessionId}` : "";
      const details = hashOf(attempt, code) + session;
      addProof(tx, attempt, { purpose: "code", userId: user?.id ?? null, email, details });
      if (user !== null) mails.add(tx, { kind: "code", to: email, values: { code }, ...mailFor(caller), urgent: true });
    });
    return attempt;
  }

  /**
   * Signs in with a code. The address is proven then, and an anonymous user has the address. The session in which the user has
   * asked for the code stays.
   * @throws AppError `conflict` for a code of another user than the anonymous user who sends the request; `bad_request` for
   * a code that does not work; `rate_limited` after too many wrong codes; `forbidden` when codes are off; the refusal of a hook.
   */
  async signIn(
    { attempt, code }: { attempt: string; code: string },
    { principal, caller }: Prover,
  ): Promise<LoginResponse> {
    const { database, users, signIns, guard } = this.#options;
    this.#checkOn();
    const proof = findProof(database.reader, "code", attempt);
    const [hash = "", sessionId = null] = proof?.details?.split(" ") ?? [];
    const check = async (): Promise<boolean> => isSameSecret(hash, hashOf(attempt, code));
    const email = proof?.email ?? null;
    const isRight = await guard.guard({ email, caller, account: this.#accountOf(attempt) }, check);
    const user = proof === null || proof.userId === null ? null : users.find(proof.userId);
    if (!isRight || email === null || user === null) throw invalidProof();
    if (user.id !== principal?.userId && users.anonymous(principal) !== null) throw emailTaken();
    const prove = (tx: Transactor): User => {
      const { userId } = consume(tx, "code", attempt);
      const current = userId === null ? null : users.find(userId, tx);
      if (current === null || (current.email ?? email) !== email) throw invalidProof();
      if (current.verified !== user.verified)
        throw new AppError("conflict", "The user was changed during the login. Try again.");
      endPurposeOf(tx, current.id, "code");
      // The password of a claim of another address, which nobody has proven.
      if (current.email === null) setPasswordHash(tx, current.id, "");
      return users.prove(tx, current, { shown: { ...nothingShown, sessionId }, email, by: caller });
    };
    // The first proof removes the second factor, which somebody else may have made.
    const isClaim = user.email === null;
    const given = { user: { ...user, email, anonymous: false, verified: true }, caller, prove, isClaim };
    return user.verified ? signIns.signIn(given) : signIns.signInWhole(given);
  }

  /** `{256 random bits}.{hash of the email}.{signature}`. */
  #newAttempt(email: string): string {
    const unsigned = `${newToken()}.${this.#digest(`email ${email}`)}`;
    return `${unsigned}.${this.#digest(`attempt ${unsigned}`)}`;
  }

  /** The key of the bound of wrong codes: the hash of the email. An attempt that this service has not made is of no account. */
  #accountOf(attempt: string): string | null {
    const end = attempt.lastIndexOf(".");
    const isOwn = isSameSecret(attempt.slice(end + 1), this.#digest(`attempt ${attempt.slice(0, Math.max(0, end))}`));
    return isOwn ? (attempt.split(".")[1] ?? null) : null;
  }

  #digest(text: string): string {
    const key = this.#options.secretFor("attempts of codes");
    return new Bun.CryptoHasher("sha256", key).update(text).digest("base64url");
  }

  #checkOn(): void {
    if (!this.#options.config["auth.codes"]) throw new AppError("forbidden", "Signing in with a code is switched off.");
  }
}

function newCode(): string {
  const [random = 0n] = crypto.getRandomValues(new BigUint64Array(1));
  return String(random % 1_000_000n).padStart(6, "0");
}

function hashOf(attempt: string, code: string): string {
  return Bun.SHA256.hash(`code\0${attempt}\0${code}`, "hex");
}
