/**
 * Quarantine: finds out which attempt ended a process that had several. Each attempt is made again, alone in a separate process
 * beside the main process, so that no other run waits meanwhile; an attempt in a process that ends again has failed.
 */
import { Admission } from "../../base/kernel/index.ts";
import type { Attempt } from "./attempt.ts";
import type { Loss, ScriptProcess } from "./process.ts";

/** Processes of the quarantine at a time. */
const width = 3;
/** Signals by which an operator, or a machine that is out of memory, ends processes. */
const outsideSignals: readonly string[] = ["SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"];
/** Times that a signal may end the process of an attempt before the attempt is blamed: the attempt may have sent the signal. */
const maxOutsideKills = 3;

/**
 * The attempt that has ended a process: the only attempt that the process ever had. Null after several attempts, or when the
 * process was killed from outside, which is counted for the attempt.
 */
export function culpritOf({ started, everSent, signal }: Loss): Attempt | null {
  const [only] = started;
  if (only === undefined || everSent > 1) return null;
  // A client waits for a request, and can repeat the request.
  if (only.task.isSafe === true || signal === null || !outsideSignals.includes(signal)) return only;
  only.outsideKills += 1;
  return only.outsideKills > maxOutsideKills ? only : null;
}

export class Quarantine {
  readonly #open: () => ScriptProcess;
  readonly #admission = new Admission({ width });
  readonly #processes = new Set<ScriptProcess>();
  #isStopped = false;

  /** @param open starts a process. Throws Error when the system starts no process. */
  constructor(open: () => ScriptProcess) {
    this.#open = open;
  }

  /**
   * Makes an attempt alone and settles the attempt. Answers whether that was possible: false when the file does not load in a
   * separate process, and the attempt is not settled. Never rejects.
   */
  async isolate(attempt: Attempt): Promise<boolean> {
    try {
      return await this.#admission.run(async () => {
        while (!this.#isStopped && !attempt.isSettled) {
          const isSettled = await this.#tryAlone(attempt);
          if (isSettled !== null) return isSettled;
        }
        return true;
      });
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

  /** A process for a single attempt. Answers as `isolate`; null when the process was lost for another reason. */
  async #tryAlone(attempt: Attempt): Promise<boolean | null> {
    const process = this.#open();
    this.#processes.add(process);
    process.standBack();
    try {
      const { loaded } = await process.loadFile(attempt.task.path);
      if ("error" in loaded) return this.#isStopped;
      process.call(attempt);
      const end = await Promise.race([attempt.outcome.then(() => null), process.exited]);
      if (end === null) return true;
      const loss = process.release(end);
      const culprit = culpritOf(loss);
      if (culprit === null) return null;
      culprit.settle({ status: "lost", message: loss.message });
      return true;
    } finally {
      process.close();
      this.#processes.delete(process);
    }
  }
}
