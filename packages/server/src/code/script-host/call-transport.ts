/** The transport of calls: takes the calls of a script process to the service, and the answers back. */
import { Admission, AppError } from "../../base/kernel/index.ts";
import type { Attempt, ScriptTask } from "./attempt.ts";
import type { HostProcess } from "./host-process.ts";
import type { CallError, CallMessage, ToChild } from "./protocol.ts";

/** The service, which answers the calls of the user's code. */
export interface CallAnswers {
  /** A thrown error refuses the call. */
  answer(call: CallMessage, caller: Caller): Promise<unknown>;
  /** The error as the user's code gets it. */
  toCallError(thrown: unknown, method: string): CallError;
}

/** The attempt that calls. */
export interface Caller {
  readonly task: ScriptTask;
  /** Milliseconds until its time is up. */
  readonly remainingMs: number;
  /** Sends a part of the answer. Resolves when the process has taken the part. */
  part(value: unknown): Promise<void>;
}

/** Methods with large arguments or answers. */
const large: ReadonlySet<string> = new Set(["db.list", "db.page", "db.query", "storage.read", "storage.put"]);
/** Calls of these methods that are answered at a time, for each process. */
const maxLarge = 2;

export class CallTransport {
  readonly #process: HostProcess<ToChild>;
  readonly #answers: CallAnswers;
  readonly #admission = new Admission({ width: maxLarge });
  /** Calls that wait until the process has taken a part. */
  readonly #parts = new Map<number, PromiseWithResolvers<void>>();
  #isOver = false;

  constructor(process: HostProcess<ToChild>, answers: CallAnswers) {
    this.#process = process;
    this.#answers = answers;
  }

  /** @param attempt the calling attempt; null when the attempt has ended. */
  async answer(message: CallMessage, attempt: Attempt | null): Promise<void> {
    const { call, method } = message;
    try {
      if (attempt === null) throw new AppError("unavailable", `${method} was called after the end of its run.`);
      const work = (): Promise<unknown> => {
        if (this.#isOver) throw new ProcessLost();
        return this.#answers.answer(message, this.#callerOf(attempt, call));
      };
      const value = await (large.has(method) ? this.#admission.run(work) : work());
      this.#process.send({ type: "answer", call, value });
    } catch (thrown) {
      // The process that would get the answer has ended.
      if (thrown instanceof ProcessLost) return;
      this.#process.send({ type: "refuse", call, error: this.#answers.toCallError(thrown, method) });
    }
  }

  /** The process has taken a part. */
  taken(call: number): void {
    this.#parts.get(call)?.resolve();
    this.#parts.delete(call);
  }

  processEnded(): void {
    this.#isOver = true;
    for (const { reject } of this.#parts.values()) reject(new ProcessLost());
    this.#parts.clear();
  }

  #callerOf(attempt: Attempt, call: number): Caller {
    const { task, startedAt } = attempt;
    return {
      task,
      // A getter, as the call may wait before the answer.
      get remainingMs() {
        return task.timeoutMs - (performance.now() - (startedAt ?? performance.now()));
      },
      part: (value) => this.#send(call, value),
    };
  }

  #send(call: number, value: unknown): Promise<void> {
    if (this.#isOver) return Promise.reject(new ProcessLost());
    const taken = Promise.withResolvers<void>();
    this.#parts.set(call, taken);
    this.#process.send({ type: "part", call, value });
    return taken.promise;
  }
}

/** The process ended while an answer was on its way. */
class ProcessLost extends Error {
  override readonly name = "ProcessLost";
}
