/** Attempts and script processes of unit tests: no code of a user runs, the test answers as `FakeProcess`. */
import { system } from "../src/base/kernel/index.ts";
import { RunAttempt, type ScriptOutcome, type ScriptTask } from "../src/code/script-host/attempt.ts";
import { type ProcessListener, ScriptProcess } from "../src/code/script-host/process.ts";
import type { FromChild } from "../src/code/script-host/protocol.ts";
import { FakeProcess } from "./fake-process.ts";

export function task(runId: string, more: Partial<ScriptTask> = {}): ScriptTask {
  const input = { runId, attempt: 1, user: null };
  return { path: "jobs/a.ts", handler: "default", timeoutMs: 60_000, input, principal: system, ...more };
}

let lastId = 0;

export function attempt(runId: string, more: Partial<ScriptTask> = {}): RunAttempt {
  lastId += 1;
  return new RunAttempt(lastId, task(runId, more));
}

/** Answers `load`; null for no answer, so that the test ends the process. */
export type AnswerLoad = (path: string, process: FakeProcess) => FromChild | null;

/** Starts fake processes, and keeps a list of the processes. */
export class FakeProcesses {
  readonly all: FakeProcess[] = [];
  answerLoad: AnswerLoad | undefined;
  readonly spawn = (say: (message: FromChild) => void): FakeProcess => {
    const process = new FakeProcess(say, this.answerLoad);
    this.all.push(process);
    return process;
  };

  get last(): FakeProcess {
    const last = this.all.at(-1);
    if (last === undefined) throw new Error("No process was started");
    return last;
  }

  open(listener: ProcessListener): ScriptProcess {
    return new ScriptProcess({ calls, spawn: this.spawn, code: [], onError: fail }, listener);
  }
}

/** No call of a fake process is answered. */
export const calls = {
  answer: () => Promise.resolve(null),
  toCallError: () => ({ code: "internal_error", message: "no calls" }) as const,
};

function fail(error: unknown): void {
  throw error;
}

/** The outcome in a word: its status, or the message of its error. */
export async function outcomeOf(each: RunAttempt | Promise<ScriptOutcome>): Promise<string> {
  const outcome = await (each instanceof RunAttempt ? each.outcome : each);
  return outcome.status === "failed" ? outcome.error.message : outcome.status;
}
