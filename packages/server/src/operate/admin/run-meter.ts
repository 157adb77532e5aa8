/**
 * Runs of functions and jobs, counted from their events: how the runs ended, how long the runs took, when a job last
 * completed.
 */
import { BoundedMap } from "../../base/kernel/index.ts";
import { Histogram, type HistogramTotals } from "../../base/logging/index.ts";
import type { EventLog, LoggedEvent } from "../../store/events/index.ts";

/** Jobs whose last success is remembered. */
const maxJobs = 1_000;

const kinds = ["function", "job"] as const;
const ends = ["completed", "failed"] as const;

export class RunMeter {
  readonly #durations = { function: new Histogram(), job: new Histogram() };
  readonly #ended = new Map<string, number>(kinds.flatMap((kind) => ends.map((end) => [`${kind}.${end}`, 0])));
  readonly #lastSuccess = new BoundedMap<string, number>(maxJobs);

  constructor(events: EventLog) {
    events.listen((event) => this.#hear(event), new Set(this.#ended.keys()));
  }

  ended(): readonly (readonly [labels: { kind: string; status: string }, runs: number])[] {
    return [...this.#ended].map(([type, runs]) => {
      const [kind = "", status = ""] = type.split(".");
      return [{ kind, status }, runs] as const;
    });
  }

  durations(): readonly (readonly [labels: { kind: string }, totals: HistogramTotals])[] {
    return kinds.map((kind) => [{ kind }, this.#durations[kind].totals()] as const);
  }

  /** When a job last completed, in milliseconds since 1970; null for a job that has not completed since the start. */
  lastSuccess(job: string): number | null {
    return this.#lastSuccess.get(job) ?? null;
  }

  #hear(event: LoggedEvent): void {
    this.#ended.set(event.type, (this.#ended.get(event.type) ?? 0) + 1);
    const { durationMs, name } = event.payload;
    const kind = event.source === "jobs" ? "job" : "function";
    if (typeof durationMs === "number") this.#durations[kind].observe(durationMs);
    if (event.type === "job.completed" && typeof name === "string")
      this.#lastSuccess.set(name, Date.parse(event.timestamp));
  }
}
