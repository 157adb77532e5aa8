/** The speed of an import over the last seconds, and an estimate of the remaining time. */

/** The time for the average. */
const windowMs = 10_000;

/** There is no estimate before so much time, or so much of the file. */
const earlySeconds = 3;
const earlyPart = 0.05;

interface Second {
  rows: number;
  /** The finished part of the file at the end of the second: 0 to 1. */
  part: number;
}

export class Speed {
  readonly #seconds = new Map<number, Second>();
  readonly #startedAt: number;

  constructor(now: number) {
    this.#startedAt = now;
  }

  /** Counts a finished row, and notes the finished part of the file. */
  count(now: number, part: number): void {
    const second = Math.floor(now / 1_000);
    const rows = (this.#seconds.get(second)?.rows ?? 0) + 1;
    this.#seconds.set(second, { rows, part });
  }

  /** Null without enough data: at the beginning, and after a pause. */
  read(now: number, part: number): { rowsPerSecond: number | null; secondsLeft: number | null } {
    const from = Math.floor((now - windowMs) / 1_000);
    let rows = 0;
    let partBefore = 0;
    for (const [second, done] of this.#seconds) {
      if (second < from) this.#seconds.delete(second);
      // The finished part at the end of the second before the window.
      else if (second === from) partBefore = done.part;
      else rows += done.rows;
    }
    const elapsed = Math.min(now - this.#startedAt, windowMs) / 1_000;
    if (elapsed < 0.5 || rows === 0) return { rowsPerSecond: null, secondsLeft: null };
    const gained = part - partBefore;
    // The first requests are slower than the following requests: an estimate from them alone would be far too long.
    const isEarly = elapsed < earlySeconds && part < earlyPart;
    const secondsLeft = gained > 0 && !isEarly ? ((1 - part) * elapsed) / gained : null;
    return { rowsPerSecond: rows / elapsed, secondsLeft };
  }
}
