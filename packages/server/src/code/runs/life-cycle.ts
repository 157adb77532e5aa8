/**
 * The life cycle of a run: a handler, called for a reason, with all its attempts. Every kind of run has this life cycle.
 *
 *     waiting ── it is due ──► under way ──┬── completed ─────────────────────────► over, announced as completed
 *      ▲ ▲ ▲                               ├── failed, the policy has no more ────► failed, announced as failed
 *      │ │ └── failed, after a pause ──────┤                                           │
 *      │ └──── the service stops ──────────┘                                           │
 *      └────── made again by an admin ─────────────────────────────────────────────────┘
 *
 * A run that had completed, and whose code then throws, is announced as failed. Announcements are written in the
 * transaction of the change of state, and the writes of a run in their order (run-log.ts). A run
 * whose end could not be written waits for the next start of the service, so a run is made at least once.
 */

import type { Logger } from "../../base/logging/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import type { ScriptError, ScriptOutcome, ScriptTask } from "../script-host/index.ts";
import type { Postponement, RetryPolicy } from "./retry-policy.ts";
import type { RunLog } from "./run-log.ts";

/** The part of a run that its life cycle must know. It is kept for late errors, without record and payload. */
export interface HandlerRun {
  readonly runId: string;
  /** Attempts that have failed. */
  readonly failures: number;
  readonly policy: RetryPolicy;
  /** The subject of log messages, for example "The job tidy". */
  readonly label: string;
  /** More fields of log messages. */
  readonly logFields?: { readonly [name: string]: unknown };
}

/** The task of an attempt, without the parts that the life cycle adds. */
export type RunTask = Omit<ScriptTask, "onStray">;

/** Writes the states of a kind of run, each in a transaction with its announcement. */
export interface RunStore<R extends HandlerRun> {
  /** An attempt begins. Null for a begin that is not written. */
  begin(run: R): ((tx: Transactor) => unknown) | null;
  complete(tx: Transactor, run: R, durationMs: number): void;
  postpone(tx: Transactor, run: R, end: { error: string; next: Postponement }): void;
  fail(tx: Transactor, run: R, end: { error: string; durationMs: number }): void;
  /** The run had completed, and then threw. */
  failLate(tx: Transactor, run: R, error: string): void;
  /** The error of an attempt whose file is gone or not loaded; null when the run waits for the file. */
  errorWithoutFile(run: R): string | null;
}

/**
 * An attempt that has ended. `next`: the run is `over` (or has failed for good), waits for another attempt, or `stays` as
 * it is until the next start of the service or the next load of its file.
 */
export interface AttemptEnd {
  readonly outcome: ScriptOutcome;
  readonly next: "over" | "stays" | Postponement;
}

export interface LifeCycleOptions<R extends HandlerRun> {
  readonly store: RunStore<R>;
  readonly log: RunLog;
  readonly logger: Logger;
  /** Calls the handler in a script process. */
  readonly call: (task: ScriptTask) => Promise<ScriptOutcome>;
  /** The time by which runs are due, in milliseconds since 1970. */
  readonly now: () => number;
}

/** An attempt under way: `left` resolves when the handler has ended, `end` when that is on disk. Neither rejects. */
export interface AttemptUnderWay {
  readonly left: Promise<unknown>;
  readonly end: Promise<AttemptEnd["next"]>;
}

export class RunLifeCycle<R extends HandlerRun> {
  readonly #options: LifeCycleOptions<R>;

  constructor(options: LifeCycleOptions<R>) {
    this.#options = options;
  }

  /**
   * Makes an attempt. `begun` resolves when its begin is on disk, with false when the write failed; `outcome`
   * when the handler has ended, and `end` when that is on disk. No promise rejects.
   */
  attempt(
    run: R,
    task: RunTask,
  ): { begun: Promise<boolean>; outcome: Promise<ScriptOutcome>; end: Promise<AttemptEnd> } {
    const { store, log } = this.#options;
    const begin = store.begin(run);
    // The handler need not wait for the write: the writes of a run are in order.
    const begun = begin === null ? Promise.resolve(true) : log.write(begin);
    const outcome = this.#options.call({ ...task, onStray: this.#strayListener(run) });
    return { begun, outcome, end: this.#follow(run, outcome) };
  }

  /**
   * Prepares and makes an attempt for the dispatcher. A run that cannot be prepared stays in the table.
   * @param prepare answers the run with its task, or `over` for a run that is not to be made.
   */
  dispatch(prepare: () => Promise<{ run: R; task: RunTask } | "over" | "stays">): AttemptUnderWay {
    const left = Promise.withResolvers<void>();
    const make = async (): Promise<AttemptEnd["next"]> => {
      const prepared = await prepare();
      if (typeof prepared === "string") return prepared;
      const { outcome, end } = this.attempt(prepared.run, prepared.task);
      await outcome;
      left.resolve();
      return (await end).next;
    };
    const end = make().catch((error): "stays" => {
      this.#options.logger.error("A run could not be made; it waits for the next load of its file", { error });
      return "stays";
    });
    return { left: left.promise, end: end.finally(left.resolve) };
  }

  async #follow(run: R, called: Promise<ScriptOutcome>): Promise<AttemptEnd> {
    const startedAt = performance.now();
    const outcome = await called;
    const durationMs = Math.round(performance.now() - startedAt);
    return { outcome, next: await this.#end(run, outcome, durationMs) };
  }

  async #end(run: R, outcome: ScriptOutcome, durationMs: number): Promise<AttemptEnd["next"]> {
    const { store, log } = this.#options;
    if (outcome.status === "completed") {
      const isWritten = await log.write((tx) => store.complete(tx, run, durationMs));
      return isWritten ? "over" : "stays";
    }
    if (outcome.status === "failed") return this.#fail(run, outcome.error, durationMs);
    const message = outcome.status === "gone" ? store.errorWithoutFile(run) : null;
    return message === null ? "stays" : this.#fail(run, { message }, durationMs);
  }

  async #fail(run: R, { message: error, stack }: ScriptError, durationMs: number): Promise<AttemptEnd["next"]> {
    const { store, log, logger, now } = this.#options;
    const failures = run.failures + 1;
    const isLast = failures > run.policy.retries;
    const pauseMs = run.policy.pauseMs(failures);
    const retry = isLast ? "" : `; tried again in ${pauseMs / 1_000} s`;
    const fields = { runId: run.runId, ...run.logFields, attempt: failures, stack };
    logger.error(`${run.label} failed: ${error}${retry}`, fields);
    const next: Postponement = { failures, notBefore: now() + pauseMs };
    const isWritten = await log.write((tx) =>
      isLast ? store.fail(tx, run, { error, durationMs }) : store.postpone(tx, run, { error, next }),
    );
    if (!isWritten) return "stays";
    return isLast ? "over" : next;
  }

  /** Made here, the listener, which is kept for long, holds on to the run alone and not to its task. */
  #strayListener(run: R): (error: ScriptError) => void {
    const { store, log, logger } = this.#options;
    return ({ message, stack }) => {
      logger.error(`${run.label} failed: ${message}`, { runId: run.runId, ...run.logFields, stack });
      void log.write((tx) => store.failLate(tx, run, message));
    };
  }
}
