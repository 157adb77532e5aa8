/** The log of attempts: entries of handlers, and errors thrown after their attempt has ended. */
import { BoundedMap } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Attempt, ScriptTask } from "./attempt.ts";
import type { StrayMessage } from "./process.ts";
import type { LogMessage } from "./protocol.ts";

/** Attempts that have ended and are remembered for late entries and errors. */
const maxEnded = 1_000;

/** An attempt that has ended. Its input is not kept. */
interface EndedAttempt {
  readonly path: string;
  readonly runId: string;
  /** Called with the first late error of an attempt that had completed. */
  onStray: ScriptTask["onStray"];
}

export class AttemptLog {
  readonly #logger: Logger;
  readonly #ended = new BoundedMap<number, EndedAttempt>(maxEnded);

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Remembers an attempt that has ended. */
  ended({ id, task }: Attempt, hasCompleted: boolean): void {
    const { path, input, onStray } = task;
    this.#ended.set(id, { path, runId: input.runId, onStray: hasCompleted ? onStray : undefined });
  }

  /** @param attempt the attempt under way that wrote the message; null when no such attempt is known. */
  write({ attempt: id, level, message, fields }: LogMessage, attempt: Attempt | null): void {
    const ended = id === null ? undefined : this.#ended.get(id);
    const file = attempt?.task.path ?? ended?.path;
    const about = file === undefined ? {} : { file, runId: attempt?.task.input.runId ?? ended?.runId };
    const { debug, info, warn, error } = this.#logger;
    const write = { DEBUG: debug, INFO: info, WARN: warn, ERROR: error }[level];
    write.call(this.#logger, message, { ...fields, ...about });
    attempt?.task.onLog?.({ level, message, ...(fields === undefined ? {} : { fields }) });
  }

  /** The first late error of an attempt that had completed makes the attempt a failed one; all other errors are logged. */
  stray({ attempt: id, error }: StrayMessage): void {
    const ended = id === null ? undefined : this.#ended.get(id);
    if (ended?.onStray !== undefined) {
      const tell = ended.onStray;
      ended.onStray = undefined;
      tell({ ...error, message: `Thrown after the handler had returned: ${error.message}` });
      return;
    }
    const { stack } = error;
    this.#logger.error(`Uncaught error in functions or jobs: ${error.message}`, { stack });
  }
}
