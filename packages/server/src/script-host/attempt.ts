/** An attempt: one call of a handler, from the task that asks for it to its outcome. */
import type { System } from "../kernel/index.ts";
import type { LogMessage, RunInput, ScriptError, ScriptExports } from "./protocol.ts";

/** The handler to call, and the data that it is called with. */
export interface ScriptTask {
  readonly path: string;
  /** The name of the export. */
  readonly handler: string;
  readonly timeoutMs: number;
  readonly input: RunInput;
  /** The principal that the handler acts as. */
  readonly principal: System;
  /** Called with the first error that the handler's code throws after the attempt has completed. */
  onStray?(error: ScriptError): void;
  /** Called with each log entry of the attempt, which the service logs too. */
  onLog?(entry: Pick<LogMessage, "level" | "message" | "fields">): void;
}

/**
 * The end of an attempt. `stopped`: the service stops, and nothing is known of how far the handler came. `gone`: the
 * file was deleted, or is not loaded.
 */
export type ScriptOutcome =
  | { readonly status: "completed" }
  | { readonly status: "failed"; readonly error: ScriptError }
  | { readonly status: "stopped" | "gone" };

/** The result of loading a file: its exports, or the reason why it cannot be loaded. */
export type Loaded = { readonly exports: ScriptExports } | { readonly error: ScriptError };

/** One call of a handler. The states are drawn in scheduler.ts. */
export class Attempt {
  /** Unique among the attempts of a supervisor. */
  readonly id: number;
  readonly task: ScriptTask;
  /** The time of the handler's start (`performance.now`); null before it. */
  startedAt: number | null = null;
  /** Polls of the limits since the attempt was sent without a start, or since it was aborted without an end. */
  silentPolls = 0;
  isAborted = false;
  /** Times that the attempt could not be made in quarantine, because its file did not load there. */
  failedIsolations = 0;
  /** Times that a signal from outside ended a process in which the attempt was alone. */
  outsideKills = 0;
  readonly outcome: Promise<ScriptOutcome>;
  readonly #resolve: (outcome: ScriptOutcome) => void;

  constructor(id: number, task: ScriptTask) {
    this.id = id;
    this.task = task;
    const { promise, resolve } = Promise.withResolvers<ScriptOutcome>();
    this.outcome = promise;
    this.#resolve = resolve;
  }

  settle(outcome: ScriptOutcome): void {
    this.#resolve(outcome);
  }

  fail(message: string): void {
    this.settle({ status: "failed", error: { message } });
  }

  /** Back to the state `waiting`, for another process. */
  reset(): void {
    this.startedAt = null;
    this.silentPolls = 0;
    this.isAborted = false;
  }
}
