/**
 * Serving right: an instance in one role may answer from its own state only for a time, which the role prolongs again and again. The next role has a
 * right of its own, so that a request that waited in one role is never answered with the parts of a role that is over. An instance that was paused or cut
 * off has no right when it goes on, so that nobody reads a state in which a session that has ended still counts. The right runs
 * by the monotonic clock of this process: wrong clocks of machines do not matter.
 */
import { AppError } from "../../base/kernel/index.ts";
import { Signal } from "./signal.ts";

/** The longest that a request waits for the right, or for a position. */
const patienceMs = 5_000;

export class ServingRight {
  #until = Number.NEGATIVE_INFINITY;
  #isOver = false;
  readonly #changed = new Signal();

  get isValid(): boolean {
    return performance.now() < this.#until;
  }

  /** The right lasts until a time by `performance.now()`, or longer if it does already. After the end, the right stays over. */
  prolong(until: number): void {
    if (this.#isOver) return;
    this.#until = Math.max(this.#until, until);
    this.#changed.happened();
  }

  /** Ends the right at once and for good: requests that wait are refused. */
  end(): void {
    this.#isOver = true;
    this.#until = Number.NEGATIVE_INFINITY;
    this.#changed.happened();
  }

  /** Resolves when the right is valid. @throws AppError `unavailable` after some seconds, or when the right is over. */
  async wait(): Promise<void> {
    await this.#changed.until(() => this.isValid || this.#isOver, patienceMs);
    if (!this.isValid) throw noRight();
  }
}

function noRight(): AppError {
  return new AppError("unavailable", "This instance has no contact with the others; try again in a moment.", {
    retryAfter: 1,
  });
}
