/**
 * Jobs: handlers that run by the clock (spec, "Jobs"), or once for each payload in their queue (queues.ts).
 * Times that pass while the service is down are skipped. A run that the end of the service has interrupted is tried
 * again like a failed run.
 */

import { AppError, type Clock, count, newId } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Auth } from "../../people/auth/index.ts";
import type { Database } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import {
  Dispatcher,
  linear,
  longestBackoffMs,
  pageSize,
  RunLifeCycle,
  RunLog,
  type RunSource,
  type RunTask,
} from "../runs/index.ts";
import type {
  BrokenScript,
  Lane,
  Script,
  ScriptHost,
  ScriptKind,
  ScriptOutcome,
  ScriptTask,
} from "../script-host/index.ts";
import { ClockWatch } from "./clock-watch.ts";
import { JobHistory, type JobRunEntry } from "./history-table.ts";
import { type JobDefinition, jobHandler, jobOf, type QueueJob, type ScheduledJob } from "./job-file.ts";
import { type JobRun, JobRuns, jobRun } from "./job-runs.ts";
import { type JobHead, type JobInput, JobTable } from "./job-table.ts";
import { Queues } from "./queues.ts";
import { type Scheduled, Schedules } from "./schedules.ts";

/** The most runs under way, for each script process. */
const widthPerProcess = 48;
/** The most waiting runs of a job in memory. */
const windowSize = pageSize + 32;

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
  readonly host: ScriptHost;
  /** The clock for due times, in milliseconds since 1970: the machine's clock, except in tests. */
  readonly now?: () => number;
}

export class Jobs implements ScriptKind {
  readonly folder = "jobs";
  readonly firstLane = "runs";
  readonly queues: Queues;
  readonly #options: JobsOptions;
  readonly #now: () => number;
  readonly #clockWatch: ClockWatch;
  readonly #table: JobTable;
  readonly #history: JobHistory;
  readonly #runs: JobRuns;
  readonly #runLog: RunLog;
  readonly #lifeCycle: RunLifeCycle<JobRun>;
  readonly #dispatcher: Dispatcher<JobHead>;
  readonly #schedules: Schedules;
  #jobs: readonly JobDefinition[] = [];
  /** Runs by hand under way, and due runs on their way into the table. */
  readonly #pending = new Set<Promise<unknown>>();

