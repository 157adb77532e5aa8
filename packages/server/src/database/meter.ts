/** What the database tells of itself: flushes, and writes that it had to refuse. */
import { Histogram } from "../logging/index.ts";

/** Why the disk did not take a write. */
export type RefusalCause = "full" | "read-only" | "io-error" | "other";

export class DatabaseMeter {
  /** Durations of flushes that worked. */
  readonly flushes = new Histogram();
  flushFailures = 0;
  readonly #refused = new Map<RefusalCause, number>([
    ["full", 0],
    ["read-only", 0],
    ["io-error", 0],
    ["other", 0],
  ]);

  refuse(cause: RefusalCause): void {
    this.#refused.set(cause, (this.#refused.get(cause) ?? 0) + 1);
  }

  /** Writes that were refused, by cause. */
  refused(): readonly (readonly [cause: RefusalCause, writes: number])[] {
    return [...this.#refused];
  }
}
