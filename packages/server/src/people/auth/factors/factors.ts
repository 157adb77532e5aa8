/** Second factors: the authenticator app and the recovery codes of a user, and the sign-in that ends with a factor. */
import type { RecoveryCodes, TokenResponse, TotpSetup, User, UserFactors } from "@socle/protocol";
import type { Config } from "../../../base/config/index.ts";
import { AppError, oneOf, quote, type SignedIn } from "../../../base/kernel/index.ts";
import type { Logger } from "../../../base/logging/index.ts";
import type { Database, Reader, Transactor } from "../../../store/database/index.ts";
import { useAttempt, userOfAttempt } from "../attempt-table.ts";
import type { LoginGuard } from "../login-guard.ts";
import type { Notices } from "../notices.ts";
import { changeOwn } from "../own-change.ts";
import type { PasswordCaller } from "../passwords.ts";
import { invalidProof } from "../proof-table.ts";
import { invalid, readCode, readText } from "../read-body.ts";
import type { SignIns } from "../sign-ins.ts";
import type { Users } from "../users.ts";
import {
  confirmPending,
  countRecoveryCodes,
  findTotp,
  hasRecoveryCode,
  hasTotp,
  keepPending,
  keepRecoveryCodes,
  removeFactors,
  removeTotp,
  useRecoveryCode,
  useStep,
} from "./factor-table.ts";
import { listPasskeys, removePasskey } from "./passkey-table.ts";
import type { Passkeys } from "./passkeys.ts";
import { seal, unseal } from "./sealed-text.ts";
import { newTotpSecret, stepOfCode, toBase32, totpUri } from "./totp.ts";

const factors = ["code", "recoveryCode", "passkey"] as const;

/** The attempt of a sign-in with a second factor, as a body has both. */
interface FactorProof {
  readonly attempt: string;
  readonly factor: (typeof factors)[number];
  /** "" for a passkey, which is an object of the body. */
  readonly value: string;
}

interface FactorsOptions {
  database: Database;
  logger: Logger;
  signIns: SignIns;
  passkeys: Passkeys;
  /** Counts wrong second factors. */
  guard: LoginGuard;
  users: Users;
  notices: Notices;
  config: Config;
  /** A secret of the service for a purpose, available once auth has started. */
  secretFor: (purpose: string) => string;
}

export class Factors {
  readonly #options: FactorsOptions;

  constructor(options: FactorsOptions) {
    this.#options = options;
  }

  /** The factors of a user, without any secret. */
  of(userId: string, reader: Reader = this.#options.database.reader): UserFactors {
    const passkeys = listPasskeys(reader, userId);
    return { totp: hasTotp(reader, userId), recoveryCodes: countRecoveryCodes(reader, userId), passkeys };
  }

  /** Removes all factors of a user, and answers the removed factors. */
  removeAll(tx: Transactor, userId: string): UserFactors {
    const before = this.of(userId, tx);
    removeFactors(tx, userId);
    return before;
  }

  /**
   * Removes a factor of a user: `totp`, with the recovery codes, or the passkey with this id. Answers the factors before.
   * @throws AppError `not_found`.
   */
  removeOne(tx: Transactor, userId: string, factor: string): UserFactors {
    const before = this.of(userId, tx);
    const isGone = factor === "totp" ? removeTotp(tx, userId) : removePasskey(tx, userId, factor);
    if (!isGone) throw new AppError("not_found", `The user has no factor ${quote(factor)}.`);
    return before;
  }

  /**
   * Makes a secret for an authenticator app. A code of the app confirms the secret; until then, nothing changes for the user.
   * @param by the sender of the request, here and below.
   * @throws AppError `forbidden` without a recent sign-in, here and below.
   */
  async beginTotp(caller: SignedIn, by: PasswordCaller): Promise<TotpSetup> {
    const { users, config } = this.#options;
    const { userId } = caller;
    const secret = newTotpSecret();
    const sealed = await seal(secret, userId, this.#sealKey);
    // The name under which the app shows the account.
    const issuer = config.publicUrl === undefined ? "Socle" : new URL(config.publicUrl).hostname;
    return changeOwn(this.#options, { caller, by, change: null }, (tx) => {
      keepPending(tx, userId, sealed);
      return { secret: toBase32(secret), uri: totpUri(secret, issuer, users.emailOf(userId, tx)) };
    });
  }

