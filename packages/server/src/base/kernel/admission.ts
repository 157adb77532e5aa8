/**
 * Admission: the queue before scarce work. Admission bounds the work at a time, shares the width among callers, and decides the order.
 * Token buckets bound how often a caller may do a thing; nobody waits for a token.
 */
import { AppError, callerGone, retryAfter } from "./app-error.ts";
import { BoundedMap } from "./bounded-map.ts";
import type { LimitName } from "./limits.ts";

export interface AdmissionOptions {
  /** Slots, or bytes, that are taken at a time. */
  readonly width: number;
  /** The part of the width that a caller may have. By default, all. */
  readonly share?: number;
  /** Asks that may wait, of all callers. By default, any number. */
  readonly maxWaiting?: number;
  /** The waiting asks that a caller may have. */
  readonly waitingShare?: number;
  /** An ask that has waited for so many milliseconds is refused. By default, an ask waits for ever. */
  readonly patienceMs?: number;
  /** The bound that a refusal counts for. */
  readonly limit?: LimitName;
  readonly message?: string;
  /** Milliseconds that never run backwards. */
  readonly now?: () => number;
}

/** The work that asks to be admitted. */
export interface Ask {
  /** A user id or an address. Without a caller the share does not count. */
  readonly caller?: string | null;
  /** Slots or bytes that the work takes: 1 by default. Work that is larger than the width runs alone. */
  readonly size?: number;
  /** Aborted when the caller has gone: a waiting ask leaves the queue at once. */
  readonly signal?: AbortSignal | undefined;
  /** For work that may be ended for the sake of others. */
  readonly holder?: Holder;
}

/** Work that holds a place and waits for a client that reads or sends slowly. */
export interface Holder {
  /** How slow the work is at a moment; 0 for work that is not to be ended. The slowest work is ended first. */
  slowness(now: number): number;
  /** Ends the work. The place is free already. */
  end(): void;
}

/** The slots or bytes that admitted work takes. */
export interface Place {
  readonly caller: string | null;
  readonly size: number;
  /** Changes the size, also beyond the bound. */
  resize(size: number): void;
  /** Gives the place back. A second call does nothing. */
  release(): void;
}

/** After this time, half of a caller's use no longer counts. */
const halfLifeMs = 5_000;
/** An ask that waits for so long, of a caller with a last place that began so long ago, goes first. */
const overdueMs = 5_000;
/** A caller that has used less than this time is forgotten. */
const forgottenMs = 1;
/** With more callers than this number, idle callers are forgotten. */
const manyCallers = 1_000;
/** How often slow holders are looked for while others wait. */
const lookMs = 500;

interface Caller {
  readonly key: string | null;
  taken: number;
  places: number;
  waiting: number;
  /** Milliseconds for which the whole width was used, as of `usedAt`; older use counts less. */
  usedMs: number;
  usedAt: number;
  /** When a place of the caller began last. */
  startedAt: number;
}

interface Waiting {
  readonly caller: Caller;
  readonly size: number;
  readonly since: number;
  readonly start: () => void;
}

