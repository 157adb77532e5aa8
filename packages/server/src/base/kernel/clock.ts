/** The clock of the service, and timestamps. */

/**
 * Milliseconds that the machine's clock may be set back by without a step of the service's times: a usual correction by
 * NTP.
 */
const toleranceMs = 5_000;
/** The longest wait of `lookAfter`. */
const longestLookMs = 60_000;

/** An effect that a later time has. */
export interface Alarm {
  cancel(): void;
}

/**
 * The time of the service in milliseconds since 1970. Small corrections of the machine's clock do not turn the time
 * back: the time stands still until the machine's clock has caught up, also across a restart once the clock was given
 * the latest stored time. After a larger step back the machine's clock was wrong before, and the time follows the
 * clock. Order never depends on the time: records and events have places.
 */
export class Clock {
  readonly #onStepBack: (from: number, to: number) => void;
  #latest = 0;

  /** @param onStepBack called when the time follows the machine's clock back, with the times before and after. */
  constructor(onStepBack: (from: number, to: number) => void = () => undefined) {
    this.#onStepBack = onStepBack;
  }

  now(): number {
    const time = Date.now();
    if (time > this.#latest) this.#latest = time;
    else if (time < this.#latest - toleranceMs) {
      const before = this.#latest;
      this.#latest = time;
      this.#onStepBack(before, time);
    }
    return this.#latest;
  }

  /**
   * Gives a stored time: `now` answers no earlier time, unless the machine's clock was set back by more than a
   * correction.
   */
  atLeast(time: number): void {
    if (time > this.#latest) this.#latest = time;
  }

  /** Milliseconds that have passed since some moment of this process. No step of the machine's clock changes this time. */
  steady(): number {
    return performance.now();
  }

  /** Calls `effect` after so many milliseconds. An alarm keeps no process running. */
  after(ms: number, effect: () => void): Alarm {
    const timer = setTimeout(effect, ms).unref();
    return { cancel: () => clearTimeout(timer) };
  }

  /** Like `after`, but a minute at the latest: clocks are changed, so whoever waits for long looks again. */
  lookAfter(ms: number, effect: () => void): Alarm {
    return this.after(Math.min(ms, longestLookMs), effect);
  }
}

let lastTime = -1;
let lastText = "";

/** ISO 8601, UTC, with milliseconds. The last answer is kept: under load most calls ask for the same millisecond. */
export function toTimestamp(time: number): string {
  if (time !== lastTime) {
    lastText = new Date(time).toISOString();
    lastTime = time;
  }
  return lastText;
}
