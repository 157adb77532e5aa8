import type { System } from "../kernel/index.ts";
import type { LogMessage, RunInput, ScriptError, ScriptExports } from "./protocol.ts";

/** What a handler is to be run for. */
export interface ScriptTask {
  readonly path: string;
  /** The name of the export. */
  readonly handler: string;
  readonly timeoutMs: number;
  readonly input: RunInput;
  /** As whom it acts. */
  readonly principal: System;
  /** Told of an error that came to light after the run had completed. */
  onStray?(error: ScriptError): void;
  /** Has the log of the run, too. */
  onLog?(entry: Pick<LogMessage, "level" | "message" | "fields">): void;
}

/**
 * `stopped`: the service ends, and nothing is known of how far the handler came. `gone`: the file is not there any more,
 * or not loaded.
 */
export type ScriptOutcome =
  | { readonly status: "completed" }
  | { readonly status: "failed"; readonly error: ScriptError }
  | { readonly status: "stopped" | "gone" };

/** What became of a file: what it exports, or why it cannot be loaded. */
export type Loaded = { readonly exports: ScriptExports } | { readonly error: ScriptError };

/** A task on its way: one call of a handler. */
export class Attempt {
  readonly id: number;
  readonly task: ScriptTask;
  /** When the handler was called (`performance.now`); null while it waits for that. */
  startedAt: number | null = null;
  /** Turns of the watch since it was sent, without a start; or since it was told that its time is up. */
  silentTurns = 0;
  isAborted = false;
  /** How often it could not be made alone. */
  trials = 0;
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

  /** Back to where it was before a process had it. */
  reset(): void {
    this.startedAt = null;
    this.silentTurns = 0;
    this.isAborted = false;
  }
}