/**
 * Admits work up to a width, in slots or bytes. The next ask to start is the ask of the caller that has used the least
 * of late: short work overtakes long work, and a caller never keeps all others waiting. New callers cannot keep a
 * caller with some use waiting for ever: after five seconds without a start, the caller's oldest ask goes first. Beyond
 * the bounds of the queue an ask is refused at once.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #share: number;
  readonly #now: () => number;
  readonly #callers = new Map<string | null, Caller>();
  readonly #waiting = new Set<Waiting>();
  readonly #holders = new Map<Place, Holder>();
  #taken = 0;
  #timer: Timer | null = null;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#share = options.share ?? options.width;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Slots or bytes that are taken now. */
  get taken(): number {
    return this.#taken;
  }

  /** Whether an ask waits for a place of others: an ask of a caller with a full share waits for that caller alone. */
  get isWanted(): boolean {
    for (const { caller, size } of this.#waiting)
      if (caller.key === null || fits(caller.taken, size, this.#share)) return true;
    return false;
  }

  /** Whether an ask would be admitted now. */
  has({ caller = null, size = 1 }: Ask): boolean {
    if (!fits(this.#taken, size, this.#options.width)) return false;
    return caller === null || fits(this.#callers.get(caller)?.taken ?? 0, size, this.#share);
  }

  /** Takes a place without waiting, also beyond the bound. */
  hold({ caller = null, size = 1, holder }: Ask): Place {
    return this.#begin(this.#callerOf(caller), size, holder);
  }

  /** @throws AppError as `take`; the errors of `work`. */
  async run<T>(work: () => Promise<T>, ask: Ask = {}): Promise<T> {
    const place = await this.take(ask);
    try {
      return await work();
    } finally {
      place.release();
    }
  }

  /**
   * Starts `work` after the admission, in a separate turn of the event loop: other events are served between two pieces of
   * work. Work that goes on later, on a thread, keeps no place.
   * @throws AppError as `take`; the errors of `work`.
   */
  async inTurn<T>(work: () => T | Promise<T>, ask: Ask): Promise<T> {
    const place = await this.take(ask);
    setImmediate(() => place.release());
    return work();
  }

  /**
   * Waits for a place. Slow holders are ended if the end makes room.
   * @throws AppError `unavailable` when the queue is full or the ask has waited too long; the error of a caller that
   * has gone.
   */
  async take(ask: Ask): Promise<Place> {
    const { caller: key = null, size = 1, signal, holder } = ask;
    if (signal?.aborted === true) throw callerGone();
    if (!this.has(ask)) this.#endSlow(key, size);
    const caller = this.#callerOf(key);
    if (this.has(ask)) return this.#begin(caller, size, holder);
    const { maxWaiting = Number.POSITIVE_INFINITY, waitingShare = maxWaiting } = this.#options;
    if (this.#waiting.size >= maxWaiting || caller.waiting >= waitingShare) throw this.#refusal();
    return this.#wait(caller, ask, this.#options.patienceMs);
  }

  /**
   * Waits for a place for work that has begun before: as long as that takes, and past the bounds of the queue.
   * @throws AppError of a caller that has gone.
   */
  async takeAgain(ask: Ask): Promise<Place> {
    if (ask.signal?.aborted === true) throw callerGone();
    const caller = this.#callerOf(ask.caller ?? null);
    return this.has(ask) ? this.#begin(caller, ask.size ?? 1, ask.holder) : this.#wait(caller, ask, undefined);
  }

  #wait(caller: Caller, { size = 1, signal, holder }: Ask, patienceMs: number | undefined): Promise<Place> {
    if (this.#holders.size > 0) this.#look();
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", leave);
        this.#waiting.delete(entry);
        caller.waiting -= 1;
      };
      const fail = (error: AppError): void => {
        end();
        this.#forgetIdle();
        reject(error);
      };
      const leave = (): void => fail(callerGone());
      const start = (): void => {
        end();
        resolve(this.#begin(caller, size, holder));
      };
      const timer = patienceMs === undefined ? undefined : setTimeout(() => fail(this.#refusal()), patienceMs);
      const entry: Waiting = { caller, size, since: this.#now(), start };
      caller.waiting += 1;
      this.#waiting.add(entry);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  #refusal(): AppError {
    const { limit, message = "Too much waits already; try again in a moment." } = this.#options;
    return new AppError("unavailable", message, { retryAfter, ...(limit !== undefined && { limit }) });
  }

  #begin(caller: Caller, size: number, holder: Holder | undefined): Place {
    let since = this.#now();
    let taken = 0;
    let isHeld = true;
    caller.startedAt = since;
    caller.places += 1;
    const resize = (to: number): void => {
      if (!isHeld || to === taken) return;
      const [now, before] = [this.#now(), taken];
      caller.usedMs = usedAt(caller, now) + ((now - since) * before) / this.#options.width;
      caller.usedAt = since = now;
      caller.taken += to - before;
      this.#taken += to - before;
      taken = to;
      if (to < before) this.#startNext();
    };
    const place: Place = {
      caller: caller.key,
      get size() {
        return taken;
      },
      resize,
      release: () => {
        if (!isHeld) return;
        caller.places -= 1;
        this.#holders.delete(place);
        resize(0);
        isHeld = false;
        this.#forgetIdle();
      },
    };
    if (holder !== undefined) this.#holders.set(place, holder);
    resize(size);
    return place;
  }

  #startNext(): void {
    while (this.#waiting.size > 0) {
      const next = this.#next();
      if (next === undefined) return;
      next.start();
    }
  }

  #next(): Waiting | undefined {
    const { width } = this.#options;
    const now = this.#now();
    let next: Waiting | undefined;
    let leastUsed = Number.POSITIVE_INFINITY;
    for (const entry of this.#waiting) {
      const { caller, size } = entry;
      if (!fits(this.#taken, size, width)) continue;
      if (caller.key !== null && !fits(caller.taken, size, this.#share)) continue;
      // The oldest comes first.
      if (now - Math.max(entry.since, caller.startedAt) > overdueMs) return entry;
      const used = caller.key === null ? 0 : usedAt(caller, now);
      if (used >= leastUsed) continue;
      next = entry;
      leastUsed = used;
    }
    return next;
  }

  /** Ends the slowest holders until an ask fits: the caller's own holders when the caller's share is full. */
  #endSlow(caller: string | null, size: number): void {
    if (this.#holders.size === 0) return;
    const isOwn = fits(this.#taken, size, this.#options.width);
    const now = this.#now();
    const slow = [...this.#holders]
      .filter(([place]) => place.size > 0 && (!isOwn || place.caller === caller))
      .map(([place, holder]) => ({ place, holder, slowness: holder.slowness(now) }))
      .filter(({ slowness }) => slowness > 0)
      .toSorted((a, b) => b.slowness - a.slowness);
    for (const { place, holder } of slow) {
      if (this.has({ caller, size })) return;
      place.release();
      holder.end();
    }
  }

  /** Looks for slow holders as long as others wait. */
  #look(): void {
    this.#timer ??= setInterval(() => {
      for (const { caller, size } of this.#waiting) this.#endSlow(caller.key, size);
      if (this.#waiting.size > 0 || this.#timer === null) return;
      clearInterval(this.#timer);
      this.#timer = null;
    }, lookMs).unref();
  }

  #callerOf(key: string | null): Caller {
    let caller = this.#callers.get(key);
    if (caller === undefined) {
      const startedAt = Number.NEGATIVE_INFINITY;
      caller = { key, taken: 0, places: 0, waiting: 0, usedMs: 0, usedAt: this.#now(), startedAt };
      this.#callers.set(key, caller);
    }
    return caller;
  }

  /** Keeps the memory for callers bounded: callers without work whose use is long ago are forgotten. */
  #forgetIdle(): void {
    if (this.#callers.size < manyCallers) return;
    // With so many callers within seconds, recent use is forgotten, too.
    const isFlood = this.#callers.size >= manyCallers * 4;
    const now = this.#now();
    for (const [key, caller] of this.#callers)
      if (caller.places === 0 && caller.waiting === 0 && (isFlood || usedAt(caller, now) < forgottenMs))
        this.#callers.delete(key);
  }
}

/** A size larger than the bound fits alone. */
function fits(taken: number, size: number, bound: number): boolean {
  return taken === 0 || taken + size <= bound;
}

/** The use of a caller at a moment: older use counts less. */
function usedAt({ usedMs, usedAt: at }: Caller, now: number): number {
  return usedMs === 0 ? 0 : usedMs * 0.5 ** ((now - at) / halfLifeMs);
}

/** How often a thing may happen: `count` times in `perMs` milliseconds. */
export interface Rate {
  readonly count: number;
  readonly perMs: number;
}

/** Callers whose buckets are remembered; the caller that asked longest ago is forgotten first, and has a full bucket then. */
const rememberedCallers = 10_000;

/**
 * Whether the key of an address is of this machine: a proxy, or the owner's own programs. The bounds of an address on
 * registrations, logins and mails do not count this machine; the bounds of an account do.
 */
export function isOwnMachine(address: string): boolean {
  return address === "0:0:0:0::/64" || /^127(?:\.\d+){3}$/.test(address);
}

/** The buckets of one rate, a bucket for each caller. */
export class TokenBuckets {
  readonly #rate: Rate;
  readonly #size: number;
  /** The tokens of each caller, and the time of that number by the clock of the limiter. */
  readonly #buckets = new BoundedMap<string, { tokens: number; at: number }>(rememberedCallers);

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

/** The buckets of a rate that may change while the service runs: the buckets of a changed rate begin full. */
export class BucketsOfRate {
  readonly #rate: () => Rate | null;
  readonly #make: (rate: Rate) => TokenBuckets;
  #made: { readonly rate: Rate; readonly buckets: TokenBuckets } | null = null;

  /**
   * @param rate the rate of the moment, the same object until the rate changes; null for no limit.
   * @param make makes the buckets of a rate.
   */
  constructor(rate: () => Rate | null, make = (made: Rate) => new TokenBuckets(made)) {
    this.#rate = rate;
    this.#make = make;
  }

  /** Null for no limit. */
  get now(): TokenBuckets | null {
    const rate = this.#rate();
    if (this.#made?.rate !== rate) this.#made = rate && { rate, buckets: this.#make(rate) };
    return this.#made?.buckets ?? null;
  }
}