  constructor(options: JobsOptions) {
    const { database, logger, host, clock, processes } = options;
    const call = (task: ScriptTask): Promise<ScriptOutcome> => host.run(task);
    const now = options.now ?? Date.now;
    const onLook = (): void => this.#lookAtClock();
    this.#options = options;
    this.#now = now;
    this.#clockWatch = new ClockWatch(now);
    this.#table = new JobTable(database);
    this.#history = new JobHistory(database);
    this.#runs = new JobRuns({ ...options, table: this.#table, history: this.#history });
    this.#runLog = new RunLog(database, logger);
    this.#lifeCycle = new RunLifeCycle({ store: this.#runs, log: this.#runLog, logger, call, now });
    this.#dispatcher = new Dispatcher({
      clock,
      now,
      logger,
      width: widthPerProcess * processes,
      attempt: (head) => this.#lifeCycle.dispatch(() => this.#prepare(head)),
      mayStart: () => true,
      onLook,
    });
    this.queues = new Queues({ ...options, now, table: this.#table, dispatcher: this.#dispatcher });
    this.#schedules = new Schedules({ clock, now, onDue: (job) => this.#startDue(job), onLook });
  }

  /** Takes up the runs of the last process, and begins to run jobs. Call `start` once. */
  async start(): Promise<void> {
    const notBefore = this.#now() + linear(1).pauseMs(1);
    const end = { endedAt: this.#options.clock.now(), error: "The service ended while it ran" };
    await this.#runLog.write((tx) => this.#table.interrupted(tx, this.#history.interrupted(tx, end), notBefore));
    await this.#bringForward();
    this.#dispatcher.start(this.#table.lastId());
    this.#schedules.start();
  }

  lanesOf(): readonly Lane[] {
    return ["runs"];
  }

  check(script: Script): void {
    checkJob(script, this.#options.timeoutMs);
  }

  async use(scripts: readonly Script[], broken: readonly BrokenScript[]): Promise<void> {
    this.#jobs = scripts.map((script) => jobOf(script, this.#options.timeoutMs));
    await this.#table.register(this.#jobs.map(({ path }) => path));
    // Comes before the new schedules: a new job has missed no time.
    this.#lookAtClock();
    this.#schedules.use(this.#jobs.filter((job): job is ScheduledJob => job.kind === "schedule"));
    const queues = this.#jobs.filter((job): job is QueueJob => job.kind === "queue");
    this.queues.use(queues);
    this.#dispatcher.use(this.#jobs.map((job) => this.#sourceOf(job)));
    for (const { path, waiting } of this.#table.waiting()) {
      if (queues.some((queue) => queue.path === path)) continue;
      const isBroken = broken.some(({ file }) => file.path === path);
      const why = isBroken ? "does not load" : "is not there any more, or is no queue";
      this.#options.logger.warn(`${count(waiting, "run")} of ${path} wait, because it ${why}`);
    }
  }

  #sourceOf(job: JobDefinition): RunSource<JobHead> {
    return {
      path: job.path,
      width: job.concurrency,
      window: windowSize,
      holdsPlaces: false,
      next: (range) => this.#table.due(job, { ...range, now: this.#now() }),
      rewind: () => undefined,
    };
  }

  /** The names of all jobs, including queues. */
  names(): string[] {
    return this.#jobs.map(({ name }) => name);
  }

  /** @throws AppError `bad_request` for the name of a queue: a queue runs only with a payload. */
  refuseQueue(name: string): void {
    if (this.queues.has(name))
      throw new AppError(
        "bad_request",
        `${name} is a queue: it runs what is enqueued (POST /api/admin/jobs/${name}/enqueue).`,
      );
  }

  /** Every job with a schedule, with its next due time (milliseconds since 1970). */
  list(): readonly Readonly<Scheduled>[] {
    return this.#schedules.list();
  }

  /** The attempts of a job, newest first. */
  runs(name: string): JobRunEntry[] {
    return this.#history.list(name);
  }

  /** The newest attempt of the newest run; for a queue, the last ended attempt; null before the first run. */
  lastRun(name: string): JobRunEntry | null {
    return this.queues.has(name) ? this.#history.newest(name) : this.#history.last(name);
  }

  /**
   * Runs a job now, with a single attempt. Answers the id of the run, a promise of whether the run is noted on disk, and the outcome;
   * undefined for an unknown job.
   */
  runByHand(
    name: string,
    onLog?: ScriptTask["onLog"],
  ): { runId: string; noted: Promise<boolean>; outcome: Promise<ScriptOutcome> } | undefined {
    const job = this.#schedules.list().find((each) => each.job.name === name)?.job;
    if (job === undefined) return undefined;
    const { run, task } = this.#attemptOf(job, { ...this.#newRun(), id: null, failures: 0 });
    const { begun, end } = this.#lifeCycle.attempt(run, { ...task, ...(onLog && { onLog }) });
    this.#await(end);
    return { runId: run.runId, noted: begun, outcome: end.then(({ outcome }) => outcome) };
  }

  /** Starts no more runs. Resolves when no run is under way. */
  async stop(): Promise<void> {
    this.#schedules.stop();
    await Promise.all([...this.#pending, this.#dispatcher.stop()]);
  }

  /** Whether a run is due or under way. Runs that wait for a later time do not count. */
  get isBusy(): boolean {
    return this.#pending.size > 0 || this.#dispatcher.isBusy;
  }

  /** Resolves when all changes of runs are written. */
  settled(): Promise<void> {
    return this.#runLog.settled();
  }

  #startDue(job: ScheduledJob): void {
    if (!job.overlap && this.#table.openCount(job) > 0) {
      this.#options.logger.warn(`The job ${job.name} is due, but its last run is not over; this one is skipped`);
      return;
    }
    const run = { ...this.#newRun(), key: null, notBefore: 0, payload: null, actor: null, depth: 0 };
    const adding = this.#runLog.write((tx) => {
      const id = this.#table.add(tx, job, run);
      tx.onDurable(() => this.#dispatcher.written({ id, path: job.path }));
    });
    this.#await(adding);
  }

  #await(work: Promise<unknown>): void {
    this.#pending.add(work);
    void work.finally(() => this.#pending.delete(work));
  }

  #newRun(): { runId: string; firstAt: number } {
    const firstAt = this.#options.clock.now();
    return { runId: newId("run", firstAt), firstAt };
  }

  /** The next attempt of a run. */
  async #prepare(head: JobHead): Promise<{ run: JobRun; task: RunTask } | "over" | "stays"> {
    // The transaction that answered this run's key is committed before the run starts, so its changes are visible.
    if (head.key !== null) await this.#options.database.transact(() => undefined);
    const job = this.#jobs.find(({ path }) => path === head.path);
    if (job === undefined) return "stays";
    const input = this.#table.input(head);
    // A second look at the table has found the run in its present state.
    if (input === null) return "over";
    const user = input.actor === null ? null : this.#options.auth.users.find(input.actor);
    const { run, task } = this.#attemptOf(job, head, input);
    if (job.kind === "schedule" && head.failures > job.policy.retries) return this.#giveUp(run);
    return { run, task: { ...task, input: { ...task.input, user } } };
  }

  /** Ends a run without an attempt left: the job's options were changed, or the service ended in the last attempt. */
  async #giveUp(run: JobRun): Promise<"over" | "stays"> {
    const error = "It was not tried again: its options allow no further attempt";
    return (await this.#runLog.write((tx) => this.#runs.giveUp(tx, run, error))) ? "over" : "stays";
  }

  #attemptOf(
    job: JobDefinition,
    head: Pick<JobRun, "id" | "runId" | "failures" | "firstAt">,
    { payload, actor, depth }: JobInput = { payload: null, actor: null, depth: 0 },
  ): { run: JobRun; task: RunTask } {
    const run = jobRun(job, { ...head, startedAt: this.#options.clock.now() }, { actor, depth });
    const input = { runId: run.runId, attempt: run.failures + 1, user: null };
    const { path, timeoutMs } = job;
    const task = { path, handler: jobHandler, timeoutMs, principal: run.principal };
    // The service has written the payload.
    return { run, task: { ...task, input: payload === null ? input : { ...input, payload: JSON.parse(payload) } } };
  }

  #lookAtClock(): void {
    const corrected = this.#clockWatch.look();
    if (corrected === null) return;
    this.#schedules.followBack(corrected);
    void this.#bringForward().then(() => this.#dispatcher.lookAgain());
  }

  /** Brings forward attempts with a due time too far ahead, set by a later clock: the attempts are due after the longest pause. */
  async #bringForward(): Promise<void> {
    const notBefore = this.#now() + longestBackoffMs;
    await this.#runLog.write((tx) => this.#table.bringForward(tx, { beyond: notBefore, notBefore }));
  }
}

/** Checks the exports of a file of jobs. @throws Error that names the fault. */
export function checkJob(script: Script, timeoutMs: number): void {
  jobOf(script, timeoutMs);
}
