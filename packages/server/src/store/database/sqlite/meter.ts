/** The measurements of the database: flushes, and refused writes. */
import { Histogram } from "../../../base/logging/index.ts";
import type { DatabaseMeter, RefusalCause } from "../store.ts";

export class SqliteMeter implements DatabaseMeter {
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

  refused(): readonly (readonly [cause: RefusalCause, writes: number])[] {
    return [...this.#refused];
  }
}
