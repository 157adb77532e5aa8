/** The login guard: both bounds of failed logins, and the traces that failures leave. */

import { AppError, BoundedMap, callerGone, overloaded } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import { FailureTrace } from "./failure-trace.ts";
import type { PasswordCaller } from "./passwords.ts";

/** Failures that are older no longer count. */
const failureWindowMs = 10 * 60_000;
/** Remembered keys with failures; the key with the oldest last failure is forgotten first. */
const capacity = 10_000;

interface Attempts {
  /** When logins failed, oldest first; at most `bound`. */
  failures: number[];
  /** Logins whose outcome is not known yet. */
  running: number;
  readonly waiting: Set<() => void>;
}

interface ThrottleOptions {
  /** Failures after which a key is refused. */
  readonly bound: number;
  /** Logins of all keys that may wait for the outcome of others. */
  readonly maxWaiting: number;
  /** Milliseconds that never run backwards and never stand still. */
  readonly now?: () => number;
}

interface GuardOptions {
  /** Aborts the wait of the login. */
  readonly signal?: AbortSignal | undefined;
  /** Called when the login is the failure that reaches the bound. */
  readonly onLocked?: () => void;
}

/**
 * Refuses logins of a key, such as an address, after `bound` failures in ten minutes. Running logins count as possible
 * failures, so that simultaneous guesses gain nothing: beside `bound` running logins, the next login waits for an outcome.
 */
export class Throttle {
  readonly #options: ThrottleOptions;
  readonly #now: () => number;
  /** Keys with failures. A login without a failure leaves no entry, and so forgets no locked key. */
  readonly #failed = new BoundedMap<string, Attempts>(capacity);
  /** Keys with logins that run or wait: as many as the queues of logins allow. */
  readonly #active = new Map<string, Attempts>();
  #waiting = 0;

  constructor(options: ThrottleOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Runs `check`, which answers whether the login succeeded. A check that throws is no failure.
   * @throws AppError `rate_limited` instead, with the seconds to wait; `unavailable` when too many logins wait.
   */
  async guard(key: string, check: () => Promise<boolean>, options: GuardOptions = {}): Promise<boolean> {
    const attempts = await this.#admit(key, options.signal);
    let hasFailed = false;
    try {
      const isRight = await check();
      hasFailed = !isRight;
      return isRight;
    } finally {
      attempts.running -= 1;
      if (hasFailed && this.#fail(key, attempts)) options.onLocked?.();
      wakeNext(attempts);
      this.#rest(key, attempts);
    }
  }

  /** Forgets the failures of a key after a success. */
  forgive(key: string): void {
    const attempts = this.#attemptsOf(key);
    attempts.failures = [];
    this.#failed.delete(key);
  }

  /** Answers whether the key is locked by this failure. */
  #fail(key: string, attempts: Attempts): boolean {
    attempts.failures.push(this.#now());
    this.#failed.set(key, attempts);
    return attempts.failures.length >= this.#options.bound;
  }

  /** Counts the login as running, after its wait. */
  async #admit(key: string, signal: AbortSignal | undefined): Promise<Attempts> {
    const { bound, maxWaiting } = this.#options;
    while (true) {
      const attempts = this.#attemptsOf(key);
      const now = this.#now();
      attempts.failures = attempts.failures.filter((time) => time > now - failureWindowMs);
      const [oldest] = attempts.failures;
      if (attempts.failures.length >= bound && oldest !== undefined) {
        wakeNext(attempts);
        this.#rest(key, attempts);
        const retryAfter = Math.max(1, Math.ceil((oldest + failureWindowMs - now) / 1_000));
        throw new AppError("rate_limited", "Too many failed logins; try again later.", { retryAfter, limit: "logins" });
      }
      if (oldest === undefined) this.#failed.delete(key);
      if (attempts.failures.length + attempts.running < bound) {
        // Counted at once: another login of the same turn must see the count.
        attempts.running += 1;
        this.#active.set(key, attempts);
        return attempts;
      }
      if (this.#waiting >= maxWaiting) throw overloaded("passwords", "Too many logins wait; try again in a moment.");
      await this.#wait(attempts, signal);
    }
  }

  #wait(attempts: Attempts, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) throw callerGone();
    this.#waiting += 1;
    return new Promise((resolve, reject) => {
      const wake = (): void => {
        signal?.removeEventListener("abort", leave);
        this.#waiting -= 1;
        resolve();
      };
      const leave = (): void => {
        attempts.waiting.delete(wake);
        this.#waiting -= 1;
        reject(callerGone());
      };
      attempts.waiting.add(wake);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  #attemptsOf(key: string): Attempts {
    return this.#active.get(key) ?? this.#failed.get(key) ?? { failures: [], running: 0, waiting: new Set() };
  }

  /** Forgets a key of which no login runs or waits, but for its failures. */
  #rest(key: string, attempts: Attempts): void {
    if (attempts.running === 0 && attempts.waiting.size === 0) this.#active.delete(key);
  }
}

function wakeNext({ waiting }: Attempts): void {
  const [wake] = waiting;
  if (wake === undefined) return;
  waiting.delete(wake);
  wake();
}

/** Failures in ten minutes (contract, "Authentication"): of an email from one address, and of an address. */
const bounds = { pair: 10, address: 100 };

/**
 * Counts failed logins by email and address, and by address. The bound of an email and address is far below the bound of
 * the address, so that one person does not lock out others behind the same address.
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
