import { AppError, BoundedMap } from "../kernel/index.ts";

const limit = 10;
const windowMs = 10 * 60_000;
/** Keys that are remembered; the oldest are forgotten first. */
const capacity = 20_000;

interface Failures {
  /** When logins failed, oldest first; at most `limit`. */
  times: number[];
  /** Logins whose outcome is not known yet. */
  running: number;
  waiting: (() => void)[];
}

/**
 * Refuses logins after ten failures in ten minutes for one key, an email or an address. Logins that are still being
 * checked count as possible failures, so that guesses sent at once gain nothing: the eleventh waits for their outcome.
 */
export class Throttle {
  readonly #failures = new BoundedMap<string, Failures>(capacity);
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Runs `check`, which answers whether the login succeeded.
   * @throws AppError `rate_limited` instead, with the seconds until it is worth trying again.
   */
  async guard(key: string, check: () => Promise<boolean>): Promise<boolean> {
    const failures = await this.#admit(key);
    let hasFailed = false;
    try {
      const isRight = await check();
      hasFailed = !isRight;
      return isRight;
    } finally {
      failures.running -= 1;
      if (hasFailed) failures.times.push(this.#now());
      failures.waiting.shift()?.();
    }
  }

  /** After a success the failures before it no longer count. */
  forgive(key: string): void {
    const failures = this.#failures.get(key);
    if (failures !== undefined) failures.times = [];
  }

  /** Counts the login as running, as soon as it may run. */
  async #admit(key: string): Promise<Failures> {
    while (true) {
      const failures = this.#entry(key);
      const now = this.#now();
      failures.times = failures.times.filter((time) => time > now - windowMs);
      const [oldest] = failures.times;
      if (failures.times.length >= limit && oldest !== undefined) {
        failures.waiting.shift()?.();
        const retryAfter = Math.max(1, Math.ceil((oldest + windowMs - now) / 1_000));
        throw new AppError("rate_limited", "Too many failed logins; try again later.", { retryAfter });
      }
      if (failures.times.length + failures.running < limit) {
        // Counted at once: whoever comes in the same turn must see it.
        failures.running += 1;
        return failures;
      }
      await new Promise<void>((resolve) => failures.waiting.push(resolve));
    }
  }

  #entry(key: string): Failures {
    let failures = this.#failures.get(key);
    if (failures === undefined) {
      failures = { times: [], running: 0, waiting: [] };
      this.#failures.set(key, failures);
    }
    return failures;
  }
}
