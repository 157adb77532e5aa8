/**
 * Requests for mails with a link or a code. A request is answered before any work on the account, so that the answer tells
 * nothing about the account, not by the time either. Bounds keep a stranger from using up the mails of an address.
 */
import type { Config } from "../../../base/config/index.ts";
import {
  AppError,
  BucketsOfRate,
  isOwnMachine,
  overloaded,
  type Principal,
  TokenBuckets,
} from "../../../base/kernel/index.ts";
import type { Logger } from "../../../base/logging/index.ts";
import type { Database, Transactor } from "../../../store/database/index.ts";
import type { Mails } from "../../mail/index.ts";
import type { PasswordCaller } from "../passwords.ts";

/** The most requests that are answered and wait for the work. */
const maxWaiting = 1_000;

/** The part of the mails of a recipient that a single address may ask for. */
const shareOfAddress = 4;

/** Pages to which links of mails lead, below the hosted pages. */
export type ProofPage = "verify" | "reset" | "email" | "invitation";

/** A request for a mail. */
interface MailRequest {
  readonly recipient: string;
  readonly caller: PasswordCaller;
  readonly needs: "link" | "code";
  /** The caller whose right is looked at again in the transaction. */
  readonly principal?: Principal;
  /** Whether the mail belongs to a sign-in, which a read-only service takes. */
  readonly isSignIn?: boolean;
}

interface MailRequestsOptions {
  database: Database;
  mails: Mails;
  logger: Logger;
  config: Pick<Config, "limits.rate.recipient">;
}

export class MailRequests {
  readonly #options: MailRequestsOptions;
  /** Mails to a recipient. */
  readonly #recipients: BucketsOfRate;
  /** Mails to a recipient for an address. */
  readonly #pairs: BucketsOfRate;
  /** Work that has not begun. */
  readonly #waiting = new Set<() => Promise<void>>();
  #running: Promise<void> = Promise.resolve();

  constructor(options: MailRequestsOptions) {
    this.#options = options;
    const rate = () => options.config["limits.rate.recipient"];
    this.#recipients = new BucketsOfRate(rate);
    this.#pairs = new BucketsOfRate(
      rate,
      ({ count, perMs }) => new TokenBuckets({ count: Math.max(1, Math.floor(count / shareOfAddress)), perMs }),
    );
  }

  /** The address of a hosted page, with a token. @throws AppError `unavailable` without `publicUrl`. */
  link(page: ProofPage, token: string): string {
    return this.#options.mails.link(`/_/auth/${page}?token=${token}`);
  }

  /** @throws AppError `unavailable` when mail is off, and without `publicUrl` for a mail with a link. */
  check(needs: MailRequest["needs"]): void {
    const { mails, logger } = this.#options;
    if (needs === "link") mails.link("/");
    if (mails.isOn) return;
    logger.often("A mail was asked for, but this service sends no mails: set mail.from");
    throw new AppError("unavailable", "This service sends no mails.");
  }

  /**
   * Whether a mail may be sent to a recipient for a caller; counts the mail. The callers of an address of the network have a
   * part of the mails, so that the recipient can ask for a mail from another address of the network.
   */
  allows(recipient: string, { key }: PasswordCaller): boolean {
    const now = performance.now();
    if (!isOwnMachine(key) && (this.#pairs.now?.take(JSON.stringify([recipient, key]), now) ?? 0) > 0) return false;
    return (this.#recipients.now?.take(recipient, now) ?? 0) === 0;
  }

  /**
   * Runs `write` in a transaction after the answer to the request; nothing runs beyond the bounds of the recipient. A
   * failure is in the log alone.
   * @throws AppError `unavailable` as `check`, when too many requests wait, and while the service is read-only.
   */
  later(
    { recipient, caller, needs, principal = null, isSignIn = false }: MailRequest,
    write: (tx: Transactor) => void,
  ): void {
    const { database, logger } = this.#options;
    this.check(needs);
    // Nobody hears of a refusal after the answer.
    if (!isSignIn) database.readOnly.demandWritable();
    if (this.#waiting.size >= maxWaiting)
      throw overloaded("mails", "Too many mails are asked for; try again in a moment.");
    if (!this.allows(recipient, caller)) return;
    const work = async (): Promise<void> => {
      this.#waiting.delete(work);
      await database
        .transactFor(principal, write, { whileReadOnly: isSignIn })
        .catch((error) => logger.warn("A mail that was asked for was not written", { error }));
    };
    this.#waiting.add(work);
    // The answer leaves in this turn of the event loop, or when the turn waits.
    setImmediate(() => {
      if (this.#waiting.has(work)) this.#running = Promise.all([this.#running, work()]).then(() => undefined);
    });
  }

  /** Resolves when the work of all answered requests is done. */
  async close(): Promise<void> {
    await Promise.all([this.#running, ...[...this.#waiting].map((work) => work())]);
  }
}
