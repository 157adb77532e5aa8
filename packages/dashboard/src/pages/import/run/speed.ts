/** How fast rows go, over the last seconds, and how long the rest will take. */

/** The time that counts. */
const windowMs = 10_000;

interface Second {
  rows: number;
  /** Of the file that was done at its end: 0 to 1. */
  part: number;
}

export class Speed {
  readonly #seconds = new Map<number, Second>();
  readonly #startedAt: number;

  constructor(now: number) {
    this.#startedAt = now;
  }

  /** One more row is done, and with it this part of the file. */
  count(now: number, part: number): void {
    const second = Math.floor(now / 1_000);
    const rows = (this.#seconds.get(second)?.rows ?? 0) + 1;
    this.#seconds.set(second, { rows, part });
  }

  /** Null while nothing can be told: at the beginning, and when nothing has happened for a while. */
  read(now: number, part: number): { rowsPerSecond: number | null; secondsLeft: number | null } {
    const from = Math.floor((now - windowMs) / 1_000);
    let rows = 0;
    let partBefore = 0;
    for (const [second, done] of this.#seconds) {
      if (second < from) this.#seconds.delete(second);
      // The part that was done at the end of the second before the window.
      else if (second === from) partBefore = done.part;
      else rows += done.rows;
    }
    const elapsed = Math.min(now - this.#startedAt, windowMs) / 1_000;
    if (elapsed < 0.5 || rows === 0) return { rowsPerSecond: null, secondsLeft: null };
    const gained = part - partBefore;
    return { rowsPerSecond: rows / elapsed, secondsLeft: gained > 0 ? ((1 - part) * elapsed) / gained : null };
  }
}
