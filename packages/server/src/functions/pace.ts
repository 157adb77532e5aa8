/** The time for which arrivals are counted, and starts are allowed. */
const sliceMs = 20;
/** Arrivals in a slice from which on requests go before runs. */
const busyArrivals = 80;
/** Starts in a slice, then. */
const busyStarts = 25;

/**
 * Lets requests go first: while more changes come than could be kept up with (4,000 a second), runs start at a steady
 * 1,250 a second and the others wait; they are made up for afterwards.
 */
export class Pace {
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

  /** A change came that something is to be run for. */
  arrived(): void {
    this.#turn();
    this.#arrivals += 1;
    if (this.#arrivals >= busyArrivals) this.#isBusy = true;
  }

  /** Whether one more may start now. */
  take(): boolean {
    this.#turn();
    if (this.#isBusy && this.#starts >= busyStarts) {
      this.#timer ??= setTimeout(() => {
        this.#timer = null;
        this.#onNext();
      }, sliceMs).unref();
      return false;
    }
    this.#starts += 1;
    return true;
  }

  #turn(): void {
    const now = performance.now();
    if (now - this.#since < sliceMs) return;
    this.#isBusy = this.#arrivals >= busyArrivals;
    this.#since = now;
    this.#arrivals = 0;
    this.#starts = 0;
  }
}
