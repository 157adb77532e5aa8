/** The limit meter: counts how often each bound was reached, and logs each at most once a minute. */
import { LIMITS, type LimitName } from "../kernel/index.ts";
import type { LogFields } from "./entry.ts";
import type { Logger } from "./logger.ts";

const everyMs = 60_000;

interface Count {
  total: number;
  /** Since the last line of the log. */
  unlogged: number;
  loggedAt: number;
}

export class LimitMeter {
  readonly #logger: Logger;
  readonly #counts = new Map<LimitName, Count>(
    LIMITS.map((limit) => [limit, { total: 0, unlogged: 0, loggedAt: Number.NEGATIVE_INFINITY }]),
  );

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Counts a caller that was turned away or cut off. `fields` go to the log: an address, a path; never a secret. */
  reached(limit: LimitName, fields: LogFields = {}): void {
    const count = this.#counts.get(limit);
    if (count === undefined) return;
    count.total += 1;
    count.unlogged += 1;
    const now = performance.now();
    if (now - count.loggedAt < everyMs) return;
    this.#logger.warn("A limit was reached", { limit, times: count.unlogged, ...fields });
    count.unlogged = 0;
    count.loggedAt = now;
  }

  /** How often each bound was reached since the start. */
  totals(): readonly (readonly [limit: LimitName, times: number])[] {
    return [...this.#counts].map(([limit, { total }]) => [limit, total]);
  }
}
