/** Limits of the user's code: the time of each attempt, and the memory of a process. */
import type { Attempt } from "./attempt.ts";

const pollMs = 100;
const idlePollMs = 2_000;
/** Polls in which a process must start a sent attempt, or confirm an abort. */
const gracePolls = 10;

/** The limit for which a process is killed. `hang`: the process does not answer any more. */
export type ProcessLimit = "hang" | "memory";

/** The limited process at a moment. */
interface Measured {
  /** The attempts that were sent and have not ended. */
  readonly attempts: Iterable<Attempt>;
  /** Resident memory in bytes; null when unknown. */
  readonly residentBytes: number | null;
}

export interface RunLimitsOptions {
  /** Bytes of resident memory. */
  readonly memoryLimit: number;
  /** Null while there is no process. */
  readonly measure: () => Measured | null;
  /** Called once for an attempt whose time is up. */
  readonly abort: (attempt: Attempt) => void;
  /** Called when the process must be killed. */
  readonly kill: (limit: ProcessLimit) => void;
}

/**
 * Watches the limits, ten times a second while attempts are under way.
 *
 * An attempt beyond its timeout is aborted: its signal fires, and the process confirms. A process that does not confirm
 * within ten polls computes without giving way, and is killed. So is a process that starts nothing it was sent, and a process
 * that has more memory than the limit.
 */
export class RunLimits {
  readonly #options: RunLimitsOptions;
  #timer: Timer | null = null;
  #isSoon = false;

  constructor(options: RunLimitsOptions) {
    this.#options = options;
  }

  /** To be called when a process or an attempt is added. */
  wake(): void {
    if (!this.#isSoon) this.#arm(true);
  }

  stop(): void {
    clearTimeout(this.#timer ?? undefined);
  }

  /** Looks at the limits once. Answers whether attempts are under way. */
  poll(): boolean {
    const measured = this.#options.measure();
    if (measured === null) return false;
    const attempts = [...measured.attempts];
    if ((measured.residentBytes ?? 0) > this.#options.memoryLimit) this.#options.kill("memory");
    else if (this.#hangs(attempts)) this.#options.kill("hang");
    return attempts.length > 0;
  }

  #arm(isSoon: boolean): void {
    clearTimeout(this.#timer ?? undefined);
    this.#isSoon = isSoon;
    this.#timer = setTimeout(() => this.#arm(this.poll()), isSoon ? pollMs : idlePollMs);
    if (!isSoon) this.#timer.unref();
  }

  /** Polls are counted, not time: when the service itself was busy, answers may wait to be read. */
  #hangs(attempts: readonly Attempt[]): boolean {
    const now = performance.now();
    const started = attempts.filter(({ startedAt }) => startedAt !== null);
    for (const attempt of started) {
      // A call whose caller left was aborted before its time was up.
      if (!attempt.isAborted && now - (attempt.startedAt ?? now) < attempt.task.timeoutMs) continue;
      if (!attempt.isAborted) this.#options.abort(attempt);
      attempt.isAborted = true;
      attempt.silentPolls += 1;
    }
    // With no handler under way, the leftovers of an earlier attempt keep the process from starting the sent attempts.
    if (started.length === 0) {
      for (const attempt of attempts) attempt.silentPolls += 1;
      return attempts.some(({ silentPolls }) => silentPolls > gracePolls);
    }
    // The attempt that started last may compute until its timeout, while the other attempts wait. Of attempts that
    // started together, the computing attempt is unknown.
    const lastStart = Math.max(...started.map(({ startedAt }) => startedAt ?? 0));
    return started.some(({ startedAt, silentPolls }) => startedAt === lastStart && silentPolls > gracePolls);
  }
}
