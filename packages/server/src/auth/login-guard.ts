/** The login guard: both bounds of failed logins, and the traces that failures leave. */
import type { Database } from "../database/index.ts";
import type { EventLog } from "../events/index.ts";
import type { Logger } from "../logging/index.ts";
import { FailureTrace } from "./failure-trace.ts";
import type { PasswordCaller } from "./passwords.ts";
import { Throttle } from "./throttle.ts";

/** Failures in ten minutes (contract, "Authentication"): of one email from one address, and of one address. */
const bounds = { pair: 10, address: 100 };

/**
 * Counts failed logins by email and address, and by address. The bound of an email and address is far below that of the
 * address, so that one person does not lock out others behind the same address.
 */
export class LoginGuard {
  readonly #pairs: Throttle;
  readonly #addresses: Throttle;
  readonly #failed: FailureTrace;
  readonly #locked: FailureTrace;

  constructor(options: {
    database: Database;
    events: EventLog;
    logger: Logger;
    /** Logins that may wait for the outcome of others. */
    maxWaiting: number;
  }) {
    const { maxWaiting } = options;
    this.#failed = new FailureTrace({ ...options, type: "auth.failed", message: "Logins failed" });
    this.#locked = new FailureTrace({ ...options, type: "auth.locked", message: "Logins are refused for ten minutes" });
    this.#pairs = new Throttle({ bound: bounds.pair, maxWaiting });
    this.#addresses = new Throttle({ bound: bounds.address, maxWaiting });
  }

  /**
   * Runs `check`, which answers whether the password is right.
   * @param email null for a text that is no email address.
   * @throws AppError `rate_limited` instead, after too many failures; `unavailable` when too many logins wait.
   */
  async guard(email: string | null, caller: PasswordCaller, check: () => Promise<boolean>): Promise<boolean> {
    const { key: address, signal } = caller;
    const pair = JSON.stringify([email, address]);
    const ofPair = { signal, onLocked: () => void this.#locked.note(email, address) };
    const ofAddress = { signal, onLocked: () => void this.#locked.note(null, address) };
    const isRight = await this.#addresses.guard(address, () => this.#pairs.guard(pair, check, ofPair), ofAddress);
    if (isRight) this.#pairs.forgive(pair);
    else await this.#failed.note(email, address);
    return isRight;
  }

  /** Writes the traces that are due. To be called regularly. */
  tick(): void {
    this.#failed.tick();
    this.#locked.tick();
  }
}
