import { AppError, Gate } from "../kernel/index.ts";
import type { Attempt, ScriptTask } from "./attempt.ts";
import type { ScriptProcess } from "./host-process.ts";
import type { CallError, CallMessage } from "./protocol.ts";

export interface CallOptions {
  /** Answers a call of the user's code. What it throws is refused. */
  readonly answer: (call: CallMessage, caller: Caller) => Promise<unknown>;
  /** What the user's code is told of an error. */
  readonly toCallError: (thrown: unknown, method: string) => CallError;
}

/** Who calls, and until when an answer is of use. */
export interface Caller {
  readonly task: ScriptTask;
  /** Milliseconds until its time is up. */
  readonly remainingMs: number;
  /** Sends a piece of the answer ahead, and resolves when it was taken. */
  part(value: unknown): Promise<void>;
}

/** Methods whose arguments or answers may be large. */
const large: ReadonlySet<string> = new Set(["db.list", "db.query", "storage.read", "storage.put"]);
/** Of these, so many calls of a process are answered at a time. */
const maxLarge = 2;

/** The calls that one process makes. */
export class Calls {
  readonly #process: ScriptProcess;
  readonly #options: CallOptions;
  readonly #gate = new Gate(maxLarge);
  /** Calls whose last part was not taken yet. */
  readonly #parts = new Map<number, PromiseWithResolvers<void>>();
  #isOver = false;

  constructor(process: ScriptProcess, options: CallOptions) {
    this.#process = process;
    this.#options = options;
  }

  /** @param attempt null when the one that calls is over. */
  async answer(message: CallMessage, attempt: Attempt | null): Promise<void> {
    const { call, method } = message;
    try {
      if (attempt === null) throw new AppError("unavailable", `${method} was called after the end of its run.`);
      const work = (): Promise<unknown> => {
        if (this.#isOver) throw new ProcessLost();
        return this.#options.answer(message, this.#callerOf(attempt, call));
      };
      const value = await (large.has(method) ? this.#gate.run(work) : work());
      this.#process.send({ kind: "answer", call, value });
    } catch (thrown) {
      // Nobody is left to be told.
      if (thrown instanceof ProcessLost) return;
      this.#process.send({ kind: "refuse", call, error: this.#options.toCallError(thrown, method) });
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
      // Asked when its turn has come.
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
    this.#process.send({ kind: "part", call, value });
    return taken.promise;
  }
}

/** The process ended while an answer was on its way. */
class ProcessLost extends Error {
  override readonly name = "ProcessLost";
}
