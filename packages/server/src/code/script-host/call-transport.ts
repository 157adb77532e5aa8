/** The transport of calls: takes the calls of a script process to the service, and the answers back. */
import { Admission, AppError, type PlainAppError, plainAppError } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Attempt, ScriptTask } from "./attempt.ts";
import type { HostProcess } from "./host-process.ts";
import type { CallMessage, ToChild } from "./protocol.ts";
import { longQueryMs } from "./query-pool.ts";

/** The service, which answers the calls of the user's code. */
export interface CallAnswers {
  /** Undefined when all of the answer was sent in parts. A thrown error refuses the call. */
  answer(call: CallMessage, caller: Caller): Promise<unknown>;
}

export interface Caller {
  readonly task: ScriptTask;
  /** Milliseconds until the time is up. */
  readonly remainingMs: number;
  /** Resolves when the attempt has ended. */
  readonly ended: Promise<unknown>;
  /** See `CallMessage`. */
  readonly as: string | undefined;
  /** Sends a part of the answer. Resolves when the process has taken the part. */
  part(value: unknown): Promise<void>;
}

/** Methods with large arguments or answers. */
const large: ReadonlySet<string> = new Set(["db.list", "db.page", "db.query", "storage.read", "storage.put"]);
/** Calls of these methods that are answered at a time, for each process. */
const maxLarge = 3;
/** Calls of these methods of a file that are answered at a time. */
const maxLargeOfFile = 2;
/** Characters of an answer that is sent without a place: the process need not say that the answer was taken. */
const smallAnswer = 16 * 1024;
const processLost = new Error("The process ended while an answer was on its way");

export class CallTransport {
  readonly #process: HostProcess<ToChild>;
  readonly #options: { readonly calls: CallAnswers; readonly logger: Logger };
  readonly #admission = new Admission({ width: maxLarge, share: maxLargeOfFile });
  /** Calls that wait until the process has taken a part. */
  readonly #parts = new Map<number, PromiseWithResolvers<void>>();
  #isOver = false;

  constructor(process: HostProcess<ToChild>, options: { calls: CallAnswers; logger: Logger }) {
    this.#process = process;
    this.#options = options;
  }

  /** @param attempt the calling attempt; null when the attempt has ended. */
  async answer(message: CallMessage, attempt: Attempt | null): Promise<void> {
    const { call, method } = message;
    try {
      if (attempt === null) throw new AppError("unavailable", `${method} was called after the end of its run.`);
      const caller = this.#callerOf(attempt, message);
      const work = (): Promise<unknown> => this.#options.calls.answer(message, caller);
      const value = await (large.has(method) ? this.#answerLarge(caller, method, work) : work());
      this.#process.send({ type: "answer", call, value });
    } catch (thrown) {
      if (thrown !== processLost) this.#process.send({ type: "refuse", call, error: this.#plainError(thrown, method) });
    }
  }

  /** The place of a large answer is free when the process has taken the answer, and while a long query runs. */
  async #answerLarge({ task, part }: Caller, method: string, work: () => Promise<unknown>): Promise<unknown> {
    let place = await this.#admission.take({ caller: task.path });
    const timer = method === "db.query" ? setTimeout(() => place.release(), longQueryMs) : undefined;
    try {
      if (this.#isOver) throw processLost;
      const value = await work();
      clearTimeout(timer);
      if (typeof value === "string" && value.length <= smallAnswer) return value;
      if (place.size === 0) place = await this.#admission.takeAgain({ caller: task.path });
      if (value !== undefined) await part(value);
      return undefined;
    } finally {
      clearTimeout(timer);
      place.release();
    }
  }

  /** The error for the user's code. An error that is no `AppError` is a defect; the details go to the log alone. */
  #plainError(thrown: unknown, method: string): PlainAppError {
    if (thrown instanceof AppError) return plainAppError(thrown);
    this.#options.logger.error(`${method} failed`, { error: thrown });
    return { code: "internal_error", message: `${method} failed; the log of the service says why.` };
  }

  /** The process has taken a part. */
  taken(call: number): void {
    this.#parts.get(call)?.resolve();
    this.#parts.delete(call);
  }

  processEnded(): void {
    this.#isOver = true;
    for (const { reject } of this.#parts.values()) reject(processLost);
    this.#parts.clear();
  }

  #callerOf(attempt: Attempt, { call, as }: CallMessage): Caller {
    const { task, startedAt } = attempt;
    return {
      task,
      as,
      ended: attempt.outcome,
      // A getter, as the call may wait before the answer.
      get remainingMs() {
        return task.timeoutMs - (performance.now() - (startedAt ?? performance.now()));
      },
      part: async (value) => {
        if (this.#isOver) throw processLost;
        const taken = Promise.withResolvers<void>();
        this.#parts.set(call, taken);
        this.#process.send({ type: "part", call, value });
        await taken.promise;
      },
    };
  }
}
