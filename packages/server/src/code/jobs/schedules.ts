/**
 * Schedules: the due times of work that runs by the clock, of jobs and of backups. A single alarm waits for the earliest
 * time. Schedules notice that the machine's clock was set back.
 */
import type { Alarm, Clock } from "../../base/kernel/index.ts";
import { nextTime, type ScheduledJob } from "./job-file.ts";

/** A smaller correction of the clock is not followed: no job runs twice after a correction. */
const correctionMs = 5_000;

export interface Scheduled<J> {
  readonly job: J;
  /** The time at which the job is due, in milliseconds since 1970. */
  due: number;
  /** Whether the due time passed before the job was given to the schedules. */
  isMissed: boolean;
}

interface SchedulesOptions<J> {
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called with the job and the next due time. */
  readonly onDue: (scheduled: Readonly<Scheduled<J>>) => void;
  /** Called when the clock was set back. */
  readonly onCorrection?: () => void;
}

export class Schedules<J extends Pick<ScheduledJob, "name" | "schedule" | "timezone">> {
  readonly #options: SchedulesOptions<J>;
  #jobs: readonly Scheduled<J>[] = [];
  #alarm: Alarm | null = null;
  #isStarted = false;
  /** The last look at the clock: its time, and that of `performance.now()`, which no step of the clock changes. */
  #lastLook = { at: 0, steady: 0 };

  constructor(options: SchedulesOptions<J>) {
    this.#options = options;
  }

  /** Every job with the next time. */
  list(): readonly Readonly<Scheduled<J>>[] {
    return this.#jobs;
  }

  start(): void {
    this.#isStarted = true;
    this.#arm();
  }

  stop(): void {
    this.#isStarted = false;
    this.#alarm?.cancel();
  }

  /**
   * Replaces all jobs. A job with the same schedule as before is due as before.
   * @param recorded due times by name: a new job with a due time that has passed is due at once, for once
   */
  use(jobs: readonly J[], recorded: ReadonlyMap<string, number> = new Map()): void {
    // Before the replacement: a new job has missed no time.
    this.look();
    const before = this.#jobs;
    this.#jobs = jobs.flatMap((job) => {
      const same = before.find(
        (each) =>
          each.job.name === job.name && each.job.schedule === job.schedule && each.job.timezone === job.timezone,
      );
      if (same !== undefined) return [{ ...same, job }];
      const now = this.#options.now();
      const past = recorded.get(job.name) ?? Number.POSITIVE_INFINITY;
      const isMissed = past <= now;
      const due = isMissed ? past : nextTime(job, now);
      return due === null ? [] : [{ job, due, isMissed }];
    });
    this.#arm();
  }

  /** Looks at the clock. After a correction, jobs are due at all scheduled times since the corrected time of the last look. */
  look(): void {
    const [at, steady] = [this.#options.now(), performance.now()];
    const corrected = at - (steady - this.#lastLook.steady);
    const wasSetBack = this.#lastLook.at - corrected > correctionMs;
    this.#lastLook = { at, steady };
    if (!wasSetBack) return;
    for (const scheduled of this.#jobs)
      scheduled.due = Math.min(scheduled.due, nextTime(scheduled.job, corrected) ?? Number.POSITIVE_INFINITY);
    this.#options.onCorrection?.();
  }

  #arm(): void {
    this.#alarm?.cancel();
    if (!this.#isStarted || this.#jobs.length === 0) return;
    const next = Math.min(...this.#jobs.map(({ due }) => due));
    const { clock, now } = this.#options;
    this.#alarm = clock.lookAfter(Math.max(0, next - now()), () => this.#wake());
  }

  #wake(): void {
    this.look();
    const now = this.#options.now();
    for (const scheduled of this.#jobs) {
      if (scheduled.due > now) continue;
      // From now, not from the due time: a single run makes up for all times that the machine has slept through.
      scheduled.due = nextTime(scheduled.job, now) ?? Number.POSITIVE_INFINITY;
      this.#options.onDue(scheduled);
      scheduled.isMissed = false;
    }
    this.#arm();
  }
}
