/** The lag of the event loop: how long the loop was held lately. A timer that comes late measures the lag. */

const tickMs = 250;
const windowMs = 10_000;

export class EventLoopLag {
  #recent: { at: number; lag: number }[] = [];

  /** Measures until the signal aborts. */
  constructor(signal: AbortSignal) {
    let due = performance.now() + tickMs;
    const timer = setInterval(() => {
      const now = performance.now();
      this.#recent = this.#recent.filter(({ at }) => now - at < windowMs);
      if (now > due) this.#recent.push({ at: now, lag: now - due });
      due = now + tickMs;
    }, tickMs).unref();
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  /** Milliseconds; the longest within the last ten seconds. */
  longest(): number {
    return Math.max(0, ...this.#recent.map(({ lag }) => lag));
  }
}
