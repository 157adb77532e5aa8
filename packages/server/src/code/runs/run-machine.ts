/**
 * The run machine: makes the runs of a kind, handlers called for a reason, with all attempts. Every run has
 * the same life cycle:
 *
 *     waiting ── it is due ──► under way ──┬── completed ─────────────────────────► over, announced as completed
 *      ▲ ▲ ▲                               ├── failed, the policy has no more ────► failed, announced as failed
 *      │ │ └── failed, after a pause ──────┤                                           │
 *      │ └──── the service stops ──────────┘                                           │
 *      └────── made again by an admin ─────────────────────────────────────────────────┘
 *
 * A run that had completed, with code that throws later, is announced as failed. Announcements are written in the
 * transaction of the change of state, and the writes of a run in order, but for a late error beside an end that is
 * refused. While the database takes no writes (a full disk, a journal that is away), the end of a run is written again
 * and again, and the handler is not called again. A run without a written end waits for the next start of the service,
 * so a run is made at least once. In a read-only service no run starts, and an attempt that fails is made again without
 * being counted.
 */

import type { SourceExcerpt } from "@socle/protocol";
import { AppError, actingFor, type Cause, type Clock, count } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database, Transactor } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import type { Failure, Failures } from "../../store/failures/index.ts";
import type { BrokenScript, ScriptError, ScriptHost, ScriptOutcome, ScriptTask } from "../script-host/index.ts";
import { Dispatcher, type NextState, type WaitingRun } from "./dispatcher.ts";
import type { Postponement, RunRow, RunTable } from "./run-table.ts";
import { SourceTable } from "./source-table.ts";

/** The most runs under way, for each script process. */
export const widthPerProcess = 48;

const stepMs = 5_000;
const longestPauseMs = 600_000;
/** The longest pause of `exponential`. */
export const longestBackoffMs = 3_600_000;

/** The pause before a write that the database has refused is tried again. */
const rewriteMs = 1_000;

/** An attempt of a run, by row. */
type Attempt = Pick<HandlerRun, "id" | "failures">;

/** How many attempts follow a failure, and after which pauses. */
export interface RetryPolicy {
  /** Attempts after the first. */
  readonly retries: number;
  /** Milliseconds between a failed attempt and the next, by the number of failed attempts. */
  readonly pauseMs: (failures: number) => number;
}

/** The part of a run that the machine must know. The run is kept for late errors, without record and payload. */
export interface HandlerRun extends RunRow {
  readonly runId: string;
  /** Attempts that have failed. */
  readonly failures: number;
  readonly policy: RetryPolicy;
  /** The subject of log messages, for example "The job tidy". */
  readonly label: string;
  /** More fields of log messages. */
  readonly logFields?: { readonly [name: string]: unknown };
  /** The first word of the types of the announcements. */
  readonly kind: "function" | "job";
  /** The payload of the announcements; each adds the duration and the error. */
  readonly payload: object;
  /** The user behind the run, or null. */
  readonly actor: string | null;
  /** The cause of the run; null for a run of a schedule, and for an event without a cause. */
  readonly cause: Cause | null;
  /** The time from which the duration counts, in milliseconds since 1970; null for the duration of the last attempt. */
  readonly since: number | null;
  /** The error of an attempt whose file is gone or not loaded; null when the run waits for the file. */
  readonly errorWithoutFile: string | null;
  /** The part of a failure that does not depend on the error. */
  readonly failsAs: Pick<Failure, "kind" | "path" | "record">;
}

/** The task of an attempt, without the parts that the machine adds. */
export type RunTask = Omit<ScriptTask, "onStray">;

/** A run with the task of the next attempt; `over` for a run that is not to be made, `stays` for a run that must wait. */
export type Prepared<R> = { readonly run: R; readonly task: RunTask } | "over" | "stays";

/** The end of an attempt, in milliseconds since 1970. `error` is null for an attempt that has completed. */
export interface RunEnd {
  readonly at: number;
  readonly error: string | null;
}

/** Notes the attempts of runs, in the transaction of the change of state. */
export interface RunHistory<R extends HandlerRun> {
  /** Null for a begin that is not noted. */
  begin(run: R): ((tx: Transactor) => void) | null;
  ended(tx: Transactor, run: R, end: RunEnd): void;
  /** The attempt does not count, and is made again. */
  takenBack(tx: Transactor, run: R): void;
  /** The attempt had completed, and then threw. */
  endedLate(tx: Transactor, run: R, end: RunEnd): void;
}

