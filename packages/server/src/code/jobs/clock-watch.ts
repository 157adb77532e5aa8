/** Clock watch: notices that the machine's clock was set back. */

/** A smaller correction is not followed: no job runs twice after a correction. */
const correctionMs = 5_000;

export class ClockWatch {
  readonly #now: () => number;
  /** The last look: its time, and that of `performance.now()`, which no step of the clock changes. */
  #last = { at: 0, steady: 0 };

  /** @param now milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Looks at the clock. When the clock was set back since the last look, answers the time of the last look by the corrected clock:
   * the times since then have come, and no job has run for these times. Null otherwise.
   */
  look(): number | null {
    const [at, steady] = [this.#now(), performance.now()];
    const corrected = at - (steady - this.#last.steady);
    const wasSetBack = this.#last.at - corrected > correctionMs;
    this.#last = { at, steady };
    return wasSetBack ? corrected : null;
  }
}
