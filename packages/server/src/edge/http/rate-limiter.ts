/** The rate limiter: a token bucket for each address and group of routes (`limits.rate.*`). */
import type { Rate } from "../../base/config/index.ts";
import { AppError, BoundedMap } from "../../base/kernel/index.ts";
import type { Exchange } from "./exchange.ts";
import { type Methods, mapMethods } from "./router.ts";

const groups = ["register", "login", "refresh", "setup", "upload", "records"] as const;
type RateGroup = (typeof groups)[number];

/** The rates by their keys of the configuration; null for no limit. */
type Rates = { readonly [key in `limits.rate.${RateGroup}`]?: Rate | null };

/** Addresses that a group remembers; the address that asked longest ago is forgotten first, and has a full bucket then. */
const capacity = 10_000;

interface Bucket {
  tokens: number;
  /** The time of `tokens`, by `now`. */
  at: number;
}

/** The buckets of one rate. A full bucket holds ten seconds' worth of a rate per second, and `count` of any other. */
class Buckets {
  readonly #rate: Rate;
  readonly #size: number;
  readonly #buckets = new BoundedMap<string, Bucket>(capacity);

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#size = rate.perMs === 1_000 ? rate.count * 10 : rate.count;
  }

  /** Takes a token of an address. Answers 0, or the milliseconds until the bucket has a token. */
  take(address: string, now: number): number {
    const { count, perMs } = this.#rate;
    const bucket = this.#buckets.get(address) ?? { tokens: this.#size, at: now };
    const tokens = Math.min(this.#size, bucket.tokens + ((now - bucket.at) * count) / perMs);
    const isThere = tokens >= 1;
    this.#buckets.set(address, { tokens: isThere ? tokens - 1 : tokens, at: now });
    return isThere ? 0 : ((1 - tokens) * perMs) / count;
  }

  /** Takes further tokens of an address, also tokens of the future: the next request has to wait. */
  charge(address: string, tokens: number): void {
    const bucket = this.#buckets.get(address);
    if (bucket !== undefined) this.#buckets.set(address, { ...bucket, tokens: bucket.tokens - tokens });
  }
}

/** Limits the requests of an address to groups of routes. The check comes before the body and the token are read. */
export class RateLimiter {
  readonly #buckets = new Map<RateGroup, Buckets>();
  readonly #now: () => number;

  /** @param now milliseconds that never run backwards. */
  constructor(rates: Rates, now: () => number = () => performance.now()) {
    this.#now = now;
    for (const group of groups) {
      const rate = rates[`limits.rate.${group}`];
      if (rate) this.#buckets.set(group, new Buckets(rate));
    }
  }

  /** Handlers whose requests count for a group; the same handlers when the group's rate is off. */
  limit(group: RateGroup, methods: Methods): Methods {
    const buckets = this.#buckets.get(group);
    if (buckets === undefined) return methods;
    return mapMethods(methods, (handler) => (exchange) => {
      if (!exchange.isRateCounted) this.#check(buckets, exchange.address);
      exchange.isRateCounted = true;
      return handler(exchange);
    });
  }

  /** Counts a request that was let in as so many further requests. */
  charge(group: RateGroup, exchange: Exchange, more: number): void {
    this.#buckets.get(group)?.charge(exchange.address, Math.max(0, more));
  }

  #check(buckets: Buckets, address: string): void {
    const waitMs = buckets.take(address, this.#now());
    if (waitMs === 0) return;
    const retryAfter = Math.max(1, Math.ceil(waitMs / 1_000));
    throw new AppError("rate_limited", `Too many requests from this address; try again in ${retryAfter} s.`, {
      limit: "rate",
      retryAfter,
    });
  }
}
