/** An attempt: one call of a handler, from its task to its outcome. */
import type { System } from "../../base/kernel/index.ts";
import type { InvocationAnswer, LogMessage, RefusalData, RunInput, ScriptError, ScriptExports } from "./protocol.ts";

/** The handler to call, and its input. */
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

/** A handler to call whose value a caller waits for. */
export interface ScriptCall extends ScriptTask {
  /** Counted from the call on, with the time of waiting. */
  readonly timeoutMs: number;
  /** Aborted when the caller waits no more. */
  readonly caller?: AbortSignal;
  /** Whether the handler may be called again when its process is lost. */
  readonly isRepeatable: boolean;
}

/**
 * The end of an attempt. `stopped`: the service stops, and nothing is known of how far the handler came. `gone`: the
 * file was deleted, or is not loaded.
 */
export type ScriptOutcome =
  | { readonly status: "completed" }
  | { readonly status: "failed"; readonly error: ScriptError }
  | { readonly status: "stopped" | "gone" };

/**
 * The end of a call. `value` is JSON. `late`: its time is up. `left`: its caller waits no more. `lost`: the process has
 * ended, for a reason that the message says as the predicate of a sentence.
 */
export type CallOutcome =
  | { readonly status: "answered"; readonly value: string }
  | { readonly status: "refused"; readonly refusal: RefusalData }
  | { readonly status: "failed"; readonly error: ScriptError }
  | { readonly status: "lost"; readonly message: string }
  | { readonly status: "late" | "left" | "stopped" | "gone" };

/** The result of loading a file: its exports, or the reason of the failure. */
export type Loaded = { readonly exports: ScriptExports } | { readonly error: ScriptError };

/** One call of a handler. The states are drawn in scheduler.ts. The first end counts. */
export abstract class Attempt {
  /** Unique among the attempts of a supervisor. */
  readonly id: number;
  readonly task: ScriptTask;
  /** The time of the handler's start (`performance.now`); null before the start. */
  startedAt: number | null = null;
  /** Polls of the limits since the attempt was sent and has not started, or was aborted and has not ended. */
  silentPolls = 0;
  isAborted = false;
  /** Times that the attempt could not be made in quarantine, because its file did not load. */
  failedIsolations = 0;
  /** Times that a signal from outside ended a process in which the attempt was alone. */
  outsideKills = 0;

  constructor(id: number, task: ScriptTask) {
    this.id = id;
    this.task = task;
  }

  /** Resolves when the attempt has ended for its caller. Never rejects. */
  abstract get outcome(): Promise<unknown>;
  /** Whether the attempt has ended for its caller. */
  abstract get isSettled(): boolean;
  abstract settle(end: Extract<ScriptOutcome, { status: "failed" | "stopped" | "gone" }>): void;
  /** The process has ended. @param message how, as the predicate of a sentence. */
  abstract lose(message: string): void;
  /** Its time is up. */
  abstract expire(): void;
  /** Whether the attempt may be made again when its process was lost. */
  abstract get isRepeatable(): boolean;

  /** Back to the state `waiting`, for another process. */
  reset(): void {
    this.startedAt = null;
    this.silentPolls = 0;
    this.isAborted = false;
  }
}

/** An attempt of a run, whose value is not used. */
export class RunAttempt extends Attempt {
  readonly #end = Promise.withResolvers<ScriptOutcome>();
  readonly isRepeatable = true;
  isSettled = false;

  get outcome(): Promise<ScriptOutcome> {
    return this.#end.promise;
  }

  settle(outcome: ScriptOutcome): void {
    this.isSettled = true;
    this.#end.resolve(outcome);
  }

  lose(message: string): void {
    this.settle({ status: "failed", error: { message } });
  }

  expire(): void {
    this.lose(`ran longer than its timeout of ${this.task.timeoutMs / 1_000} s`);
  }
}

/** A call whose caller waits for the value. */
export class CallAttempt extends Attempt {
  readonly #end = Promise.withResolvers<CallOutcome>();
  readonly isRepeatable: boolean;
  isSettled = false;

  constructor(id: number, call: ScriptCall) {
    super(id, call);
    this.isRepeatable = call.isRepeatable;
  }

  get outcome(): Promise<CallOutcome> {
    return this.#end.promise;
  }

  settle(outcome: CallOutcome): void {
    this.isSettled = true;
    this.#end.resolve(outcome);
  }

  answer(answer: InvocationAnswer): void {
    if ("value" in answer) this.settle({ status: "answered", value: answer.value });
    else if ("refusal" in answer) this.settle({ status: "refused", refusal: answer.refusal });
    else if ("error" in answer) this.settle({ status: "failed", error: answer.error });
  }

  lose(message: string): void {
    this.settle({ status: "lost", message });
  }

  expire(): void {
    this.settle({ status: "late" });
  }
}
