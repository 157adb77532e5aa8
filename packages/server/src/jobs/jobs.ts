/**
 * Jobs: handlers that run by the clock (spec, "Jobs"), or once for each payload that their queue is given (queues.ts).
 * Times that pass while the service is down are not made up for; a run that the end of the service has interrupted is tried
 * again like one that has failed.
 */
import type { Auth } from "../auth/index.ts";
import type { Database } from "../database/index.ts";
import type { EventLog } from "../events/index.ts";
import { type Alarm, AppError, type Clock, newId, system } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { type AttemptEnd, linear, type Postponement, RunLifeCycle, RunLog } from "../runs/index.ts";
import type { BrokenScript, Lane, Script, ScriptKind, ScriptOutcome, ScriptTask } from "../script-host/index.ts";
import { JobHistory, type JobRunEntry } from "./history-table.ts";
import { JobQueue } from "./job-queue-table.ts";
import { type JobRunState, JobRuns, jobHandler, jobRun } from "./job-runs.ts";
import { type QueueJob, queueOf } from "./queue-definition.ts";
import { Queues } from "./queues.ts";
import { type Job, jobOf, nextTime } from "./schedule.ts";

/** The longest pause between attempts, should the clock have been set back since it was decided. */
const longestPauseMs = 600_000;
/** The correction of the clock, backwards, from which on schedules follow it: after a smaller one no job runs twice. */
const correctionMs = 5_000;

export interface JobsOptions {
  readonly database: Database;
  readonly events: EventLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timeoutMs: number;
  readonly auth: Auth;
  readonly processes: number;
  /** Bounds of queues (see `QueuesOptions`). */
  readonly maxRuns: number;
  readonly maxPayload: number;
  /** Calls a handler in a script process. */
  readonly run: (task: ScriptTask) => Promise<ScriptOutcome>;
  /** The time by which jobs are due, in milliseconds since 1970; the machine's, except in tests. */
  readonly now?: () => number;
}

interface Scheduled {
  readonly job: Job;
  /** The time at which it is due, in milliseconds since 1970. */
  due: number;
}

export class Jobs implements ScriptKind {
  readonly folder = "jobs";
  readonly firstLane = "runs";
  readonly queues: Queues;
  readonly #options: JobsOptions;
  readonly #now: () => number;
  readonly #history: JobHistory;
  readonly #queue: JobQueue;
  readonly #runs: JobRuns;
  readonly #runLog: RunLog;
  readonly #lifeCycle: RunLifeCycle<JobRunState>;
  /** By name. */
  #scheduled = new Map<string, Scheduled>();
  /** The runs that this process has under way, by id: they run, or wait for another attempt. The name of the job. */
  readonly #open = new Map<string, string>();
  /** By run, those that wait for another attempt. */
  readonly #waiting = new Map<string, Alarm>();
  readonly #attempts = new Set<Promise<unknown>>();
  #alarm: Alarm | null = null;
  /** The time at which the schedules were looked at last. */
  #lookedAt = 0;
  #isStarted = false;
  #isStopped = false;

