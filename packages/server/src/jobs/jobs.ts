import type { Database } from "../database/index.ts";
import { type EventLog, Ledger } from "../events/index.ts";
import { type Clock, newId, system } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import {
  retryPauseMs,
  type Script,
  type ScriptError,
  type ScriptKind,
  type ScriptOutcome,
  type ScriptTask,
} from "../script-host/index.ts";
import { JobHistory, type JobRunEntry } from "./history.ts";
import { type Job, jobOf, nextTime } from "./schedule.ts";

/** The longest that a timer is set for; a later time is looked at again then, also because clocks are changed. */
const longestTimerMs = 60_000;
/** The longest pause between attempts, should the clock have been set back since it was decided. */
const longestPauseMs = 600_000;
/** What a clock is set back by, from which on jobs follow it: a smaller correction makes none run twice. */
const correctionMs = 5_000;

export interface JobsOptions {
  readonly database: Database;
  readonly events: EventLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timeoutMs: number;
  /** Runs a handler in a process for the user's code. */
  readonly run: (task: ScriptTask) => Promise<ScriptOutcome>;
  /** The time by which jobs are due, in milliseconds since 1970; the machine's, but in tests. */
  readonly now?: () => number;
}

/** A run of a job: all its attempts. */
interface JobRun {
  readonly runId: string;
  readonly job: Job;
  /** When its first attempt started, in milliseconds since 1970. */
  readonly firstAt: number;
  /** It is not tried again, whatever happens. */
  readonly isByHand?: boolean;
}

interface Scheduled {
  readonly job: Job;
  /** When it is due, in milliseconds since 1970. */
  due: number;
}

/**
 * Jobs: handlers that run by the clock (spec, "Jobs"). Times that pass while the service is down are not made up for;
 * a run that was cut off is tried again like one that has failed.
 */
export class Jobs implements ScriptKind {
  readonly folder = "jobs";
  readonly #options: JobsOptions;
  readonly #now: () => number;
  readonly #history: JobHistory;
  readonly #ledger: Ledger;
  #scheduled = new Map<string, Scheduled>();
  /** By job: runs that are not over, also those that wait for another attempt. */
  readonly #underWay = new Map<string, number>();
  /** By run: those that wait for another attempt. */
  readonly #waiting = new Map<string, Timer>();
  /** Runs that this process has under way: they run, or wait for another attempt. */
  readonly #open = new Set<string>();
  readonly #running = new Set<Promise<unknown>>();
  #timer: Timer | null = null;
  /** The time at which the schedules were looked at last. */
  #lookedAt = 0;
  #isStarted = false;
  #isStopped = false;

  constructor(options: JobsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#history = new JobHistory(options.database);
    this.#ledger = new Ledger(options.database, options.logger);
  }

  /** Goes on where the last process ended. Jobs are due from now on. To be called once. */
  async start(): Promise<void> {
    const retryAt = this.#now() + retryPauseMs(1);
    const endedAt = this.#options.clock.now();
    const error = "The service ended while it ran";
    await this.#ledger.write((tx) => this.#history.endCutOff(tx, { endedAt, error, retryAt }));
    this.#isStarted = true;
    await this.#resume();
    this.#arm();
  }

