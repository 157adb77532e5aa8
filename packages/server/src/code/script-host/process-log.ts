/** The log of a script process: entries and late errors of attempts, also after the end of the attempt. */
import type { JsonValue } from "@socle/protocol";
import { BoundedMap, type Preview } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Attempt, ScriptTask } from "./attempt.ts";
import type { LogMessage, RunInput, ScriptError } from "./protocol.ts";

/** Attempts that have ended and are remembered for late entries of the log and late errors. */
const maxEnded = 1_000;

/** The task of an attempt that has ended. Its input is not kept. */
interface EndedTask extends Pick<ScriptTask, "path" | "onStray"> {
  readonly input: Pick<RunInput, "runId">;
}

export class ProcessLog {
  readonly #logger: Logger;
  readonly #preview: Preview | undefined;
  /** By the number of the attempt. */
  readonly #ended = new BoundedMap<number, EndedTask>(maxEnded);

  /** @param preview takes the entries of the process in the place of the log. */
  constructor(logger: Logger, preview?: Preview) {
    this.#logger = logger;
    this.#preview = preview;
  }

  ended({ number, task }: Attempt, hasCompleted: boolean): void {
    const { path, input, onStray } = task;
    const { runId } = input;
    this.#ended.set(number, { path, input: { runId }, ...(hasCompleted && onStray !== undefined && { onStray }) });
  }

  /** @param underWay the attempt of the entry; undefined when the attempt has ended. */
  write({ attempt, level, message, fields }: LogMessage, underWay: Attempt | undefined): void {
    if (this.#preview !== undefined) {
      // The fields came as JSON.
      const known = fields !== undefined && { fields: fields as { [name: string]: JsonValue } };
      this.#preview.log({ level, message, ...known });
      return;
    }
    const task = underWay?.task ?? (attempt === null ? undefined : this.#ended.get(attempt));
    const about = task === undefined ? {} : { file: task.path, runId: task.input.runId };
    const logger = this.#logger;
    const write = { DEBUG: logger.debug, INFO: logger.info, WARN: logger.warn, ERROR: logger.error }[level];
    write.call(logger, message, { ...fields, ...about });
    underWay?.task.onLog?.({ level, message, ...(fields === undefined ? {} : { fields }) });
  }

  /** The first late error of an attempt that had completed makes the attempt a failed attempt; all other errors are logged. */
  stray(attempt: number | null, { message, stack }: ScriptError): void {
    const ended = attempt === null ? undefined : this.#ended.get(attempt);
    const onStray = ended?.onStray;
    if (onStray === undefined) {
      this.#logger.error(`Uncaught error in functions or jobs: ${message}`, { stack });
      return;
    }
    // Deleted first: a call that throws is no reason for another call.
    delete ended?.onStray;
    onStray({
      message: `Thrown after the handler had returned: ${message}`,
      ...(stack !== undefined && { stack }),
    });
  }
}
