/** The runs of jobs: how their states are written to the queue and the history, and announced. */
import type { Transactor } from "../database/index.ts";
import type { EventLog } from "../events/index.ts";
import type { Awaitable, Clock } from "../kernel/index.ts";
import { linear, type Postponement, type Run, type RunStore } from "../runs/index.ts";
import type { JobHistory } from "./history-table.ts";
import { type JobStep, jobEvent } from "./job-events.ts";
import type { JobQueue } from "./job-queue-table.ts";
import type { Job } from "./schedule.ts";

/** A run of a job. */
export interface JobRunState extends Run {
  readonly job: Job;
  /** The start of the first attempt, in milliseconds since 1970. */
  readonly firstAt: number;
  readonly isByHand: boolean;
}

/** The name of the export that is a job's handler. */
export const jobHandler = "default";

export function jobRun(
  job: Job,
  run: { readonly runId: string; readonly firstAt: number; readonly failures?: number; readonly isByHand?: boolean },
): JobRunState {
  const { runId, firstAt, failures = 0, isByHand = false } = run;
  const policy = linear(isByHand ? 0 : job.retries);
  return { runId, failures, policy, label: `The job ${job.name}`, job, firstAt, isByHand };
}

export class JobRuns implements RunStore<JobRunState> {
  readonly #history: JobHistory;
  readonly #queue: JobQueue;
  readonly #events: EventLog;
  readonly #clock: Clock;

  constructor(options: { history: JobHistory; queue: JobQueue; events: EventLog; clock: Clock }) {
    this.#history = options.history;
    this.#queue = options.queue;
    this.#events = options.events;
    this.#clock = options.clock;
  }

  begin(run: JobRunState): (tx: Transactor) => Promise<void> {
    const { runId, job, firstAt, isByHand, failures } = run;
    const attempt = failures + 1;
    const startedAt = this.#clock.now();
    return async (tx) => {
      if (attempt === 1) await this.#queue.add(tx, { path: job.path, handler: jobHandler, runId, firstAt, isByHand });
      await this.#history.begin(tx, { runId, job: job.name, attempt, startedAt, isByHand });
      if (attempt === 1) await this.#announce(tx, run, { step: "started", attempt });
    };
  }

  async complete(tx: Transactor, run: JobRunState): Promise<void> {
    await this.#endAttempt(tx, run, null);
    await this.#queue.remove(tx, run.runId);
    await this.#announce(tx, run, { step: "completed", attempt: run.failures + 1 });
  }

  async postpone(tx: Transactor, run: JobRunState, end: { error: string; next: Postponement }): Promise<void> {
    await this.#endAttempt(tx, run, end.error);
    await this.#queue.postpone(tx, run.runId, end.next);
  }

  async fail(tx: Transactor, run: JobRunState, { error }: { error: string }): Promise<void> {
    await this.failLate(tx, run, error);
    await this.#queue.remove(tx, run.runId);
  }

  async failLate(tx: Transactor, run: JobRunState, error: string): Promise<void> {
    await this.#endAttempt(tx, run, error);
    await this.#announce(tx, run, { step: "failed", attempt: run.failures + 1, error });
  }

  /** The run has failed without another attempt, because the options of the job allow none any more. */
  async giveUp(tx: Transactor, run: JobRunState, error: string): Promise<void> {
    await this.#queue.remove(tx, run.runId);
    await this.#announce(tx, run, { step: "failed", attempt: run.failures, error });
  }

  errorWithoutFile({ job }: JobRunState): string {
    return `${job.path} is not there, or not loaded`;
  }

  #endAttempt(tx: Transactor, { runId, failures }: JobRunState, error: string | null): Awaitable<unknown> {
    return this.#history.end(tx, { runId, attempt: failures + 1, endedAt: this.#clock.now(), error });
  }

  #announce(
    tx: Transactor,
    { runId, job, firstAt }: JobRunState,
    { step, attempt, error }: { step: JobStep; attempt: number; error?: string },
  ): Awaitable<unknown> {
    const durationMs = step === "started" ? null : Math.max(0, this.#clock.now() - firstAt);
    return this.#events.append(tx, jobEvent(step, job, { runId, attempt, durationMs, error, principal: null }));
  }
}
