/** Token buckets: how often each caller may do a thing. */
import { BoundedMap } from "./bounded-map.ts";

/** How often a thing may happen: `count` times in `perMs` milliseconds. */
export interface Rate {
  readonly count: number;
  readonly perMs: number;
}

/** Callers that are remembered; the caller that asked longest ago is forgotten first, and has a full bucket then. */
const capacity = 10_000;

/** The buckets of one rate, a bucket for each caller. */
export class TokenBuckets {
  readonly #rate: Rate;
  readonly #size: number;
  /** The tokens of each caller, and the time of that number by the clock of the limiter. */
  readonly #buckets = new BoundedMap<string, { tokens: number; at: number }>(capacity);

  /** @param size the tokens of a full bucket; by default, the count of the rate. */
  constructor(rate: Rate, size: number = rate.count) {
    this.#rate = rate;
    this.#size = size;
  }

  /**
   * Takes a token of a caller. Answers 0, or the milliseconds until the bucket has a token again.
   * @param now milliseconds that never run backwards.
   */
  take(caller: string, now: number): number {
    const { count, perMs } = this.#rate;
    const bucket = this.#buckets.get(caller) ?? { tokens: this.#size, at: now };
    const tokens = Math.min(this.#size, bucket.tokens + ((now - bucket.at) * count) / perMs);
    const isThere = tokens >= 1;
    this.#buckets.set(caller, { tokens: isThere ? tokens - 1 : tokens, at: now });
    return isThere ? 0 : ((1 - tokens) * perMs) / count;
  }

  /** Takes further tokens of a caller, also tokens of the future: the next request has to wait. */
  charge(caller: string, tokens: number): void {
    const bucket = this.#buckets.get(caller);
    if (bucket !== undefined) this.#buckets.set(caller, { ...bucket, tokens: bucket.tokens - tokens });
  }
}
