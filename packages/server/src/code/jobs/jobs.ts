/**
 * Jobs: handlers that run by the clock (spec, "Jobs"), or once for each payload in their queue (queues.ts).
 * Times that pass while the service is down are skipped, or made up for by a single run at the start (`catchUp`). A run that the end of the service has interrupted is tried
 * again like a failed run.
 */

import type { JobRun } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { AppError, actingFor, newId, originOf } from "../../base/kernel/index.ts";
import type { Auth } from "../../people/auth/index.ts";
import type { Reader, Transactor } from "../../store/database/index.ts";
import { causeIn, traceIn } from "../../store/events/index.ts";
import type { Failure } from "../../store/failures/index.ts";
import {
  linear,
  longestBackoffMs,
  type MachineOptions,
  type OpenRun,
  type Prepared,
  pageSize,
  RunMachine,
  type RunSource,
  type RunTask,
} from "../runs/index.ts";
import type { BrokenScript, Script, ScriptKind, ScriptOutcome, ScriptTask } from "../script-host/index.ts";
import { DueTable } from "./due-table.ts";
import { JobHistory } from "./history-table.ts";
import { type JobDefinition, jobHandler, jobNameOf, jobOf, type QueueJob, type ScheduledJob } from "./job-file.ts";
import { type JobAttempt, type JobHead, type JobInput, JobTable } from "./job-table.ts";
import { Queues } from "./queues.ts";
import { type Scheduled, Schedules } from "./schedules.ts";

/** The input of a run of a schedule. */
const noInput: JobInput = { payload: null, actor: null, depth: 0, cause: null };
/** The most waiting runs of a job in memory. */
const windowSize = pageSize + 32;

