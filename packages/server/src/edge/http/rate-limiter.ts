/**
 * Rate limiters of requests, with token buckets: `RateLimiter` for an address and a group of routes (`limits.rate.*`), and
 * `RequestLimiter` for the routes and callers that `limits.requests` names.
 */
import type { Rate, RequestLimit } from "../../base/config/index.ts";
import { AppError, BoundedMap } from "../../base/kernel/index.ts";
import type { Exchange } from "./exchange.ts";
import { decodePart, pathIn } from "./headers.ts";
import { type Methods, mapMethods } from "./router.ts";

const groups = ["register", "login", "refresh", "setup", "upload", "records"] as const;
type RateGroup = (typeof groups)[number];

/** The rates by the keys of the configuration; null for no limit. */
type Rates = { readonly [key in `limits.rate.${RateGroup}`]?: Rate | null };

/** Callers that a group remembers; the caller that asked longest ago is forgotten first, and has a full bucket then. */
const capacity = 10_000;

/** The buckets of one rate, a bucket for each caller. */
class Buckets {
  readonly #rate: Rate;
  /** The tokens of a full bucket. */
  readonly #size: number;
  /** The tokens of each caller, and the time of that number by the clock of the limiter. */
  readonly #buckets = new BoundedMap<string, { tokens: number; at: number }>(capacity);

  constructor(rate: Rate, size: number) {
    this.#rate = rate;
    this.#size = size;
  }

  /** Takes a token of a caller. @throws AppError `rate_limited` for a bucket without a token. */
  take(caller: string, now: number): void {
    const { count, perMs } = this.#rate;
    const bucket = this.#buckets.get(caller) ?? { tokens: this.#size, at: now };
    const tokens = Math.min(this.#size, bucket.tokens + ((now - bucket.at) * count) / perMs);
    const isThere = tokens >= 1;
    this.#buckets.set(caller, { tokens: isThere ? tokens - 1 : tokens, at: now });
    if (isThere) return;
    const retryAfter = Math.max(1, Math.ceil(((1 - tokens) * perMs) / count / 1_000));
    throw new AppError("rate_limited", `Too many requests; try again in ${retryAfter} s.`, {
      limit: "rate",
      retryAfter,
    });
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
      if (rate) this.#buckets.set(group, new Buckets(rate, rate.perMs === 1_000 ? rate.count * 10 : rate.count));
    }
  }

  /** Handlers with requests that count for a group; the same handlers when the group's rate is off. */
  limit(group: RateGroup, methods: Methods): Methods {
    const buckets = this.#buckets.get(group);
    if (buckets === undefined) return methods;
    return mapMethods(methods, (handler) => (exchange) => {
      if (!exchange.isRateCounted) buckets.take(exchange.address, this.#now());
      exchange.isRateCounted = true;
      return handler(exchange);
    });
  }

  /** Counts a request that was let in as so many further requests. */
  charge(group: RateGroup, exchange: Exchange, more: number): void {
    this.#buckets.get(group)?.charge(exchange.address, Math.max(0, more));
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

/** Limits the requests of a user or an address to routes, before a handler runs. */
export class RequestLimiter {
  readonly #limits: readonly { per: RequestLimit["per"]; matcher: Matcher; buckets: Buckets }[];
  readonly #now: () => number;

  /** @param now milliseconds that never run backwards. */
  constructor(limits: readonly RequestLimit[], now: () => number = () => performance.now()) {
    this.#now = now;
    this.#limits = limits.map(({ routes, per, max, windowMs }) => ({
      per,
      matcher: matcherOf(routes),
      buckets: new Buckets({ count: max, perMs: windowMs }, max),
    }));
  }

  /** Counts a request. OPTIONS, which the service answers itself, does not count. @throws AppError `rate_limited`. */
  async take(exchange: Exchange): Promise<void> {
    const { method, url } = exchange.request;
    if (method === "OPTIONS") return;
    const asked = { method: method === "HEAD" ? "GET" : method, parts: partsOf(pathIn(url)) };
    for (const { per, matcher, buckets } of this.#limits)
      if (matches(matcher, asked)) buckets.take(await callerOf(exchange, per), this.#now());
  }
}

/** The user, or the address of a request without a user: also with a token that is not valid, which the handler refuses. */
async function callerOf(exchange: Exchange, per: RequestLimit["per"]): Promise<string> {
  const user = per === "user" ? await userOf(exchange) : null;
  return user ?? exchange.address;
}

async function userOf(exchange: Exchange): Promise<string | null> {
  try {
    return (await exchange.principal())?.userId ?? null;
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === "unauthorized") return null;
    throw thrown;
  }
}
