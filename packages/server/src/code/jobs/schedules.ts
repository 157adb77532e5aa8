/** Schedules: the due times of jobs that run by the clock. A single alarm waits for the earliest time. */
import type { Alarm, Clock } from "../../base/kernel/index.ts";
import { nextTime, type ScheduledJob } from "./job-file.ts";

export interface Scheduled {
  readonly job: ScheduledJob;
  /** The time at which the job is due, in milliseconds since 1970. */
  due: number;
}

interface SchedulesOptions {
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onDue: (job: ScheduledJob) => void;
  /** Called before each look at the clock. */
  readonly onLook: () => void;
}

export class Schedules {
  readonly #options: SchedulesOptions;
  #jobs: readonly Scheduled[] = [];
  #alarm: Alarm | null = null;
  #isStarted = false;

  constructor(options: SchedulesOptions) {
    this.#options = options;
  }

  /** Every job with its next time. */
  list(): readonly Readonly<Scheduled>[] {
    return this.#jobs;
  }

  /** Jobs are due from now on. */
  start(): void {
    this.#isStarted = true;
    this.#arm();
  }

  stop(): void {
    this.#isStarted = false;
    this.#alarm?.cancel();
  }

  /** Replaces all jobs. A job with the same schedule as before is due as before. */
  use(jobs: readonly ScheduledJob[]): void {
    const before = this.#jobs;
    this.#jobs = jobs.flatMap((job) => {
      const same = before.find(
        (each) =>
          each.job.name === job.name && each.job.schedule === job.schedule && each.job.timezone === job.timezone,
      );
      const due = same?.due ?? nextTime(job, this.#options.now());
      return due === null ? [] : [{ job, due }];
    });
    this.#arm();
  }

  /** The clock was set back: jobs are due at each of their times since the corrected time of the last look. */
  followBack(corrected: number): void {
    for (const scheduled of this.#jobs)
      scheduled.due = Math.min(scheduled.due, nextTime(scheduled.job, corrected) ?? Number.POSITIVE_INFINITY);
  }

  #arm(): void {
    this.#alarm?.cancel();
    if (!this.#isStarted || this.#jobs.length === 0) return;
    const next = Math.min(...this.#jobs.map(({ due }) => due));
    const { clock, now } = this.#options;
    this.#alarm = clock.lookAfter(Math.max(0, next - now()), () => this.#wake());
  }

  #wake(): void {
    this.#options.onLook();
    const now = this.#options.now();
    for (const scheduled of this.#jobs) {
      if (scheduled.due > now) continue;
      this.#options.onDue(scheduled.job);
      // From now, not from the due time: a single run makes up for all times that the machine has slept through.
      scheduled.due = nextTime(scheduled.job, now) ?? Number.POSITIVE_INFINITY;
    }
    this.#arm();
  }
}
