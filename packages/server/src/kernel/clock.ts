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
 * The time of the service in milliseconds since 1970. Small corrections of the machine's clock do not make it run
 * backwards: it stands still until they are made up for, also across a restart once it was told the latest time that is
 * stored. A larger step back means that the clock was wrong before: the time follows it. Order never depends on it:
 * records and events have places.
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
   * A time that is stored: `now` answers none before it, unless the machine's clock was set back by more than a
   * correction.
   */
  atLeast(time: number): void {
    if (time > this.#latest) this.#latest = time;
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
