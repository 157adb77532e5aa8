/** Bounds on lines of the log that repeat. */
import { BoundedMap } from "../kernel/index.ts";

const everyMs = 60_000;
/** Lines that are remembered. */
const capacity = 200;

/** Writes a repeated line once a minute, with the number of repetitions that were left out. */
export class Repeats {
  readonly #lines = new BoundedMap<string, { writtenAt: number; leftOut: number }>(capacity);

  /** How many repetitions were left out since the line was written; null when this repetition is to be left out, too. */
  admit(line: string): number | null {
    const now = performance.now();
    const known = this.#lines.get(line);
    if (known !== undefined && now - known.writtenAt < everyMs) {
      known.leftOut += 1;
      return null;
    }
    this.#lines.set(line, { writtenAt: now, leftOut: 0 });
    return known?.leftOut ?? 0;
  }
}

/** Failures of a minute that are logged singly. */
const maxTold = 60;

/** A bound on the log entries about failures that anybody can cause: so many a minute, then the number alone. */
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
    if (now - this.#since >= everyMs) {
      if (this.#failures > maxTold) this.#onMore(this.#failures - maxTold);
      this.#since = now;
      this.#failures = 0;
    }
    this.#failures += 1;
    return this.#failures <= maxTold;
  }
}
