/**
 * A histogram of durations, as Prometheus defines histograms: how many durations were at most as long as each bound.
 */

/** Upper bounds in milliseconds: from a read in memory to a minute. */
const bounds = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000] as const;

export interface HistogramTotals {
  /** Upper bounds in milliseconds, with how many took at most as long. */
  readonly atMost: readonly (readonly [bound: number, count: number])[];
  readonly count: number;
  readonly sumMs: number;
}

export class Histogram {
  readonly #buckets = new Float64Array(bounds.length + 1);
  #sumMs = 0;

  observe(ms: number): void {
    let bucket = 0;
    while (bucket < bounds.length && ms > (bounds[bucket] ?? 0)) bucket += 1;
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#sumMs += ms;
  }

  totals(): HistogramTotals {
    let count = 0;
    const atMost = bounds.map((bound, i) => {
      count += this.#buckets[i] ?? 0;
      return [bound, count] as const;
    });
    return { atMost, count: count + (this.#buckets[bounds.length] ?? 0), sumMs: this.#sumMs };
  }
}