export interface MachineOptions {
  readonly database: Database;
  readonly events: EventLog;
  readonly failures: Failures;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly processes: number;
  readonly host: Pick<ScriptHost, "run">;
}

/** The kind of runs that a machine makes. */
interface KindOptions<R extends HandlerRun> {
  readonly table: Pick<RunTable<R>, "waiting" | "remove" | "postpone" | "fail" | "isOpen">;
  readonly history?: RunHistory<R>;
  /** The time by which runs are due, in milliseconds since 1970. */
  readonly now: () => number;
}

/** `begun` resolves when the begin is on disk, with false when the write failed; `end` when the end is on disk. No promise rejects. */
interface DispatchedAttempt {
  readonly begun: Promise<boolean>;
  readonly outcome: Promise<ScriptOutcome>;
  readonly end: Promise<NextState>;
}

/** Functions, and jobs with the queues, are machines with the triggers of the runs. */
export abstract class RunMachine<H extends WaitingRun, R extends HandlerRun> {
  protected readonly dispatcher: Dispatcher<H>;
  readonly #options: MachineOptions & KindOptions<R>;
  readonly #sources: SourceTable;
  /** Attempts and writes that are under way. */
  #open = 0;
  #isStopping = false;

  constructor(options: MachineOptions & KindOptions<R>) {
    this.#options = options;
    this.#sources = new SourceTable(options.database);
    this.dispatcher = new Dispatcher({
      ...options,
      width: widthPerProcess * options.processes,
      attempt: (head, onLeft) => this.#dispatch(head, onLeft),
      mayStart: () => options.database.readOnly.state === null && this.mayStart(),
      onLook: () => this.onLook?.(),
    });
    options.database.readOnly.onEnd(() => this.dispatcher.startReady());
  }

  /** The source around the place of a run's last error; null without a place, and for a run that failed long ago. */
  sourceOf(runId: string): SourceExcerpt | null {
    return this.#sources.find(runId);
  }

  /** The next attempt of a run that is due. */
  protected abstract prepare(head: H): Promise<Prepared<R>>;

  /** Whether another run may start now: by default, the width alone decides. */
  protected mayStart(): boolean {
    return true;
  }

  /** Called before each look at the clock. */
  protected onLook?(): void;

  /** Warns of runs that wait for a file. @param absent why the files that are not known cannot run. */
  protected warnOfWaiting(known: ReadonlySet<string>, broken: readonly BrokenScript[], absent: string): void {
    for (const { path, waiting } of this.#options.table.waiting()) {
      if (known.has(path)) continue;
      const why = broken.some(({ file }) => file.path === path) ? "does not load" : absent;
      this.#options.logger.warn(`${count(waiting, "run")} of ${path} wait, because it ${why}`);
    }
  }

  /** Makes an attempt. @param enter adds the row of a run by hand. */
  attempt(run: R, task: RunTask, enter?: (tx: Transactor) => void): DispatchedAttempt {
    const { history, host } = this.#options;
    const begin = history?.begin(run) ?? null;
    const isFirst = run.failures === 0;
    const write = (tx: Transactor): void => {
      enter?.(tx);
      begin?.(tx);
      if (isFirst) this.#announce(tx, run, { step: "started" });
    };
    // The handler need not wait for the write: the writes of a run are in order.
    const begun = isFirst || begin !== null ? this.write(write) : Promise.resolve(true);
    const outcome = host.run({ ...task, onStray: this.#strayListener(run) });
    this.#open += 1;
    const end = this.#follow(run, outcome).finally(() => {
      this.#open -= 1;
    });
    return { begun, outcome, end };
  }