interface JobsOptions extends MachineOptions {
  readonly auth: Auth;
  readonly config: Config;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export class Jobs extends RunMachine<JobHead, JobAttempt> implements ScriptKind {
  readonly folder = "jobs";
  readonly firstLane = "runs";
  readonly queues: Queues;
  readonly #options: JobsOptions;
  readonly #table: JobTable;
  readonly #history: JobHistory;
  readonly #schedules: Schedules<ScheduledJob>;
  readonly #due: DueTable;
  #jobs: readonly JobDefinition[] = [];
  /** The names of files that do not load. */
  #broken: readonly string[] = [];
  #hasSchedules = false;
  /** The names of jobs with a due run that is not written. While the database takes no writes, further due times are skipped. */
  readonly #entering = new Set<string>();

  constructor(options: JobsOptions) {
    const { clock, config, database, events, failures, host, logger, now, processes } = options;
    const [table, history] = [new JobTable(database), new JobHistory(database)];
    super({ clock, database, events, failures, history, host, logger, now, processes, table });
    this.#options = options;
    this.#table = table;
    this.#history = history;
    this.#due = new DueTable(database);
    this.queues = new Queues({ clock, config, database, dispatcher: this.dispatcher, now, table });
    this.#schedules = new Schedules({
      clock,
      now,
      onDue: (scheduled) => this.#startDue(scheduled),
      onCorrection: () => {
        void this.#recordDue();
        void this.#bringForward().then(() => this.dispatcher.lookAgain());
      },
    });
  }

  /** Takes up the runs of the last process, and begins to run jobs. Call `start` once. */
  async start(): Promise<void> {
    const notBefore = this.#options.now() + linear(1).pauseMs(1);
    const end = { endedAt: this.#options.clock.now(), error: "The service ended while it ran" };
    await this.write((tx) => this.#table.interrupted(tx, this.#history.interrupted(tx, end), notBefore));
    await this.#bringForward();
    this.dispatcher.start(this.#table.lastId());
    this.#hasSchedules = true;
    await this.#recordDue();
    this.#schedules.start();
  }

  check(script: Script): void {
    jobOf(script, this.#options.config["scripts.timeout"]);
  }

  async use(scripts: readonly Script[], broken: readonly BrokenScript[]): Promise<void> {
    this.#jobs = scripts.map((script) => jobOf(script, this.#options.config["scripts.timeout"]));
    await this.#table.register(this.#jobs.map(({ path }) => ({ path, handler: jobHandler })));
    const scheduled = this.#jobs.filter((job): job is ScheduledJob => job.kind === "schedule");
    this.#schedules.use(scheduled, this.#due.of(scheduled.filter(({ catchUp }) => catchUp)));
    this.#broken = broken.map(({ file }) => jobNameOf(file.path));
    await this.#recordDue();
    const queues = this.#jobs.filter((job): job is QueueJob => job.kind === "queue");
    this.queues.use(queues);
    this.dispatcher.use(this.#jobs.map((job) => this.#sourceOf(job)));
    const known = new Set(queues.map(({ path }) => path));
    this.warnOfWaiting(known, broken, "is not there any more, or is no queue");
  }

  #sourceOf(job: JobDefinition): RunSource<JobHead> {
    return {
      path: job.path,
      width: job.concurrency,
      window: windowSize,
      next: (range) => this.#table.due(job, { ...range, now: this.#options.now() }),
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
        `${name} is a queue, which runs enqueued runs (POST /api/admin/jobs/${name}/enqueue).`,
      );
  }

  /** Every job with a schedule, with its next due time (milliseconds since 1970). */
  list(): readonly Readonly<Scheduled<ScheduledJob>>[] {
    return this.#schedules.list();
  }

  /** The attempts of a job, newest first. */
  runs(name: string): JobRun[] {
    return this.#history.list(name);
  }

  /** The newest attempt of the newest run of each job; for a queue, the last ended attempt. Nothing before the first run. */
  lastRuns(): ReadonlyMap<string, JobRun> {
    return this.#history.last(this.#jobs);
  }

  /** The runs of queues that have failed for good, oldest first, and their retry. */
  readonly failedQueued = {
    failed: (reader: Reader): Failure[] =>
      this.#table.failed(reader).map((run) => ({ ...run, kind: "queue", record: null })),
    states: (reader: Reader, runIds: readonly string[]) => this.#statesOf(reader, runIds),
    retry: (tx: Transactor, runId: string) => this.queues.retryRun(tx, runId),
  };

  /** The failed runs of schedules. A retry runs the job of a file now, with all attempts, also beside another run, and answers the id of the run. */
  readonly failedScheduled = {
    failed: (reader: Reader): Failure[] => {
      const paths = new Map(this.#schedules.list().map(({ job }) => [job.name, job.path]));
      const runs = this.#history.failed(reader, [...paths.keys()]);
      return runs.map(({ job, ...run }) => ({ ...run, kind: "job", path: paths.get(job) ?? null, record: null }));
    },
    states: (reader: Reader, runIds: readonly string[]) => this.#statesOf(reader, runIds),
    retry: (tx: Transactor, path: string): string => {
      const job = this.#schedules.list().find((each) => each.job.path === path)?.job;
      if (job === undefined) throw new AppError("not_found", `${path} is not there, or not loaded.`);
      const run = { ...this.#newRun(), key: null, notBefore: 0, ...noInput };
      const id = this.#table.add(tx, job, run);
      tx.onDurable(() => this.dispatcher.written({ id, path }));
      return run.runId;
    },
  };

  /** How many of some runs wait or are under way, and how many have failed for good. */
  #statesOf(reader: Reader, runIds: readonly string[]): { open: number; failed: number } {
    const { open, failed } = this.#table.states(reader, runIds, "runId");
    return { open, failed: failed + this.#history.failedOf(reader, runIds) };
  }

  /** The runs of schedules in the history that have failed for good. */
  failedRuns(): number {
    return this.#history.failedRuns(this.#schedules.list().map(({ job }) => job.name));
  }

  /**
   * The task of a run for the present code; null for an unknown run.
   * @throws AppError `conflict` when the file, or the payload of a run, is gone.
   */
  taskOf(runId: string): RunTask | null {
    const row = this.#table.runOf(runId);
    const name = row === null ? this.#history.jobOf(runId) : jobNameOf(row.path);
    if (name === null) return null;
    const job = this.#jobs.find((each) => each.name === name);
    if (job === undefined) throw new AppError("conflict", `jobs/${name}.ts is not loaded.`);
    if (row === null && job.kind === "queue")
      throw new AppError("conflict", "The run has completed: the payload of a completed run of a queue is not kept.");
    const { failures = 0, firstAt = this.#options.clock.now() } = row ?? {};
    return this.#attemptOf(job, { id: null, runId, failures, firstAt }, row ?? noInput).task;
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
    const row = { ...run, key: null, notBefore: 0, ...noInput };
    const enter = (tx: Transactor): void => {
      const id = this.#table.add(tx, job, row);
      run.id = id;
      // After a refusal, the outcome was unknown, and the commit has happened.
      tx.onDurable(() => {
        run.id = id;
      });
    };
    const { begun, outcome, end } = this.attempt(run, { ...task, ...(onLog && { onLog }) }, enter);
    // The next run gets the id of a row that was rolled back.
    void begun.then((isWritten) => {
      if (!isWritten) run.id = null;
    });
    return { runId: run.runId, noted: begun, outcome: end.then(() => outcome) };
  }

  /** The runs of a trace that are not over, or have failed for good, with the ids of their causes. @param trace the id of the first cause. */
  openRuns(trace: string, limit: number): { run: OpenRun; cause: string }[] {
    return this.#table.ofTrace(trace, limit).map(({ path, handler, cause, ...row }) => {
      const run = { ...row, name: `${path}:${handler}`, isUnderWay: this.dispatcher.isUnderWay(row.id) };
      return { run, cause: causeIn(cause).id };
    });
  }

  /** The first cause of the trace of a run that is not over; null without a cause, and for another run. */
  traceOf(runId: string): string | null {
    const { cause = null } = this.#table.runOf(runId) ?? {};
    return cause && traceIn(cause);
  }

  override stop(): Promise<void> {
    this.#schedules.stop();
    return super.stop();
  }

  #startDue(scheduled: Readonly<Scheduled<ScheduledJob>>): void {
    const { job, isMissed } = scheduled;
    const { logger } = this.#options;
    if (isMissed) logger.info(`The job ${job.name} runs now: a scheduled time has passed while it was not loaded`);
    // A missed time is made up for behind a run that the end of the service has interrupted.
    const isOpen = this.#entering.has(job.name) || (!job.overlap && this.#table.openCount(job) > 0);
    if (!isMissed && isOpen) {
      logger.warn(`The job ${job.name} is due, but its last run is not over; this one is skipped`);
      void this.#recordDue();
      return;
    }
    const { due } = scheduled;
    const run = { ...this.#newRun(), key: null, notBefore: 0, ...noInput };
    const add = (tx: Transactor): void => {
      const id = this.#table.add(tx, job, run);
      if (job.catchUp) this.#due.record(tx, { job, due });
      tx.onDurable(() => this.dispatcher.written({ id, path: job.path }));
    };
    const isDue = (tx: Transactor): boolean =>
      !this.#table.has(tx, job, run.runId) && !this.#history.has(tx, job, run.runId);
    this.#entering.add(job.name);
    void this.writeAtLast(add, isDue).finally(() => this.#entering.delete(job.name));
  }

  #newRun(): { runId: string; firstAt: number } {
    const firstAt = this.#options.clock.now();
    return { runId: newId("run", firstAt), firstAt };
  }

  protected override async prepare(head: JobHead): Promise<Prepared<JobAttempt>> {
    // The transaction that answered this run's key is committed before the run starts, so its changes are visible.
    if (head.key !== null) await this.#options.database.upkeep(() => undefined);
    const job = this.#jobs.find(({ path }) => path === head.path);
    if (job === undefined) return "stays";
    const input = this.#table.input(head);
    // The run was deleted, or a second look at the table has found the run in its present state.
    if (input === null) return "over";
    if (job.kind === "queue" || head.failures <= job.policy.retries) return this.#attemptOf(job, head, input);
    // The options of the job were changed, or the service ended in the last attempt.
    const { run } = this.#attemptOf(job, { ...head, failures: head.failures - 1 }, input);
    return this.giveUp(run, head, "The run was not tried again: its options allow no further attempt");
  }

  #attemptOf(
    job: JobDefinition,
    head: Pick<JobAttempt, "id" | "runId" | "failures" | "firstAt">,
    { payload, actor, depth, cause: origin }: JobInput = noInput,
  ): { run: JobAttempt; task: RunTask } {
    const { id, runId, failures, firstAt } = head;
    const { name, path, schedule, timeoutMs } = job;
    const isByHand = id === null;
    const isQueue = job.kind === "queue";
    const attempt = failures + 1;
    const cause = origin === null ? null : causeIn(origin);
    const run: JobAttempt = {
      id,
      runId,
      failures,
      policy: isByHand ? linear(0) : job.policy,
      label: `The job ${name}`,
      kind: "job",
      payload: { name, filePath: path, schedule, runId, attempt },
      actor,
      cause,
      since: isQueue ? null : firstAt,
      errorWithoutFile: isQueue ? null : `${path} is not there, or not loaded`,
      failsAs: { kind: isQueue ? "queue" : "job", path, record: null },
      job,
      firstAt,
      startedAt: this.#options.clock.now(),
      isByHand,
    };
    const user = this.#options.auth.callers.actor(actor);
    // The service has written the payload.
    const input = { runId, attempt, user, ...(payload !== null && { payload: JSON.parse(payload) }) };
    const code = actingFor(actor, depth, [`${path}:${jobHandler}`]);
    const own = {
      kind: "job",
      id: runId,
      name: `${path}:${jobHandler}`,
      ...(cause !== null && originOf(cause)),
    } as const;
    const principal = { ...code, cause: own };
    return { run, task: { path, handler: jobHandler, timeoutMs, input, principal } };
  }

  /** Records when the jobs that catch up are due. The due times of files that do not load are kept. */
  async #recordDue(): Promise<void> {
    // A command that runs one job by hand has no schedules.
    if (!this.#hasSchedules) return;
    // Copies: when the transaction runs, a job may be due for the next time, and the run of this time not written.
    const catching = this.#schedules.list().flatMap(({ job, due }) => (job.catchUp ? [{ job, due }] : []));
    if (catching.length === 0 && this.#due.isEmpty) return;
    await this.write((tx) => {
      this.#due.keep(tx, [...catching.map(({ job }) => job.name), ...this.#broken]);
      for (const scheduled of catching) this.#due.record(tx, scheduled);
    });
  }

  protected override onLook(): void {
    this.#schedules.look();
  }

  /** Brings forward attempts with a due time too far ahead, set by a later clock: the attempts are due after the longest pause. */
  async #bringForward(): Promise<void> {
    const notBefore = this.#options.now() + longestBackoffMs;
    await this.write((tx) => this.#table.bringForward(tx, { beyond: notBefore, notBefore }));
  }
}
