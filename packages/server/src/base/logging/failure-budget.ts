/** A bound on the log entries about failures that anybody can cause: so many a minute, then their number alone. */

const minuteMs = 60_000;
/** Failures of a minute that are logged one by one. */
const maxTold = 60;

export class FailureBudget {
  readonly #onMore: (failures: number) => void;
  readonly #now: () => number;
  #since = Number.NEGATIVE_INFINITY;
  #failures = 0;

  /** @param onMore hears how many more failures a minute had, with the first failure after that minute. */
  constructor(onMore: (failures: number) => void, now: () => number = () => performance.now()) {
    this.#onMore = onMore;
    this.#now = now;
  }

  /** Counts a failure. Answers whether the failure is to be logged. */
  take(): boolean {
    const now = this.#now();
    if (now - this.#since >= minuteMs) {
      if (this.#failures > maxTold) this.#onMore(this.#failures - maxTold);
      this.#since = now;
      this.#failures = 0;
    }
    this.#failures += 1;
    return this.#failures <= maxTold;
  }
}
