/** Bounds on lines of the log that repeat. */
import { BoundedMap } from "../kernel/index.ts";

const everyMs = 60_000;
/** Lines that are remembered. */
const capacity = 200;

/** The end of a minute in which repetitions were left out: takes their number, to write the line once more. */
type OnLeftOut = (leftOut: number) => void;

/** Bounds how often a line that repeats is written in a minute, and counts the repetitions that were left out. */
export class Repeats {
  /** Lines with the same text that are written in a minute; 0 for all. */
  readonly allowed: number;
  readonly #lines = new BoundedMap<string, { since: number; written: number; leftOut: number }>(capacity);

  constructor(allowed = 0) {
    this.allowed = allowed;
  }

  /**
   * How many repetitions were left out before this repetition, and are not told yet; null when this repetition is to be left out, too.
   * @param allowed repetitions a minute, 1 or more.
   * @param onLeftOut without `onLeftOut`, the next repetition after the minute tells alone.
   */
  admit(line: string, allowed = 1, onLeftOut?: OnLeftOut): number | null {
    const now = performance.now();
    const known = this.#lines.get(line);
    if (known === undefined || now - known.since >= everyMs) {
      this.#lines.set(line, { since: now, written: 1, leftOut: 0 });
      const leftOut = known?.leftOut ?? 0;
      if (known !== undefined) known.leftOut = 0;
      return leftOut;
    }
    if (known.written < allowed) {
      known.written += 1;
      return 0;
    }
    if (known.leftOut === 0 && onLeftOut !== undefined) this.#tellLater(known, onLeftOut);
    known.leftOut += 1;
    return null;
  }

  #tellLater(known: { since: number; leftOut: number }, onLeftOut: OnLeftOut): void {
    const tell = (): void => {
      const { leftOut } = known;
      known.leftOut = 0;
      if (leftOut > 0) onLeftOut(leftOut);
    };
    setTimeout(tell, known.since + everyMs - performance.now()).unref();
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
