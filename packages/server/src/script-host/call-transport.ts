/** The transport of calls: takes the calls of one script process, has the service answer them, and sends the answers. */
import { AppError, Gate } from "../kernel/index.ts";
import type { Attempt, ScriptTask } from "./attempt.ts";
import type { HostProcess } from "./host-process.ts";
import type { CallError, CallMessage, ToChild } from "./protocol.ts";

export interface CallOptions {
  /** Answers a call of the user's code. An error that it throws refuses the call. */
  readonly answer: (call: CallMessage, caller: Caller) => Promise<unknown>;
  /** The error as the user's code gets it. */
  readonly toCallError: (thrown: unknown, method: string) => CallError;
}

/** The attempt that calls. */
export interface Caller {
  readonly task: ScriptTask;
  /** Milliseconds until its time is up. */
  readonly remainingMs: number;
  /** Sends a part of the answer, and resolves when the process has taken it. */
  part(value: unknown): Promise<void>;
}

/** Methods with large arguments or answers. */
const large: ReadonlySet<string> = new Set(["db.list", "db.page", "db.query", "storage.read", "storage.put"]);
/** Calls of these methods that are answered at a time, for each process. */
const maxLarge = 2;

export class CallTransport {
  readonly #process: HostProcess<ToChild>;
  readonly #options: CallOptions;
  readonly #gate = new Gate(maxLarge);
  /** Calls that wait until the process has taken a part. */
  readonly #parts = new Map<number, PromiseWithResolvers<void>>();
  #isOver = false;

  constructor(process: HostProcess<ToChild>, options: CallOptions) {
    this.#process = process;
    this.#options = options;
  }

  /** @param attempt the one that calls; null when it has ended. */
  async answer(message: CallMessage, attempt: Attempt | null): Promise<void> {
    const { call, method } = message;
    try {
      if (attempt === null) throw new AppError("unavailable", `${method} was called after the end of its run.`);
      const work = (): Promise<unknown> => {
        if (this.#isOver) throw new ProcessLost();
        return this.#options.answer(message, this.#callerOf(attempt, call));
      };
      const value = await (large.has(method) ? this.#gate.run(work) : work());
      this.#process.send({ type: "answer", call, value });
    } catch (thrown) {
      // The process that would get the answer has ended.
      if (thrown instanceof ProcessLost) return;
      this.#process.send({ type: "refuse", call, error: this.#options.toCallError(thrown, method) });
    }
  }

  /** The process has taken a part. */
  taken(call: number): void {
    this.#parts.get(call)?.resolve();
    this.#parts.delete(call);
  }

  /** The process has ended. */
  end(): void {
    this.#isOver = true;
    for (const { reject } of this.#parts.values()) reject(new ProcessLost());
    this.#parts.clear();
  }

  #callerOf(attempt: Attempt, call: number): Caller {
    const { task, startedAt } = attempt;
    return {
      task,
      // A getter, as the call may wait before it is answered.
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
