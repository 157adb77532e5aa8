/** Request meter: counts requests, errors and latency, in total and for each minute of the last hour. */
import type { RequestMinute } from "@socle/protocol";

/** Upper bounds of the histogram's buckets, in milliseconds; the last bucket is for longer times. */
export const latencyBounds = [0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000] as const;
const buckets = latencyBounds.length + 1;
/** Methods that are counted. Any other counts as "other", so that clients cannot add counters. */
const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "other"];
const otherMethod = methods.length - 1;
const methodPositions = new Map(methods.slice(0, -1).map((method, position) => [method, position]));
/** From 0xx to 5xx. */
const classes = 6;
const minuteMs = 60_000;
const minutes = 60;

export class RequestMeter {
  /** The totals by method and first digit of the status. */
  readonly #totals = new Float64Array(methods.length * classes);
  readonly #histogram = new Float64Array(buckets);
  #sumMs = 0;
  #inFlight: () => number = () => 0;
  /** Which minute since 1970 each slot of the ring is about. */
  readonly #minuteOf = new Float64Array(minutes);
  readonly #requests = new Uint32Array(minutes);
  readonly #clientErrors = new Uint32Array(minutes);
  readonly #errors = new Uint32Array(minutes);
  readonly #latency = new Uint32Array(minutes * buckets);

  /** @param ms until the answer began. */
  count(method: string, status: number, ms: number): void {
    const at = this.#slotOf(Math.floor(Date.now() / minuteMs));
    const total = (methodPositions.get(method) ?? otherMethod) * classes + Math.floor(status / 100);
    this.#totals[total] = (this.#totals[total] ?? 0) + 1;
    this.#requests[at] = (this.#requests[at] ?? 0) + 1;
    if (status >= 500) this.#errors[at] = (this.#errors[at] ?? 0) + 1;
    else if (status >= 400) this.#clientErrors[at] = (this.#clientErrors[at] ?? 0) + 1;
    let bucket = 0;
    while (bucket < latencyBounds.length && ms > (latencyBounds[bucket] ?? 0)) bucket += 1;
    this.#histogram[bucket] = (this.#histogram[bucket] ?? 0) + 1;
    this.#latency[at * buckets + bucket] = (this.#latency[at * buckets + bucket] ?? 0) + 1;
    this.#sumMs += ms;
  }

  /** Has `inFlight` tell how many requests are being answered. */
  watch(inFlight: () => number): void {
    this.#inFlight = inFlight;
  }

  /** Requests that are being answered now. */
  get inFlight(): number {
    return this.#inFlight();
  }

  /** The last hour, oldest minute first; the last minute is not over. */
  lastHour(): RequestMinute[] {
    const now = Math.floor(Date.now() / minuteMs);
    return Array.from({ length: minutes }, (_, i) => this.#minute(now - minutes + 1 + i));
  }

  /** Requests since the start, by method and class of status, and their durations. */
  totals(): {
    byClass: { method: string; statusClass: string; requests: number }[];
    /** How many took at most as long as each of `latencyBounds`. */
    atMost: number[];
    requests: number;
    sumMs: number;
  } {
    const byClass = methods.flatMap((method, at) =>
      [...this.#totals.subarray(at * classes, (at + 1) * classes)].flatMap((requests, first) =>
        requests === 0 ? [] : [{ method, statusClass: `${first}xx`, requests }],
      ),
    );
    let requests = 0;
    const cumulated = [...this.#histogram].map((n) => {
      requests += n;
      return requests;
    });
    return { byClass, atMost: cumulated.slice(0, -1), requests, sumMs: this.#sumMs };
  }

  #minute(minute: number): RequestMinute {
    const at = minute % minutes;
    const isKnown = this.#minuteOf[at] === minute;
    const histogram = this.#latency.subarray(at * buckets, (at + 1) * buckets);
    return {
      minute: new Date(minute * minuteMs).toISOString(),
      requests: isKnown ? (this.#requests[at] ?? 0) : 0,
      clientErrors: isKnown ? (this.#clientErrors[at] ?? 0) : 0,
      errors: isKnown ? (this.#errors[at] ?? 0) : 0,
      p50: isKnown ? quantile(histogram, 0.5) : null,
      p99: isKnown ? quantile(histogram, 0.99) : null,
    };
  }

  #slotOf(minute: number): number {
    const at = minute % minutes;
    if (this.#minuteOf[at] !== minute) {
      this.#minuteOf[at] = minute;
      this.#requests[at] = 0;
      this.#clientErrors[at] = 0;
      this.#errors[at] = 0;
      this.#latency.fill(0, at * buckets, (at + 1) * buckets);
    }
    return at;
  }
}

/** Within a bucket, a value is taken to lie at its rank. */
function quantile(histogram: Uint32Array, part: number): number | null {
  const all = histogram.reduce((sum, n) => sum + n, 0);
  if (all === 0) return null;
  let rank = part * all;
  for (const [i, n] of histogram.entries()) {
    const lower = i === 0 ? 0 : (latencyBounds[i - 1] ?? 0);
    const upper = latencyBounds[i] ?? lower;
    if (rank <= n) return Math.round((lower + (upper - lower) * (rank / n)) * 100) / 100;
    rank -= n;
  }
  return latencyBounds.at(-1) ?? null;
}
