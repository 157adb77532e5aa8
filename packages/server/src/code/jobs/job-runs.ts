/** The runs of jobs: how their states are written to the table and the history, and announced (spec, "Events"). */

import { actingFor, type Clock, type System } from "../../base/kernel/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import { type HandlerRun, linear, type Postponement, type RunStore } from "../runs/index.ts";
import type { JobHistory } from "./history-table.ts";
import { type JobDefinition, jobHandler } from "./job-file.ts";
import type { JobInput, JobTable } from "./job-table.ts";

/** A run of a job. */
export interface JobRun extends HandlerRun {
  readonly job: JobDefinition;
  /** The id of the run's row; null before the first attempt of a run by hand. */
  id: number | null;
  /** The start of the first attempt, in milliseconds since 1970. */
  readonly firstAt: number;
  /** The start of this attempt. */
  readonly startedAt: number;
  readonly principal: System;
  readonly isByHand: boolean;
}

/** @param run `id` is null for a run by hand, which has a single attempt. */
export function jobRun(
  job: JobDefinition,
  run: Pick<JobRun, "id" | "runId" | "failures" | "firstAt" | "startedAt">,
  { actor, depth }: Pick<JobInput, "actor" | "depth">,
): JobRun {
  const isByHand = run.id === null;
  const policy = isByHand ? linear(0) : job.policy;
  const { id, runId, failures, firstAt, startedAt } = run;
  const principal = actingFor(actor, depth, [`${job.path}:${jobHandler}`]);
  return { id, runId, failures, firstAt, startedAt, policy, label: `The job ${job.name}`, job, principal, isByHand };
}

/** A step of a run that is announced as an event. */
interface Step {
  readonly step: "started" | "completed" | "failed";
  /** Null while the run is not over. */
  readonly durationMs: number | null;
  readonly error?: string;
}

/**
 * The history has the attempts of schedules from their begin on, so that an attempt which the end of the service cut off is
 * known; the many attempts of queues from their end on.
 */
export class JobRuns implements RunStore<JobRun> {
  readonly #table: JobTable;
  readonly #history: JobHistory;
  readonly #events: EventLog;
  readonly #clock: Clock;

  constructor(options: { table: JobTable; history: JobHistory; events: EventLog; clock: Clock }) {
    this.#table = options.table;
    this.#history = options.history;
    this.#events = options.events;
    this.#clock = options.clock;
  }

  begin(run: JobRun): ((tx: Transactor) => unknown) | null {
    const { job, runId, firstAt, startedAt, failures, isByHand } = run;
    if (job.kind === "queue" && failures > 0) return null;
    const started: Step = { step: "started", durationMs: null };
    return (tx) => {
      const input = { payload: null, actor: null, depth: 0 };
      if (isByHand) run.id = this.#table.add(tx, job, { runId, firstAt, key: null, notBefore: 0, ...input, isByHand });
      if (job.kind === "schedule")
        this.#history.begin(tx, { runId, job: job.name, attempt: failures + 1, startedAt, isByHand });
      return failures === 0 ? this.#announce(tx, run, started) : undefined;
    };
  }

  complete(tx: Transactor, run: JobRun, durationMs: number): unknown {
    this.#endAttempt(tx, run, null);
    this.#table.remove(tx, run.id ?? 0, run.job);
    return this.#announce(tx, run, { step: "completed", durationMs });
  }

  postpone(tx: Transactor, run: JobRun, { error, next }: { error: string; next: Postponement }): void {
    this.#endAttempt(tx, run, error);
    this.#table.postpone(tx, run.id ?? 0, next);
  }

  fail(tx: Transactor, run: JobRun, { error, durationMs }: { error: string; durationMs: number }): unknown {
    this.#endAttempt(tx, run, error);
    const { id, job } = run;
    if (job.kind === "queue") this.#table.fail(tx, id ?? 0, { path: job.path, at: this.#clock.now(), error });
    else this.#table.remove(tx, id ?? 0, job);
    return this.#announce(tx, run, { step: "failed", durationMs, error });
  }

  failLate(tx: Transactor, run: JobRun, error: string): unknown {
    const { runId, failures } = run;
    this.#history.endAttempt(tx, { runId, attempt: failures + 1, endedAt: this.#clock.now(), error });
    return this.#announce(tx, run, { step: "failed", durationMs: null, error });
  }

  /** The run has failed without another attempt, because the options of the job allow no further attempt. */
  giveUp(tx: Transactor, run: JobRun, error: string): unknown {
    this.#table.remove(tx, run.id ?? 0, run.job);
    return this.#announce(tx, { ...run, failures: run.failures - 1 }, { step: "failed", durationMs: 0, error });
  }

  /** A run of a queue waits until its file is loaded again. */
  errorWithoutFile({ job }: JobRun): string | null {
    return job.kind === "queue" ? null : `${job.path} is not there, or not loaded`;
  }

  #endAttempt(tx: Transactor, { runId, job, failures, startedAt }: JobRun, error: string | null): void {
    const end = { runId, attempt: failures + 1, endedAt: this.#clock.now(), error };
    if (job.kind === "queue") this.#history.add(tx, { ...end, job: job.name, startedAt });
    else this.#history.endAttempt(tx, end);
  }

  /** `job.started`, `.completed`, `.failed`, once for each run. The duration is that of the last attempt of a queue's run, and of all of a schedule's. */
  #announce(tx: Transactor, run: JobRun, { step, durationMs: lastMs, error }: Step): unknown {
    const { job, runId, failures, firstAt, principal } = run;
    const durationMs = job.kind === "queue" || step === "started" ? lastMs : Math.max(0, this.#clock.now() - firstAt);
    const payload = {
      name: job.name,
      filePath: job.path,
      schedule: job.schedule,
      runId,
      attempt: failures + 1,
      ...(durationMs === null ? {} : { durationMs }),
      ...(error === undefined ? {} : { error }),
    };
    return this.#events.append(tx, { type: `job.${step}`, source: "jobs", payload, principal });
  }
}
