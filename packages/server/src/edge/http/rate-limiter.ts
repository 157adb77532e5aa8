/**
 * Rate limiters of requests, with token buckets: `RateLimiter` for an address and a group of routes (`limits.rate.*`), and
 * `RequestLimiter` for the routes and callers that `limits.requests` names.
 */
import type { RequestLimit } from "../../base/config/index.ts";
import {
  AppError,
  type Bearer,
  BucketsOfRate,
  isOwnMachine,
  type Rate,
  TokenBuckets,
} from "../../base/kernel/index.ts";
import type { Exchange, Handler } from "./exchange.ts";
import { decodePart, pathIn } from "./headers.ts";

const groups = ["register", "login", "refresh", "setup", "mail", "upload", "records"] as const;
export type RateGroup = (typeof groups)[number];
/** The groups that do not count requests of this machine. */
const ofPeople: readonly RateGroup[] = ["register", "login", "refresh", "mail"];

/** The rates of the moment, by the keys of the configuration; null for no limit. */
type Rates = { readonly [key in `limits.rate.${RateGroup}`]?: Rate | null };

/** @throws AppError `rate_limited` for a bucket without a token. */
function take(buckets: TokenBuckets, caller: string, now: number): void {
  const waitMs = buckets.take(caller, now);
  if (waitMs === 0) return;
  const retryAfter = Math.max(1, Math.ceil(waitMs / 1_000));
  throw new AppError("rate_limited", `Too many requests; try again in ${retryAfter} s.`, { limit: "rate", retryAfter });
}

/** Limits the requests of an address to groups of routes. The check comes before the body and the token are read. */
export class RateLimiter {
  readonly #buckets: ReadonlyMap<RateGroup, BucketsOfRate>;
  readonly #now: () => number;

  /** @param now milliseconds that never run backwards. */
  constructor(rates: Rates, now: () => number = () => performance.now()) {
    this.#now = now;
    const bucketsOf = (group: RateGroup): BucketsOfRate =>
      new BucketsOfRate(
        () => rates[`limits.rate.${group}`] ?? null,
        (rate) => new TokenBuckets(rate, rate.perMs === 1_000 ? rate.count * 10 : rate.count),
      );
    this.#buckets = new Map(groups.map((group) => [group, bucketsOf(group)]));
  }

  /** A handler with requests that count for a group. */
  limit(group: RateGroup, handler: Handler): Handler {
    const isOfPeople = ofPeople.includes(group);
    return (exchange) => {
      const buckets = this.#buckets.get(group)?.now ?? null;
      if (buckets !== null && !(isOfPeople && isOwnMachine(exchange.address)))
        take(buckets, exchange.address, this.#now());
      return handler(exchange);
    };
  }

  /** Counts a request that was let in as so many further requests. */
  charge(group: RateGroup, exchange: Exchange, more: number): void {
    this.#buckets.get(group)?.now?.charge(exchange.address, Math.max(0, more));
  }
}

/** The requests that an entry of `limits.requests` counts. */
interface Matcher {
  /** Null for every method. */
  readonly method: string | null;
  /** The decoded parts of the path; null for every path. */
  readonly parts: readonly string[] | null;
  /** Whether the path stands for all paths below. */
  readonly isOpen: boolean;
}

function matcherOf(routes: string): Matcher {
  const [path = "", method = null] = routes.split(" ").reverse();
  const isOpen = path.endsWith("/*");
  const parts = path === "*" ? null : partsOf(isOpen ? path.slice(0, -1) : path);
  return { method, parts, isOpen };
}

/** A request in the form of `matches`. */
function askedOf(method: string, url: string): { method: string; parts: readonly string[] } {
  return { method: method === "HEAD" ? "GET" : method, parts: partsOf(pathIn(url)) };
}

/** The decoded parts of a path. A slash at the end does not count, as in routes. */
function partsOf(path: string): string[] {
  const parts = path.split("/").slice(1);
  if (parts.at(-1) === "") parts.pop();
  return parts.map((part) => decodePart(part) ?? part);
}

function matches({ method, parts, isOpen }: Matcher, asked: { method: string; parts: readonly string[] }): boolean {
  if (method !== null && method !== asked.method) return false;
  if (parts === null) return true;
  const isLength = isOpen ? asked.parts.length > parts.length : asked.parts.length === parts.length;
  return isLength && parts.every((part, i) => part === asked.parts[i]);
}

/** Limits the requests of a user, an address or an API key to routes, before a handler runs. */
export class RequestLimiter {
  readonly #limits: readonly { per: RequestLimit["per"]; matcher: Matcher; buckets: TokenBuckets }[];
  readonly #now: () => number;

  /** @param now milliseconds that never run backwards. */
  constructor(limits: readonly RequestLimit[], now: () => number = () => performance.now()) {
    this.#now = now;
    this.#limits = limits.map(({ routes, per, max, windowMs }) => ({
      per,
      matcher: matcherOf(routes),
      buckets: new TokenBuckets({ count: max, perMs: windowMs }),
    }));
  }

  /** Whether a limit counts a request. */
  concerns({ method, url }: Request): boolean {
    const asked = askedOf(method, url);
    return this.#limits.some(({ matcher }) => matches(matcher, asked));
  }

  /** Counts a request. OPTIONS, which the service answers itself, does not count. @throws AppError `rate_limited`. */
  async take(exchange: Exchange): Promise<void> {
    const { method, url } = exchange.request;
    if (method === "OPTIONS") return;
    const asked = askedOf(method, url);
    for (const { per, matcher, buckets } of this.#limits)
      if (matches(matcher, asked)) {
        const caller = await callerOf(exchange, per);
        if (caller !== null) take(buckets, caller, this.#now());
      }
  }
}

/**
 * The caller who counts; null for a request that does not count. A request without a user counts for the address, also with a token
 * that is not valid, which the handler refuses. Per key, only requests with a key count.
 */
async function callerOf(exchange: Exchange, per: RequestLimit["per"]): Promise<string | null> {
  if (per === "address") return exchange.address;
  const bearer = await bearerOf(exchange);
  if (per === "key") return bearer !== null && "scopes" in bearer ? bearer.sessionId : null;
  return exchange.callerKey(bearer);
}

async function bearerOf(exchange: Exchange): Promise<Bearer | null> {
  try {
    return await exchange.principal();
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === "unauthorized") return null;
    throw thrown;
  }
}