  constructor(options: JobsOptions) {
    const { database, logger, run: call } = options;
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#history = new JobHistory(database);
    this.#queue = new JobQueue(database);
    this.#runs = new JobRuns({ ...options, history: this.#history, queue: this.#queue });
    this.queues = new Queues({ ...options, history: this.#history, jobQueue: this.#queue, now: this.#now });
    this.#runLog = new RunLog(database, logger);
    this.#lifeCycle = new RunLifeCycle({ store: this.#runs, log: this.#runLog, logger, call, now: this.#now });
  }

  /** Takes up the runs that the last process has left. Jobs are due from now on. To be called once. */
  async start(): Promise<void> {
    const notBefore = this.#now() + linear(1).pauseMs(1);
    const end = { endedAt: this.#options.clock.now(), error: "The service ended while it ran" };
    await this.#runLog.write("start", async (tx) =>
      this.#queue.interrupted(tx, await this.#history.interrupted(tx, end), notBefore),
    );
    this.#isStarted = true;
    await this.#resume();
    this.#arm();
    await this.queues.start();
  }

  lanesOf(): readonly Lane[] {
    return ["runs"];
  }

  check(script: Script): void {
    checkJob(script, this.#options.timeoutMs);
  }

  async use(scripts: readonly Script[], broken: readonly BrokenScript[]): Promise<void> {
    const { timeoutMs } = this.#options;
    this.#schedule(scripts.filter((script) => !isQueue(script)).map((script) => jobOf(script, timeoutMs)));
    if (this.#isStarted) await this.#resume();
    this.#arm();
    const queues = scripts.filter(isQueue).map((script): QueueJob => queueOf(script, timeoutMs));
    await this.queues.use(
      queues,
      broken.map(({ file }) => file.path),
    );
  }

  #schedule(jobs: readonly Job[]): void {
    const now = this.#now();
    const scheduled = new Map<string, Scheduled>();
    for (const job of jobs) {
      const before = this.#scheduled.get(job.name);
      const isSame = before?.job.schedule === job.schedule && before.job.timezone === job.timezone;
      const due = isSame ? before.due : nextTime(job, now);
      if (due !== null) scheduled.set(job.name, { job, due });
    }
    this.#scheduled = scheduled;
  }

  /** Takes up the runs that wait for another attempt. Those whose file is not loaded go on waiting in the table. */
  async #resume(): Promise<void> {
    const jobs = new Map([...this.#scheduled.values()].map(({ job }) => [job.path, job]));
    for (const { runId, path, failures, notBefore, firstAt } of await this.#queue.open()) {
      const job = jobs.get(path);
      if (job === undefined || this.#open.has(runId)) continue;
      this.#wait(jobRun(job, { runId, firstAt }), { failures, notBefore });
    }
  }

  /** The names of all jobs, of queues too. */
  names(): string[] {
    return [...this.#scheduled.keys(), ...this.queues.list().map(({ name }) => name)];
  }

  /** @throws AppError `bad_request` for the name of a queue: without a payload there is nothing to run. */
  refuseQueue(name: string): void {
    if (this.queues.list().some((queue) => queue.name === name))
      throw new AppError(
        "bad_request",
        `${name} is a queue: it runs what is enqueued (POST /api/admin/jobs/${name}/enqueue).`,
      );
  }

  /** Every job that runs by the clock, by name, with the time at which it is due next (milliseconds since 1970). */
  list(): readonly Readonly<Scheduled>[] {
    return [...this.#scheduled.values()];
  }

  /** The attempts of a job, newest first. */
  runs(name: string): Promise<JobRunEntry[]> {
    return this.#history.list(name);
  }

  /** The newest attempt of the newest run, of a queue the one that ended last; null when there was none. */
  lastRun(name: string): Promise<JobRunEntry | null> {
    const isQueued = this.queues.list().some((queue) => queue.name === name);
    return isQueued ? this.#history.newest(name) : this.#history.last(name);
  }

  /**
   * Runs a job now, with one attempt. Answers the id of the run, a promise of whether it is noted on disk, and its outcome;
   * undefined for an unknown job.
   */
  runByHand(
    name: string,
    onLog?: ScriptTask["onLog"],
  ): { runId: string; noted: Promise<boolean>; outcome: Promise<ScriptOutcome> } | undefined {
    const job = this.#scheduled.get(name)?.job;
    if (job === undefined) return undefined;
    const run = jobRun(job, { ...this.#newRun(), isByHand: true });
    return { runId: run.runId, ...this.#attempt(run, onLog) };
  }

  /** Starts no more runs. Resolves when none is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#alarm?.cancel();
    for (const alarm of this.#waiting.values()) alarm.cancel();
    await Promise.all([...this.#attempts, this.queues.stop()]);
  }

  /** Whether a run is due or under way. Runs that wait for a later time do not count. */
  get isBusy(): boolean {
    return this.#attempts.size > 0 || this.queues.isBusy;
  }

  /** Resolves when everything about runs is written. */
  async settled(): Promise<void> {
    await Promise.all([this.#runLog.settled(), this.queues.settled()]);
  }

  /** Sets the alarm for the next job that is due. */
  #arm(): void {
    this.#alarm?.cancel();
    if (!this.#isStarted || this.#isStopped || this.#scheduled.size === 0) return;
    const now = this.#now();
    if (now < this.#lookedAt - correctionMs) this.#followBack(now);
    this.#lookedAt = now;
    const next = Math.min(...[...this.#scheduled.values()].map(({ due }) => due));
    this.#alarm = this.#options.clock.lookAfter(Math.max(0, next - now), () => this.#wake());
  }

  /** The clock was set back. Jobs that are due by the earlier clock would else not run for as long as it was ahead. */
  #followBack(now: number): void {
    for (const scheduled of this.#scheduled.values())
      scheduled.due = Math.min(scheduled.due, nextTime(scheduled.job, now) ?? Number.POSITIVE_INFINITY);
  }

  #wake(): void {
    const now = this.#now();
    for (const scheduled of this.#scheduled.values()) {
      if (scheduled.due > now) continue;
      this.#startDue(scheduled.job);
      // From now, not from when it was due: one run makes up for all times that the machine has slept through.
      scheduled.due = nextTime(scheduled.job, now) ?? Number.POSITIVE_INFINITY;
    }
    this.#arm();
  }

  #startDue(job: Job): void {
    if (!job.overlap && [...this.#open.values()].includes(job.name)) {
      this.#options.logger.warn(`The job ${job.name} is due, but its last run is not over; this one is skipped`);
      return;
    }
    this.#attempt(jobRun(job, this.#newRun()));
  }

  #newRun(): { runId: string; firstAt: number } {
    const firstAt = this.#options.clock.now();
    return { runId: newId("run", firstAt), firstAt };
  }

  #attempt(
    run: JobRunState,
    onLog?: ScriptTask["onLog"],
  ): { noted: Promise<boolean>; outcome: Promise<ScriptOutcome> } {
    const { runId, job, failures } = run;
    this.#open.set(runId, job.name);
    const { begun, end } = this.#lifeCycle.attempt(run, {
      path: job.path,
      handler: jobHandler,
      timeoutMs: job.timeoutMs,
      input: { runId, attempt: failures + 1, user: null },
      principal: { ...system, chain: [`${job.path}:${jobHandler}`] },
      ...(onLog && { onLog }),
    });
    const outcome = this.#settle(run, end);
    this.#attempts.add(outcome);
    return { noted: begun, outcome: outcome.finally(() => this.#attempts.delete(outcome)) };
  }

  async #settle(run: JobRunState, end: Promise<AttemptEnd>): Promise<ScriptOutcome> {
    const { outcome, next } = await end;
    if (typeof next === "string") this.#open.delete(run.runId);
    else this.#wait(run, next);
    return outcome;
  }

  /** Makes the next attempt of a run when it is due. The file may have changed by then, or be gone. */
  #wait(run: JobRunState, { failures, notBefore }: Postponement): void {
    const { runId, firstAt } = run;
    this.#open.set(runId, run.job.name);
    if (this.#isStopped) return;
    const pauseMs = Math.min(Math.max(0, notBefore - this.#now()), longestPauseMs);
    const alarm = this.#options.clock.after(pauseMs, () => {
      this.#waiting.delete(runId);
      const job = this.#scheduled.get(run.job.name)?.job;
      // Without its file, the run stays in the table until the file is back.
      if (job === undefined) this.#open.delete(runId);
      else if (failures > job.retries) this.#giveUp(jobRun(job, { runId, firstAt, failures }));
      else this.#attempt(jobRun(job, { runId, firstAt, failures }));
    });
    this.#waiting.set(runId, alarm);
  }

  /** The options of the job were changed, and allow no further attempt. */
  #giveUp(run: JobRunState): void {
    const error = "It was not tried again: its options allow no further attempt";
    this.#open.delete(run.runId);
    void this.#runLog.write(run.runId, (tx) => this.#runs.giveUp(tx, run, error));
  }
}

function isQueue({ exports }: Script): boolean {
  return exports.values["queue"] !== undefined;
}

/** Checks the exports of a file of jobs. @throws Error that names the fault. */
export function checkJob(script: Script, timeoutMs: number): void {
  if (!isQueue(script)) jobOf(script, timeoutMs);
  else if (script.exports.values["schedule"] === undefined) queueOf(script, timeoutMs);
  else throw new Error("exports schedule and queue: a job runs by the clock or by its queue, not by both");
}
