import { AppError } from "../kernel/index.ts";
import type { ScriptTask } from "./attempt.ts";
import type { ScriptProcess } from "./host-process.ts";
import type { CallError, CallMessage } from "./protocol.ts";

export interface CallOptions {
  /**
   * Answers a call of the user's code. `part` sends a piece of the answer ahead, and resolves when it was taken. What it
   * throws is refused.
   */
  readonly answer: (call: CallMessage, task: ScriptTask, part: Part) => Promise<unknown>;
  /** What the user's code is told of an error. */
  readonly toCallError: (thrown: unknown, method: string) => CallError;
}

export type Part = (value: unknown) => Promise<void>;

/** The calls that one process makes. */
export class Calls {
  readonly #process: ScriptProcess;
  readonly #options: CallOptions;
  /** Calls whose last part was not taken yet. */
  readonly #parts = new Map<number, PromiseWithResolvers<void>>();

  constructor(process: ScriptProcess, options: CallOptions) {
    this.#process = process;
    this.#options = options;
  }

  /** @param task null when the attempt that calls is over. */
  async answer(message: CallMessage, task: ScriptTask | null): Promise<void> {
    const { call, method } = message;
    try {
      if (task === null) throw new AppError("unavailable", `${method} was called after the end of its run.`);
      const value = await this.#options.answer(message, task, (part) => this.#send(call, part));
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
    for (const { reject } of this.#parts.values()) reject(new ProcessLost());
    this.#parts.clear();
  }

  #send(call: number, value: unknown): Promise<void> {
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