  check(script: Script): void {
    jobOf(script, this.#options.timeoutMs);
  }

  async use(scripts: readonly Script[]): Promise<void> {
    const now = this.#now();
    const scheduled = new Map<string, Scheduled>();
    for (const script of scripts) {
      const job = jobOf(script, this.#options.timeoutMs);
      const before = this.#scheduled.get(job.name);
      const isSame = before?.job.schedule === job.schedule && before.job.timezone === job.timezone;
      const due = isSame ? before.due : nextTime(job, now);
      if (due !== null) scheduled.set(job.name, { job, due });
    }
    this.#scheduled = scheduled;
    if (this.#isStarted) await this.#resume();
    this.#arm();
  }

  /** Takes up the runs that wait for another attempt; those whose file is not there go on waiting. */
  async #resume(): Promise<void> {
    for (const { runId, job: name, attempt, retryAt, firstAt } of await this.#history.open()) {
      const job = this.#scheduled.get(name)?.job;
      if (job === undefined || this.#open.has(runId)) continue;
      this.#count(name, 1);
      this.#retryAt({ runId, job, firstAt }, attempt + 1, retryAt);
    }
  }

  /** Every job, by name, and when it is due next (milliseconds since 1970). */
  list(): readonly Readonly<Scheduled>[] {
    return [...this.#scheduled.values()];
  }

  runs(name: string): Promise<JobRunEntry[]> {
    return this.#history.list(name);
  }

  /** The newest attempt of the newest run; null when there was none. */
  lastRun(name: string): Promise<JobRunEntry | null> {
    return this.#history.last(name);
  }

  /**
   * Runs a job now, once: the id of the run, when it is noted on disk, and how it ends. Undefined when there is none of this
   * name.
   */
  runByHand(
    name: string,
    onLog?: ScriptTask["onLog"],
  ): { runId: string; noted: Promise<boolean>; outcome: Promise<ScriptOutcome> } | undefined {
    const job = this.#scheduled.get(name)?.job;
    if (job === undefined) return undefined;
    const firstAt = this.#options.clock.now();
    const runId = newId("run", firstAt);
    this.#count(name, 1);
    const run = { runId, job: { ...job, retries: 0 }, firstAt, isByHand: true };
    const noted = this.#begin(run, 1);
    return { runId, noted, outcome: this.#attempt(run, 1, onLog) };
  }

  /** Starts no more runs. Resolves when none is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer ?? undefined);
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    await Promise.all(this.#running);
  }

  settled(): Promise<void> {
    return this.#ledger.settled();
  }

  /** Wakes up when the next job is due. */
  #arm(): void {
    clearTimeout(this.#timer ?? undefined);
    if (!this.#isStarted || this.#isStopped || this.#scheduled.size === 0) return;
    const now = this.#now();
    if (now < this.#lookedAt - correctionMs) this.#followBack(now);
    this.#lookedAt = now;
    const next = Math.min(...[...this.#scheduled.values()].map(({ due }) => due));
    const wait = Math.min(Math.max(0, next - now), longestTimerMs);
    this.#timer = setTimeout(() => this.#wake(), wait).unref();
  }

  /** The clock was set back: what was due by a clock that was ahead would not come for as long as that was ahead. */
  #followBack(now: number): void {
    for (const scheduled of this.#scheduled.values())
      scheduled.due = Math.min(scheduled.due, nextTime(scheduled.job, now) ?? Number.POSITIVE_INFINITY);
  }

  #wake(): void {
    const now = this.#now();
    for (const scheduled of this.#scheduled.values()) {
      if (scheduled.due > now) continue;
      this.#due(scheduled.job);
      // From now, not from when it was due: of the times that the machine has slept through, one is made up for.
      scheduled.due = nextTime(scheduled.job, now) ?? Number.POSITIVE_INFINITY;
    }
    this.#arm();
  }

  #due(job: Job): void {
    if (!job.overlap && (this.#underWay.get(job.name) ?? 0) > 0) {
      this.#options.logger.warn(`The job ${job.name} is due, but its last run is not over; this one is skipped`);
      return;
    }
    this.#count(job.name, 1);
    const firstAt = this.#options.clock.now();
    const run = { runId: newId("run", firstAt), job, firstAt };
    void this.#begin(run, 1);
    void this.#attempt(run, 1);
  }

  /** Resolves when it is on disk that an attempt starts; with false when that could not be written. */
  #begin({ runId, job, isByHand = false }: JobRun, attempt: number): Promise<boolean> {
    const startedAt = this.#options.clock.now();
    return this.#ledger.write((tx) => this.#history.begin(tx, { runId, job: job.name, attempt, startedAt, isByHand }));
  }

  #attempt(run: JobRun, attempt: number, onLog?: ScriptTask["onLog"]): Promise<ScriptOutcome> {
    const running = this.#runAttempt(run, attempt, onLog);
    this.#running.add(running);
    return running.finally(() => this.#running.delete(running));
  }

  async #runAttempt(run: JobRun, attempt: number, onLog: ScriptTask["onLog"]): Promise<ScriptOutcome> {
    const { runId, job } = run;
    if (attempt === 1) this.#announce("started", run, attempt);
    const outcome = await this.#options.run({
      path: job.path,
      handler: "default",
      timeoutMs: job.timeoutMs,
      input: { runId, attempt, user: null },
      principal: system,
      onStray: (error) => this.#strayed(run, attempt, error),
      ...(onLog && { onLog }),
    });
    if (outcome.status === "completed") {
      const endedAt = this.#options.clock.now();
      void this.#ledger.write((tx) => this.#history.end(tx, { runId, attempt, endedAt, error: null, retryAt: null }));
      this.#announce("completed", run, attempt);
      this.#close(run);
    } else if (outcome.status === "failed") {
      this.#failed(run, attempt, outcome.error);
    } else if (outcome.status === "gone") {
      this.#failed(run, attempt, { message: `${job.path} is not there, or not loaded` });
    }
    return outcome;
  }

  /** An attempt has failed: another follows after a pause, or the run is over. */
  #failed(run: JobRun, attempt: number, error: ScriptError): void {
    const { runId, job } = run;
    const isLast = attempt > job.retries;
    const endedAt = this.#options.clock.now();
    const retryAt = isLast ? null : this.#now() + retryPauseMs(attempt);
    void this.#ledger.write((tx) => this.#history.end(tx, { runId, attempt, endedAt, error: error.message, retryAt }));
    const next = retryAt === null ? "" : `; tried again in ${retryPauseMs(attempt) / 1_000} s`;
    this.#options.logger.error(`The job ${job.name} failed: ${error.message}${next}`, {
      runId,
      attempt,
      stack: error.stack,
    });
    if (retryAt !== null) {
      this.#retryAt(run, attempt + 1, retryAt);
      return;
    }
    this.#announce("failed", run, attempt, error.message);
    this.#close(run);
  }

  /** The run had completed, and then threw. */
  #strayed(run: JobRun, attempt: number, error: ScriptError): void {
    const { runId, job } = run;
    const endedAt = this.#options.clock.now();
    void this.#ledger.write((tx) =>
      this.#history.end(tx, { runId, attempt, endedAt, error: error.message, retryAt: null }),
    );
    this.#options.logger.error(`The job ${job.name} failed: ${error.message}`, { runId, attempt, stack: error.stack });
    this.#announce("failed", run, attempt, error.message);
  }

  /** The file may have changed by then, or be gone. */
  #retryAt(run: JobRun, attempt: number, time: number): void {
    const { runId } = run;
    this.#open.add(runId);
    const pauseMs = Math.min(Math.max(0, time - this.#now()), longestPauseMs);
    const timer = setTimeout(() => {
      this.#waiting.delete(runId);
      const job = this.#scheduled.get(run.job.name)?.job;
      // Else it stays open until the file is back.
      if (job === undefined) this.#close(run);
      else if (attempt > job.retries + 1) this.#giveUp({ ...run, job }, attempt - 1);
      else {
        void this.#begin({ ...run, job }, attempt);
        void this.#attempt({ ...run, job }, attempt);
      }
    }, pauseMs).unref();
    this.#waiting.set(runId, timer);
  }

  /** The options allow no further attempt any more. */
  #giveUp(run: JobRun, attempt: number): void {
    const error = "It was not tried again: its options allow no further attempt";
    void this.#ledger.write((tx) => this.#history.close(tx, run.runId));
    this.#announce("failed", run, attempt, error);
    this.#close(run);
  }

  /** `job.started`, `.completed`, `.failed`, once for each run (spec, "Events"). */
  #announce(step: "started" | "completed" | "failed", run: JobRun, attempt: number, error?: string): void {
    const { runId, job, firstAt } = run;
    const durationMs = Math.max(0, this.#options.clock.now() - firstAt);
    const payload = {
      name: job.name,
      filePath: job.path,
      schedule: job.schedule,
      runId,
      attempt,
      ...(step === "started" ? {} : { durationMs }),
      ...(error === undefined ? {} : { error }),
    };
    void this.#ledger.write((tx) =>
      this.#options.events.append(tx, { type: `job.${step}`, source: "jobs", payload, principal: null }),
    );
  }

  /** The run is over, for this process. */
  #close({ runId, job }: JobRun): void {
    this.#open.delete(runId);
    this.#count(job.name, -1);
  }

  #count(name: string, change: number): void {
    const runs = (this.#underWay.get(name) ?? 0) + change;
    if (runs > 0) this.#underWay.set(name, runs);
    else this.#underWay.delete(name);
  }
}