  /**
   * Turns the second factor on, with a code of the app, and answers new recovery codes. The code counts as used.
   * @throws AppError `validation_error` for a wrong code, `conflict` without a new secret.
   */
  async confirmTotp(caller: SignedIn, body: Record<string, unknown>, by: PasswordCaller): Promise<RecoveryCodes> {
    const { userId } = caller;
    const code = readCode(body);
    const pending = findTotp(this.#options.database.reader, userId)?.pending ?? null;
    if (pending === null) throw noSecret();
    const step = stepOfCode(await this.#unseal(pending, userId), code, 0);
    if (step === null)
      throw invalid("code", "The code is wrong. If the app is right, compare the clocks of device and service.");
    const change = "An authenticator app was set up as the second factor.";
    return changeOwn(this.#options, { caller, by, change }, (tx) => {
      if (!confirmPending(tx, userId, { pending, step })) throw noSecret();
      return renewCodes(tx, userId);
    });
  }

  /** Turns the second factor off. @throws AppError `not_found` without an app. */
  async removeTotp(caller: SignedIn, by: PasswordCaller): Promise<void> {
    await changeOwn(this.#options, { caller, by, change: "The second factor was turned off." }, (tx) => {
      if (!removeTotp(tx, caller.userId)) throw new AppError("not_found", "The account has no authenticator app.");
    });
  }

  /** Replaces the recovery codes. @throws AppError `conflict` without a second factor. */
  async renewRecoveryCodes(caller: SignedIn, by: PasswordCaller): Promise<RecoveryCodes> {
    return changeOwn(this.#options, { caller, by, change: "New recovery codes were made." }, (tx) => {
      if (!hasTotp(tx, caller.userId))
        throw new AppError("conflict", "Recovery codes belong to an authenticator app, and the account has no app.");
      return renewCodes(tx, caller.userId);
    });
  }

  /**
   * Ends a sign-in with the second factor.
   * @throws AppError `bad_request` for an attempt that is unknown, used or expired; `unauthorized` for a wrong factor;
   * `rate_limited` after too many wrong factors; the refusal of a hook.
   */
  async secondFactor(body: Record<string, unknown>, caller: PasswordCaller): Promise<TokenResponse> {
    const { database, users, signIns } = this.#options;
    const { attempt, ...proof } = readProof(body);
    const user = users.find(userOfAttempt(database.reader, attempt));
    if (user === null) throw invalidProof();
    const checks: { readonly [factor in FactorProof["factor"]]: () => Promise<Spend> } = {
      code: () => this.#checkCode(user, proof.value, caller),
      recoveryCode: () => this.#checkRecoveryCode(user, proof.value, caller),
      passkey: () => this.#checkPasskey(user, { attempt, body }, caller),
    };
    const spend = await checks[proof.factor]();
    const prove = (tx: Transactor): User => {
      const current = users.find(useAttempt(tx, attempt), tx);
      if (current === null) throw invalidProof();
      spend(tx);
      return current;
    };
    return signIns.signInWhole({ user, caller, prove });
  }

  /** Six digits can be guessed, so wrong codes count for the account, from all addresses. */
  async #checkCode({ id, email }: User, code: string, caller: PasswordCaller): Promise<Spend> {
    let found: { secret: string; step: number } | null = null;
    const check = async (): Promise<boolean> => {
      const totp = findTotp(this.#options.database.reader, id);
      if (totp === null || totp.secret === null) return false;
      const step = stepOfCode(await this.#unseal(totp.secret, id), code, totp.lastStep);
      if (step !== null) found = { secret: totp.secret, step };
      return found !== null;
    };
    await this.#options.guard.guard({ email, caller, account: id }, check);
    const right: { secret: string; step: number } | null = found;
    if (right === null) throw wrongFactor();
    return (tx) => {
      if (!useStep(tx, id, right)) throw wrongFactor();
    };
  }

  /** Nobody guesses a recovery code, so wrong codes of others do not keep the owner of the account from the last way in. */
  async #checkRecoveryCode({ id, email }: User, code: string, caller: PasswordCaller): Promise<Spend> {
    const hash = hashOfRecoveryCode(code);
    const check = async (): Promise<boolean> => hasRecoveryCode(this.#options.database.reader, id, hash);
    if (!(await this.#options.guard.guard({ email, caller }, check))) throw wrongFactor();
    return (tx) => {
      if (!useRecoveryCode(tx, id, hash)) throw wrongFactor();
      const change = `A recovery code was used for a sign-in; ${countRecoveryCodes(tx, id)} recovery codes are left.`;
      this.#options.notices.tell(tx, { id, email }, { change, by: caller });
    };
  }

  async #checkPasskey(user: User, { attempt, body }: PasskeyProof, caller: PasswordCaller): Promise<Spend> {
    const purpose = { step: "second factor", subject: attempt } as const;
    const { userId, spend } = await this.#options.passkeys.verify(body, purpose, caller);
    if (userId !== user.id) throw wrongFactor();
    return spend;
  }

  /** The key that seals the secrets of apps. */
  get #sealKey(): string {
    return this.#options.secretFor("authenticator apps");
  }

  /** @throws AppError `unavailable` when the key of the service is another than the key of the secret. */
  async #unseal(sealed: string, userId: string): Promise<Uint8Array> {
    const secret = await unseal(sealed, userId, this.#sealKey);
    if (secret !== null) return secret;
    const reason = "auth.jwtSecret has changed since; users need recovery codes, or an admin removes the factor";
    this.#options.logger.often("The secret of an authenticator app cannot be read", { userId, reason });
    throw new AppError("unavailable", "Codes of your app cannot be checked now: use a recovery code, or ask an admin.");
  }
}

