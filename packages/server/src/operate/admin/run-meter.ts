/** The meter of runs, by the events of functions and jobs: how runs ended, how long runs took, when a job last completed. */
import { BoundedMap } from "../../base/kernel/index.ts";
import { Histogram } from "../../base/logging/index.ts";
import type { EventLog, LoggedEvent } from "../../store/events/index.ts";

/** Jobs with a remembered last success. */
const maxJobs = 1_000;

const types = ["function.completed", "function.failed", "job.completed", "job.failed"];

export class RunMeter {
  readonly durations = { function: new Histogram(), job: new Histogram() };
  /** Runs that have ended, by the type of event. */
  readonly ended = new Map<string, number>(types.map((type) => [type, 0]));
  /** When jobs last completed since the start, in milliseconds since 1970. */
  readonly lastSuccess = new BoundedMap<string, number>(maxJobs);

  constructor(events: EventLog) {
    events.listen((event) => this.#hear(event), new Set(types));
  }

  #hear({ type, source, payload, timestamp }: LoggedEvent): void {
    this.ended.set(type, (this.ended.get(type) ?? 0) + 1);
    const { durationMs, name } = payload;
    if (typeof durationMs === "number") this.durations[source === "jobs" ? "job" : "function"].observe(durationMs);
    if (type === "job.completed" && typeof name === "string") this.lastSuccess.set(name, Date.parse(timestamp));
  }
}
