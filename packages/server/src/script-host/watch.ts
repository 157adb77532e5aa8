import type { Attempt } from "./attempt.ts";

const turnMs = 100;
const idleTurnMs = 2_000;
/** Turns in which a process must start what it was sent, or answer that it has aborted an attempt. */
const graceTurns = 10;

export type EndReason = "hang" | "memory";

export interface Watched {
  readonly attempts: Iterable<Attempt>;
  /** Bytes; null where that is not known. */
  readonly residentBytes: number | null;
}

/** Looks, ten times a second while something runs, at the time of each attempt and at the memory of all. */
export class Watch {
  readonly #memoryLimit: number;
  readonly #look: () => Watched | null;
  readonly #abort: (attempt: Attempt) => void;
  readonly #end: (reason: EndReason) => void;
  #timer: Timer | null = null;
  #isSoon = false;

  constructor(options: {
    /** Bytes. */
    memoryLimit: number;
    /** Null while there is nothing to watch. */
    look: () => Watched | null;
    /** The attempt's time is up. */
    abort: (attempt: Attempt) => void;
    /** The process must be ended. */
    end: (reason: EndReason) => void;
  }) {
    this.#memoryLimit = options.memoryLimit;
    this.#look = options.look;
    this.#abort = options.abort;
    this.#end = options.end;
  }

  /** Something runs from now on. */
  wake(): void {
    if (!this.#isSoon) this.#arm(true);
  }

  stop(): void {
    clearTimeout(this.#timer ?? undefined);
  }

  #arm(isSoon: boolean): void {
    clearTimeout(this.#timer ?? undefined);
    this.#isSoon = isSoon;
    this.#timer = setTimeout(() => this.#turn(), isSoon ? turnMs : idleTurnMs);
    if (!isSoon) this.#timer.unref();
  }

  #turn(): void {
    const watched = this.#look();
    const attempts = [...(watched?.attempts ?? [])];
    if (watched !== null) {
      if ((watched.residentBytes ?? 0) > this.#memoryLimit) this.#end("memory");
      else if (this.#isSilent(attempts)) this.#end("hang");
    }
    this.#arm(attempts.length > 0);
  }

  /** Turns are counted, not time: when the service itself was held up, answers may wait to be read. */
  #isSilent(attempts: readonly Attempt[]): boolean {
    const now = performance.now();
    const started = attempts.filter(({ startedAt }) => startedAt !== null);
    for (const attempt of started) {
      if (now - (attempt.startedAt ?? now) < attempt.task.timeoutMs) continue;
      if (!attempt.isAborted) this.#abort(attempt);
      attempt.isAborted = true;
      attempt.silentTurns += 1;
    }
    // Where a handler runs, others may have to wait for it. Where none does, what is left of an earlier one holds them up.
    if (started.length === 0) {
      for (const attempt of attempts) attempt.silentTurns += 1;
      return attempts.some(({ silentTurns }) => silentTurns > graceTurns);
    }
    // The last one to start may compute for as long as it may run.
    const last = started.reduce((a, b) => ((a.startedAt ?? 0) > (b.startedAt ?? 0) ? a : b));
    return last.silentTurns > graceTurns;
  }
}
