/** The login throttle: refuses logins of a key after a number of failures in ten minutes. */
import { AppError, BoundedMap, callerGone, overloaded } from "../kernel/index.ts";

/** Failures that are older no longer count. */
const failureWindowMs = 10 * 60_000;
/** Keys with failures that are remembered; those whose last failure is longest ago are forgotten first. */
const capacity = 10_000;

interface Attempts {
  /** When logins failed, oldest first; at most `bound`. */
  failures: number[];
  /** Logins whose outcome is not known yet. */
  running: number;
  readonly waiting: Set<() => void>;
}

export interface ThrottleOptions {
  /** Failures after which a key is refused. */
  readonly bound: number;
  /** Logins of all keys that may wait for the outcome of others. */
  readonly maxWaiting: number;
  /** Milliseconds that never run backwards and never stand still. */
  readonly now?: () => number;
}

export interface GuardOptions {
  /** When it is aborted while the login waits, its place is free at once. */
  readonly signal?: AbortSignal | undefined;
  /** Called when the login is the failure that reaches the bound. */
  readonly onLocked?: () => void;
}

/**
 * Refuses logins of a key, such as an address, after `bound` failures in ten minutes. Logins that are still being checked
 * count as possible failures, so that guesses sent at once gain nothing: with `bound` of them running, the next waits for
 * their outcome.
 */
export class Throttle {
  readonly #options: ThrottleOptions;
  readonly #now: () => number;
  /** Keys with failures. Logins that count nowhere leave nothing here, so they push no locked key out. */
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
   * @throws AppError `rate_limited` instead, with the seconds until it is worth trying again; `unavailable` when too many
   * logins wait.
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

  /** After a success the failures before it no longer count. */
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

  /** Counts the login as running, as soon as it may run. */
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
        // Counted at once: another login of the same turn must see it.
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
