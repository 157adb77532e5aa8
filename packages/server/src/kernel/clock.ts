/**
 * The time of the service in milliseconds since 1970. It never runs backwards, whatever the machine's clock does, also
 * across a restart once it was told the latest time that is stored.
 */
export class Clock {
  #latest = 0;

  now(): number {
    const time = Date.now();
    if (time > this.#latest) this.#latest = time;
    return this.#latest;
  }

  /** Takes care that `now` answers at least `time`. */
  atLeast(time: number): void {
    if (time > this.#latest) this.#latest = time;
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
