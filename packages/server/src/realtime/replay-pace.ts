/** The pace of a socket's replays: so many at once after a break, and then so many a second. Frames wait for their turn. */

/** Two for each channel that a socket may hold. */
const burst = 100;
const perSecond = 10;

export class ReplayPace {
  #left = burst;
  #at = performance.now();

  /** Resolves when another replay may begin. Calls follow each other: the next one after this one has resolved. */
  async turn(): Promise<void> {
    this.#refill();
    while (this.#left < 1) {
      await Bun.sleep(((1 - this.#left) / perSecond) * 1_000);
      this.#refill();
    }
    this.#left -= 1;
  }

  #refill(): void {
    const now = performance.now();
    this.#left = Math.min(burst, this.#left + ((now - this.#at) / 1_000) * perSecond);
    this.#at = now;
  }
}
