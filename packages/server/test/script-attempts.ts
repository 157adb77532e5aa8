/** Attempts and script processes of unit tests: no code of a user runs, the test answers as `FakeProcess`. */
import { system } from "../src/base/kernel/index.ts";
import { Attempt, type CallOutcome, runOutcome, type ScriptTask } from "../src/code/script-host/attempt.ts";
import { ScriptProcess } from "../src/code/script-host/process.ts";
import type { FromChild } from "../src/code/script-host/protocol.ts";
import { FakeProcess } from "./fake-process.ts";
import { quietLogger } from "./kit.ts";

export function task(runId: string, more: Partial<ScriptTask> = {}): ScriptTask {
  const input = { runId, attempt: 1, user: null };
  return { path: "jobs/a.ts", handler: "default", timeoutMs: 60_000, input, principal: system, ...more };
}

export function attempt(runId: string, more: Partial<ScriptTask> = {}): Attempt {
  return new Attempt(task(runId, more));
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

  /** Opens a process for runs. */
  open({ log = [] as string[], memoryLimit = 1_000, onSilent = (): void => undefined } = {}): ScriptProcess {
    const contents = "functions and jobs";
    const common = { calls, spawn: this.spawn, code: [], contents, isAwaited: false, isAskedAgain: false };
    const listener = { onEnded: () => undefined, onSilent };
    return new ScriptProcess({ ...common, memoryLimit, logger: quietLogger(log) }, listener);
  }
}

/** No call of a fake process is answered. */
export const calls = { answer: () => Promise.resolve(null) };

/** The outcome as the end of a run, in a word: its status, or the message of its error. */
export async function outcomeOf(each: Attempt | Promise<CallOutcome>): Promise<string> {
  const outcome = runOutcome(await (each instanceof Attempt ? each.outcome : each), 60_000);
  return outcome.status === "failed" ? outcome.error.message : outcome.status;
}
