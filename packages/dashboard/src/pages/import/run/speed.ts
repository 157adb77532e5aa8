/** How fast rows go, over the last seconds, and how long the rest will take. */

/** The time that counts. */
const windowMs = 10_000;

export class Speed {
  /** Rows by second. */
  readonly #seconds = new Map<number, number>();
  readonly #startedAt: number;

  constructor(now: number) {
    this.#startedAt = now;
  }

  count(now: number): void {
    const second = Math.floor(now / 1_000);
    this.#seconds.set(second, (this.#seconds.get(second) ?? 0) + 1);
  }

  /** @param part of the file that is done: 0 to 1. */
  read(now: number, part: number): { rowsPerSecond: number | null; secondsLeft: number | null } {
    const from = Math.floor((now - windowMs) / 1_000);
    let rows = 0;
    for (const [second, count] of this.#seconds) {
      if (second <= from) this.#seconds.delete(second);
      else rows += count;
    }
    const elapsed = now - this.#startedAt;
    if (elapsed < 500) return { rowsPerSecond: null, secondsLeft: null };
    const rowsPerSecond = (rows * 1_000) / Math.min(elapsed, windowMs);
    const secondsLeft = part > 0 && part < 1 && rows > 0 ? ((elapsed / 1_000) * (1 - part)) / part : null;
    return { rowsPerSecond, secondsLeft };
  }
}
