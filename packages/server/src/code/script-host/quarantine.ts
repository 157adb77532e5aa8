/**
 * Quarantine: finds out which attempt ended a process that had several. Each attempt is made again, alone in a process of
 * its own beside the main one, so that no other run waits meanwhile; the attempt whose process ends again has failed.
 */
import { Admission } from "../../base/kernel/index.ts";
import type { Attempt } from "./attempt.ts";
import type { ScriptProcess } from "./process.ts";
import { type Loss, Scheduler, type SchedulerOptions } from "./scheduler.ts";

/** Processes of the quarantine at a time. */
const width = 3;
/** Signals by which an operator, or a machine that is out of memory, ends processes. */
const outsideSignals: readonly string[] = ["SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"];
/** Times that such a signal may end the process of an attempt before the attempt is blamed: the attempt may have sent the signal. */
const maxOutsideKills = 3;

/**
 * The attempt that has ended a process: the only attempt that the process ever had. Null after several attempts, or when the
 * process was killed from outside, which is counted for the attempt.
 */
export function culpritOf({ started, everSent, signal }: Loss): Attempt | null {
  const [only] = started;
  if (only === undefined || everSent > 1) return null;
  if (signal === null || !outsideSignals.includes(signal)) return only;
  only.outsideKills += 1;
  return only.outsideKills > maxOutsideKills ? only : null;
}

export interface QuarantineOptions extends Pick<SchedulerOptions, "memoryLimit" | "logger"> {
  /** Starts a process. @throws Error when the system starts no process. */
  readonly open: (listener: Scheduler) => ScriptProcess;
}

export class Quarantine {
  readonly #options: QuarantineOptions;
  readonly #admission = new Admission({ width });
  readonly #processes = new Set<ScriptProcess>();
  #isStopped = false;

  constructor(options: QuarantineOptions) {
    this.#options = options;
  }

  /**
   * Makes an attempt alone and settles it. Answers whether that was possible: false when its file does not load in a
   * process of its own, and the attempt is not settled. Never rejects.
   */
  async isolate(attempt: Attempt): Promise<boolean> {
    try {
      return await this.#admission.run(() => this.#untilSettled(attempt));
    } catch {
      // The system starts no process now.
      return false;
    }
  }

  /** Ends the processes. To be called before the attempts are settled as stopped. */
  stop(): void {
    this.#isStopped = true;
    for (const process of this.#processes) process.close();
  }

  async #untilSettled(attempt: Attempt): Promise<boolean> {
    while (!this.#isStopped && !attempt.isSettled) {
      const isSettled = await this.#tryAlone(attempt);
      if (isSettled !== null) return isSettled;
      attempt.reset();
    }
    return true;
  }

  /** A process for a single attempt. Answers as `isolate`; null when the process was lost for another reason. */
  async #tryAlone(attempt: Attempt): Promise<boolean | null> {
    const { memoryLimit, logger, open } = this.#options;
    const scheduler = new Scheduler({ capacity: 1, memoryLimit, logger });
    const process = open(scheduler);
    this.#processes.add(process);
    scheduler.attach(process);
    try {
      const { loaded } = await process.load(attempt.task.path);
      if ("error" in loaded) return this.#isStopped;
      scheduler.ready();
      scheduler.add(attempt);
      const end = await Promise.race([attempt.outcome.then(() => null), process.exited]);
      if (end === null) return true;
      const loss = scheduler.detach(end);
      const culprit = culpritOf(loss);
      if (culprit === null) return null;
      culprit.lose(loss.message);
      return true;
    } finally {
      scheduler.close();
      process.close();
      this.#processes.delete(process);
    }
  }
}