/** Uses a factor up, in the transaction of the sign-in. @throws AppError `unauthorized` for a factor that was used meanwhile. */
type Spend = (tx: Transactor) => void;

interface PasskeyProof {
  readonly attempt: string;
  readonly body: Record<string, unknown>;
}

/** Gives a user ten new recovery codes of 120 random bits, for a user who has lost the authenticator app. */
function renewCodes(tx: Transactor, userId: string): RecoveryCodes {
  const recoveryCodes = Array.from({ length: 10 }, newRecoveryCode);
  keepRecoveryCodes(tx, userId, recoveryCodes.map(hashOfRecoveryCode));
  return { recoveryCodes };
}

function wrongFactor(): AppError {
  return new AppError("unauthorized", "The second factor is wrong, or was used before.");
}

function noSecret(): AppError {
  return new AppError("conflict", "No new secret waits for a confirmation: POST /api/auth/totp makes a secret.");
}

/** Letters of five bits (Crockford's base 32): no letter looks like another. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

function newRecoveryCode(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  const code = [...bytes].map((byte) => alphabet.charAt(byte % alphabet.length)).join("");
  return (code.match(/.{6}/g) ?? []).join("-");
}

/**
 * The stored hash of a code as a person types the code. Codes have more than 112 bits, so a fast hash is enough (ASVS 6.5.2).
 */
function hashOfRecoveryCode(typed: string): string {
  const code = typed.toLowerCase().replace(/[\s-]/g, "").replaceAll("o", "0").replace(/[il]/g, "1");
  return Bun.SHA256.hash(`recovery code\0${code}`, "hex");
}

/** @throws AppError `validation_error`, also for a body with several factors. */
function readProof(body: Record<string, unknown>): FactorProof {
  const attempt = readText(body, "attempt");
  const [factor, ...others] = factors.filter((name) => body[name] !== undefined);
  if (factor === undefined || others.length > 0)
    throw invalid(
      "",
      `the body must have one factor: ${oneOf(factors)}`,
      factor === undefined ? "required" : "unknown",
    );
  if (factor === "passkey") return { attempt, factor, value: "" };
  return { attempt, factor, value: factor === "code" ? readCode(body) : readText(body, factor) };
}
