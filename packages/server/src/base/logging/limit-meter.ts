/** The limit meter: counts how often each bound was reached, and logs each bound at most once a minute. */
import { LIMITS, type LimitName } from "../kernel/index.ts";
import type { LogFields } from "./entry.ts";
import type { Logger } from "./logger.ts";
import { Repeats } from "./repeats.ts";

export class LimitMeter {
  readonly #logger: Logger;
  readonly #totals = new Map<LimitName, number>(LIMITS.map((limit) => [limit, 0]));
  readonly #repeats = new Repeats();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Counts a caller that was turned away or cut off. `fields` go to the log: an address, a path; never a secret. */
  reached(limit: LimitName, fields: LogFields = {}): void {
    this.#totals.set(limit, (this.#totals.get(limit) ?? 0) + 1);
    const leftOut = this.#repeats.admit(limit);
    if (leftOut !== null) this.#logger.warn("A limit was reached", { limit, times: leftOut + 1, ...fields });
  }

  /** How often each bound was reached since the start. */
  totals(): readonly (readonly [limit: LimitName, times: number])[] {
    return [...this.#totals];
  }
}