  /**
   * Resolves with true when the write is on disk, with false when the write failed, which is logged. Writes are in the order
   * of the calls, as the database runs short transactions.
   */
  protected async write(work: (tx: Transactor) => unknown): Promise<boolean> {
    return (await this.#failureOf(work)) === null;
  }

  /**
   * Like `write`, but a write that the database refuses for now is tried again, also once after the stop of the machine.
   * @param isDue whether the write is still to be made: a write whose outcome was unknown may have happened.
   */
  protected async writeAtLast(work: (tx: Transactor) => unknown, isDue: (tx: Transactor) => boolean): Promise<boolean> {
    this.#open += 1;
    let failure = await this.#failureOf(work);
    for (let isLast = false; this.#isForNow(failure) && !isLast; ) {
      isLast = this.#isStopping;
      await Bun.sleep(rewriteMs);
      failure = await this.#failureOf((tx) => {
        if (isDue(tx)) work(tx);
      });
    }
    this.#open -= 1;
    return failure === null;
  }

  /** Whether another try may succeed: the database refuses writes for now. */
  #isForNow(error: unknown): boolean {
    return error instanceof AppError && error.code === "unavailable" && !this.#options.database.isOver;
  }

  /** The error of a write, which is logged; null when the write is on disk. */
  async #failureOf(work: (tx: Transactor) => unknown): Promise<unknown> {
    const { database, logger } = this.#options;
    this.#open += 1;
    try {
      await database.upkeep(work);
      return null;
    } catch (error) {
      if (this.#isForNow(error)) logger.often("The state of a run cannot be written at the moment", { error });
      else logger.error("The state of a run could not be written", { error });
      return error;
    } finally {
      this.#open -= 1;
    }
  }

  /** Writes the end of a run. A run without a written end stays. */
  protected async end(run: Attempt, work: (tx: Transactor) => unknown): Promise<"over" | "stays"> {
    return (await this.#writeEnd(run, work)) ? "over" : "stays";
  }

  #writeEnd(run: Attempt, work: (tx: Transactor) => unknown): Promise<boolean> {
    return this.writeAtLast(work, (tx) => this.#options.table.isOpen(tx, run));
  }

  /** Ends a run without an attempt: the run has failed. @param row the row of the run, as the table has the row. */
  protected giveUp(run: R, row: Attempt, error: string): Promise<"over" | "stays"> {
    return this.end(row, (tx) => {
      this.#announce(tx, run, { step: "failed", durationMs: 0, error });
      this.#options.table.remove(tx, run);
    });
  }

  /** Starts no more runs. Resolves when no run is under way, and all states of runs are written. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.dispatcher.stop();
    await this.settled();
  }

  /** Whether a run is due or under way, or a state is being written. Runs that wait for a later time, or for the end of the read-only mode, do not count. */
  get isBusy(): boolean {
    const { readOnly } = this.#options.database;
    const hasRuns = readOnly.state === null ? this.dispatcher.isBusy : this.dispatcher.underWay().length > 0;
    return hasRuns || this.#open > 0;
  }

  /** Resolves when no run is due or under way, and all states of runs are written. */
  async settled(): Promise<void> {
    while (this.isBusy) await Bun.sleep(1);
  }

  /** A run that cannot be prepared stays in the table. */
  async #dispatch(head: H, onLeft: () => void): Promise<NextState> {
    try {
      const prepared = await this.#prepared(head);
      if (typeof prepared === "string") return prepared;
      const { outcome, end } = this.attempt(prepared.run, prepared.task);
      await outcome;
      onLeft();
      return await end;
    } catch (error) {
      this.#options.logger.error("A run could not start, and waits for the next load of its file", { error });
      return "stays";
    }
  }

  /** The prepared run. A preparation that the database refuses for now is tried again. */
  async #prepared(head: H): Promise<Prepared<R>> {
    for (;;)
      try {
        return await this.prepare(head);
      } catch (error) {
        if (this.#isStopping || !this.#isForNow(error)) throw error;
        this.#options.logger.often("A run cannot be prepared at the moment", { error });
        await Bun.sleep(rewriteMs);
      }
  }

  async #follow(run: R, called: Promise<ScriptOutcome>): Promise<NextState> {
    const startedAt = performance.now();
    const outcome = await called;
    const durationMs = Math.round(performance.now() - startedAt);
    if (outcome.status === "completed") return this.#complete(run, durationMs);
    if (outcome.status === "failed")
      return this.#options.database.readOnly.hasRefusedSince(startedAt)
        ? this.#repeat(run, outcome.error)
        : this.#fail(run, outcome.error, durationMs);
    const message = outcome.status === "gone" ? run.errorWithoutFile : null;
    return message === null ? "stays" : this.#fail(run, { message }, durationMs);
  }

  #complete(run: R, durationMs: number): Promise<NextState> {
    const { table, history, clock } = this.#options;
    return this.end(run, (tx) => {
      this.#announce(tx, run, { step: "completed", durationMs });
      history?.ended(tx, run, { at: clock.now(), error: null });
      table.remove(tx, run);
    });
  }

  /** The service was read-only meanwhile, and refused the changes of the handler: the attempt does not count, and is made again. */
  async #repeat(run: R, { message: error }: ScriptError): Promise<NextState> {
    const { table, history, logger } = this.#options;
    const next: Postponement = { failures: run.failures, notBefore: 0 };
    logger.often(`${run.label} is made again: the service was read-only`, { runId: run.runId, error });
    const isWritten = await this.#writeEnd(run, (tx) => {
      history?.takenBack(tx, run);
      table.postpone(tx, run, next);
    });
    return isWritten ? next : "stays";
  }

  async #fail(run: R, { message: error, stack, source }: ScriptError, durationMs: number): Promise<NextState> {
    const { table, history, clock, now } = this.#options;
    const failures = run.failures + 1;
    const isLast = failures > run.policy.retries;
    const pauseMs = run.policy.pauseMs(failures);
    this.#logError(run, isLast ? error : `${error}; tried again in ${pauseMs / 1_000} s`, { attempt: failures, stack });
    const next: Postponement = { failures, notBefore: now() + pauseMs };
    const isWritten = await this.#writeEnd(run, (tx) => {
      // The same time for both tells which announcement a failed run belongs to.
      const at = clock.now();
      this.#sources.record(tx, run.runId, source);
      history?.ended(tx, run, { at, error });
      if (!isLast) {
        table.postpone(tx, run, next);
        return;
      }
      this.#announce(tx, run, { step: "failed", durationMs, error, at });
      table.fail(tx, run, { at, error });
    });
    if (!isWritten) return "stays";
    return isLast ? "over" : next;
  }

  /** Made here, the listener, which is kept for long, holds on to the run alone and not to the task. */
  #strayListener(run: R): (error: ScriptError) => void {
    return ({ message: error, stack, source }) => {
      this.#logError(run, error, { stack });
      void this.write((tx) => {
        this.#sources.record(tx, run.runId, source);
        this.#options.history?.endedLate(tx, run, { at: this.#options.clock.now(), error });
        this.#announce(tx, run, { step: "failed", error });
      });
    };
  }

  #logError({ runId, label, logFields }: R, message: string, fields: object): void {
    this.#options.logger.error(`${label} failed: ${message}`, { runId, ...logFields, ...fields });
  }

  /** `function.started`, `job.completed`, and so on (spec, "Events"). */
  #announce(tx: Transactor, run: R, { step, at, ...end }: Announcement): void {
    const { kind, payload, actor, cause, since, runId, failsAs } = run;
    const { events, clock, failures } = this.#options;
    const { error } = end;
    if (error !== undefined) failures.add(tx, { ...failsAs, error, at: at ?? clock.now(), run: runId });
    const whole = since === null || step === "started" ? {} : { durationMs: Math.max(0, clock.now() - since) };
    const principal = { ...actingFor(actor, 0), ...(cause !== null && { cause }) };
    const event = {
      type: `${kind}.${step}`,
      source: `${kind}s`,
      payload: { ...payload, ...end, ...whole },
      principal,
    } as const;
    events.append(tx, event, at);
  }
}

interface Announcement {
  readonly step: "started" | "completed" | "failed";
  readonly durationMs?: number;
  readonly error?: string;
  /** The time of the event, in milliseconds since 1970: now, by default. */
  readonly at?: number;
}

/** Pauses of 5 s after the first failure, 10 s after the second, and so on, 10 min at most. */
export function linear(retries: number): RetryPolicy {
  return { retries, pauseMs: (failures) => Math.min(failures * stepMs, longestPauseMs) };
}

/** Pauses of 5 s after the first failure, 10 s after the second, 20 s after the third, and so on, 1 h at most. */
export function exponential(retries: number): RetryPolicy {
  return { retries, pauseMs: (failures) => Math.min(stepMs * 2 ** (failures - 1), longestBackoffMs) };
}
