/** The runs of queues: how their states are written and announced. */
import type { Transactor } from "../database/index.ts";
import type { EventLog } from "../events/index.ts";
import { type Awaitable, actingFor, type Clock, type System } from "../kernel/index.ts";
import type { Postponement, Run, RunStore } from "../runs/index.ts";
import type { JobHistory } from "./history-table.ts";
import { type JobStep, jobEvent } from "./job-events.ts";
import type { QueueJob } from "./queue-definition.ts";
import type { QueueHead, QueueTable } from "./queue-table.ts";

/** A run of a queue. */
export interface QueueRunState extends Run {
  readonly queue: QueueJob;
  readonly head: QueueHead;
  /** The start of the attempt, in milliseconds since 1970. */
  readonly startedAt: number;
  readonly principal: System;
}

export function queueRun(
  queue: QueueJob,
  head: QueueHead,
  by: { startedAt: number; actor: string | null; depth: number },
): QueueRunState {
  const { runId, failures } = head;
  const principal = actingFor(by.actor, by.depth, [`${queue.path}:default`]);
  const label = `The job ${queue.name}`;
  return { runId, failures, policy: queue.policy, label, queue, head, startedAt: by.startedAt, principal };
}

export class QueueRuns implements RunStore<QueueRunState> {
  readonly #table: QueueTable;
  readonly #history: JobHistory;
  readonly #events: EventLog;
  readonly #clock: Clock;

  constructor(options: { table: QueueTable; history: JobHistory; events: EventLog; clock: Clock }) {
    this.#table = options.table;
    this.#history = options.history;
    this.#events = options.events;
    this.#clock = options.clock;
  }

  begin(run: QueueRunState): ((tx: Transactor) => Awaitable<unknown>) | null {
    return run.failures > 0 ? null : (tx) => this.#announce(tx, run, { step: "started", durationMs: null });
  }

  async complete(tx: Transactor, run: QueueRunState, durationMs: number): Promise<void> {
    await this.#note(tx, run, null);
    await this.#table.remove(tx, run.head.id, run.queue.path);
    await this.#announce(tx, run, { step: "completed", durationMs });
  }

  async postpone(tx: Transactor, run: QueueRunState, end: { error: string; next: Postponement }): Promise<void> {
    await this.#note(tx, run, end.error);
    await this.#table.postpone(tx, run.head.id, end.next);
  }

  async fail(tx: Transactor, run: QueueRunState, end: { error: string; durationMs: number }): Promise<void> {
    const { error, durationMs } = end;
    await this.#note(tx, run, error);
    await this.#table.fail(tx, run.head.id, { path: run.queue.path, at: this.#clock.now(), error });
    await this.#announce(tx, run, { step: "failed", durationMs, error });
  }

  async failLate(tx: Transactor, run: QueueRunState, error: string): Promise<void> {
    const { runId, failures } = run;
    await this.#history.end(tx, { runId, attempt: failures + 1, endedAt: this.#clock.now(), error });
    await this.#announce(tx, run, { step: "failed", durationMs: null, error });
  }

  /** A run waits until its file is loaded again. */
  errorWithoutFile(): null {
    return null;
  }

  #note(tx: Transactor, run: QueueRunState, error: string | null): Awaitable<unknown> {
    const { runId, queue, failures, startedAt } = run;
    const endedAt = this.#clock.now();
    return this.#history.add(tx, { runId, job: queue.name, attempt: failures + 1, startedAt, endedAt, error });
  }

  #announce(
    tx: Transactor,
    { queue: { name, path }, runId, failures, principal }: QueueRunState,
    { step, durationMs, error }: { step: JobStep; durationMs: number | null; error?: string },
  ): Awaitable<unknown> {
    const run = { runId, attempt: failures + 1, durationMs, error, principal };
    return this.#events.append(tx, jobEvent(step, { name, path, schedule: null }, run));
  }
}
