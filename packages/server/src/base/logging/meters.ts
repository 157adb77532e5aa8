/** Meters: histograms of durations, the counts of requests and of reached bounds, and the lag of the event loop. */
import type { RequestMinute } from "@socle/protocol";
import { LIMITS, type LimitName } from "../kernel/index.ts";
import type { LogFields } from "./entry.ts";
import type { Logger } from "./logger.ts";
import { Repeats } from "./repeats.ts";

/** Upper bounds in milliseconds: from a read in memory to a minute. */
const durationBounds = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000];
/** Upper bounds of the time until an answer, in milliseconds. */
export const latencyBounds = [0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000];
/** Methods that are counted. Any other counts as "other", so that clients cannot add counters. */
const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "other"];
/** From 0xx to 5xx. */
const classes = 6;
const [minuteMs, hourMs] = [60_000, 3_600_000];
const [minutes, hours] = [60, 7 * 24];

export interface HistogramTotals {
  /** Upper bounds in milliseconds, with how many took at most as long. */
  readonly atMost: readonly (readonly [bound: number, count: number])[];
  readonly count: number;
  readonly sumMs: number;
}

/** A histogram as Prometheus defines histograms: how many durations were at most as long as each bound. */
export class Histogram {
  readonly #bounds: readonly number[];
  /** The durations of each bucket; the last bucket is for longer durations than the last bound. */
  readonly #counts: Float64Array;
  #sumMs = 0;

  /** @param bounds upper bounds of the buckets, in milliseconds. */
  constructor(bounds: readonly number[] = durationBounds) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  /** Answers the position of the bucket. */
  observe(ms: number): number {
    let bucket = 0;
    while (bucket < this.#bounds.length && ms > (this.#bounds[bucket] ?? 0)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sumMs += ms;
    return bucket;
  }

  totals(): HistogramTotals {
    let count = 0;
    const atMost = this.#bounds.map((bound, i) => {
      count += this.#counts[i] ?? 0;
      return [bound, count] as const;
    });
    return { atMost, count: count + (this.#counts[this.#bounds.length] ?? 0), sumMs: this.#sumMs };
  }
}

/** The requests of a minute or of an hour. */
interface Slot {
  /** Minutes, or hours, since 1970. */
  readonly at: number;
  requests: number;
  clientErrors: number;
  errors: number;
  /** Requests by bucket of latency. */
  readonly latency: Uint32Array;
}

/** The requests of the last minutes, or hours, as a ring: a slot's place is taken again after a round. */
class RequestRing {
  readonly #unitMs: number;
  readonly #slots: Slot[];

  /** @param unitMs of a slot. */
  constructor(unitMs: number, length: number) {
    this.#unitMs = unitMs;
    this.#slots = Array.from({ length }, () => emptySlot(-1));
  }

  /** @param bucket of the latency. */
  count(status: number, bucket: number): void {
    const at = Math.floor(Date.now() / this.#unitMs);
    const place = at % this.#slots.length;
    let slot = this.#slots[place];
    if (slot?.at !== at) {
      slot = emptySlot(at);
      this.#slots[place] = slot;
    }
    slot.requests += 1;
    if (status >= 500) slot.errors += 1;
    else if (status >= 400) slot.clientErrors += 1;
    slot.latency[bucket] = (slot.latency[bucket] ?? 0) + 1;
  }

  /** Oldest first; the last slot is not over. */
  all(): RequestMinute[] {
    const { length } = this.#slots;
    const now = Math.floor(Date.now() / this.#unitMs);
    return this.#slots.map((_, i) => {
      const at = now - length + 1 + i;
      const kept = this.#slots[at % length];
      const { requests, clientErrors, errors, latency } = kept?.at === at ? kept : emptySlot(at);
      const minute = new Date(at * this.#unitMs).toISOString();
      return { minute, requests, clientErrors, errors, p50: quantile(latency, 0.5), p99: quantile(latency, 0.99) };
    });
  }
}

export class RequestMeter {
  readonly durations = new Histogram(latencyBounds);
  /** The requests of each method by the first digit of the status. */
  readonly #totals = new Map(methods.map((method) => [method, new Float64Array(classes)]));
  /** Tells how many requests are being answered; the server sets this function. */
  inFlight: () => number = () => 0;
  readonly #minutes = new RequestRing(minuteMs, minutes);
  readonly #hours = new RequestRing(hourMs, hours);

  /** @param ms until the answer began. */
  count(method: string, status: number, ms: number): void {
    const bucket = this.countOwn(method, status, ms);
    this.#minutes.count(status, bucket);
    this.#hours.count(status, bucket);
  }

  /** Counts a request of the dashboard: in the totals, and not in the last hour and week, which the dashboard shows. Answers the bucket of the latency. */
  countOwn(method: string, status: number, ms: number): number {
    const digit = Math.floor(status / 100);
    const totals = this.#totals.get(method) ?? this.#totals.get("other");
    if (totals !== undefined) totals[digit] = (totals[digit] ?? 0) + 1;
    return this.durations.observe(ms);
  }

  /** The last hour by minutes, oldest first. */
  lastHour(): RequestMinute[] {
    return this.#minutes.all();
  }

  /** The last seven days by hours, oldest first. */
  lastWeek(): RequestMinute[] {
    return this.#hours.all();
  }

  /** Requests since the start, by method and class of status. */
  totals(): { method: string; status: string; requests: number }[] {
    return [...this.#totals].flatMap(([method, totals]) =>
      [...totals].flatMap((requests, digit) => (requests === 0 ? [] : [{ method, status: `${digit}xx`, requests }])),
    );
  }
}

function emptySlot(at: number): Slot {
  return { at, requests: 0, clientErrors: 0, errors: 0, latency: new Uint32Array(latencyBounds.length + 1) };
}

/** Within a bucket, a value is taken to lie at its rank. Null without values. */
function quantile(latency: Uint32Array, part: number): number | null {
  const all = latency.reduce((sum, n) => sum + n, 0);
  if (all === 0) return null;
  let rank = part * all;
  for (const [i, n] of latency.entries()) {
    const lower = i === 0 ? 0 : (latencyBounds[i - 1] ?? 0);
    const upper = latencyBounds[i] ?? lower;
    if (rank <= n) return Math.round((lower + (upper - lower) * (rank / n)) * 100) / 100;
    rank -= n;
  }
  return latencyBounds.at(-1) ?? null;
}

const lagTickMs = 250;
const lagWindowMs = 10_000;

/** The lag of the event loop: how long the loop was held lately. A timer that comes late measures the lag. */
export class EventLoopLag {
  #recent: { at: number; lag: number }[] = [];

  /** Measures until the signal aborts. */
  constructor(signal: AbortSignal) {
    let due = performance.now() + lagTickMs;
    const timer = setInterval(() => {
      const now = performance.now();
      this.#recent = this.#recent.filter(({ at }) => now - at < lagWindowMs);
      if (now > due) this.#recent.push({ at: now, lag: now - due });
      due = now + lagTickMs;
    }, lagTickMs).unref();
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  /** Milliseconds; the longest within the last ten seconds. */
  longest(): number {
    return Math.max(0, ...this.#recent.map(({ lag }) => lag));
  }
}

/** Counts how often each bound was reached, and logs each bound at most once a minute. */
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
