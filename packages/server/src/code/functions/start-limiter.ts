/**
 * The start limiter: while more changes with functions come than 4,000 a second, at most 1,250 runs a second start, so
 * that requests go first. The other runs start later.
 */

/** The window in which arrivals and starts are counted. */
const windowMs = 20;
/** Arrivals in a window from which on starts are limited. */
const busyArrivals = 80;
/** Starts in a window while starts are limited. */
const busyStarts = 25;

export class StartLimiter {
  readonly #onNext: () => void;
  #since = 0;
  #arrivals = 0;
  #starts = 0;
  #isBusy = false;
  #timer: Timer | null = null;

  /** @param onNext called when starts are allowed again. */
  constructor(onNext: () => void) {
    this.#onNext = onNext;
  }

  /** A change with functions has arrived. */
  arrived(): void {
    this.#roll();
    this.#arrivals += 1;
    if (this.#arrivals >= busyArrivals) this.#isBusy = true;
  }

  /** Whether another run may start now; the run counts as started then. */
  take(): boolean {
    this.#roll();
    if (this.#isBusy && this.#starts >= busyStarts) {
      this.#timer ??= setTimeout(() => {
        this.#timer = null;
        this.#onNext();
      }, windowMs).unref();
      return false;
    }
    this.#starts += 1;
    return true;
  }

  /** Begins another window when the last window is over. */
  #roll(): void {
    const now = performance.now();
    if (now - this.#since < windowMs) return;
    this.#isBusy = this.#arrivals >= busyArrivals;
    this.#since = now;
    this.#arrivals = 0;
    this.#starts = 0;
  }
}
