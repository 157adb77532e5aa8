/** A bounded queue before scarce work, with a share for each caller. */
import { callerGone, type LimitName, overloaded } from "./limits.ts";

export interface FairGateOptions {
  /** The bound that a refusal counts for. */
  readonly limit: LimitName;
  /** The message of a refusal. */
  readonly message: string;
  /** Pieces of work that run at a time. */
  readonly width: number;
  /** Of these, at most so many for one caller. */
  readonly share: number;
  /** Pieces of work that wait, of all callers. */
  readonly maxWaiting: number;
  /** Of these, at most so many for one caller. */
  readonly waitingShare: number;
}

/** After this time, half of a caller's use no longer counts. */
const halfLifeMs = 5_000;
/** Work that waits for so long, of a caller of which nothing was started for so long, goes first. */
const overdueMs = 5_000;
/** A caller that has used less than this is forgotten. */
const forgottenMs = 1;
/** With more callers than these, it is looked which can be forgotten. */
const manyCallers = 1_000;

interface Caller {
  running: number;
  waiting: number;
  /** Milliseconds of work, as of `usedAt`; older work counts less. */
  usedMs: number;
  usedAt: number;
  /** When work of the caller was started last. */
  startedAt: number;
}

interface Waiting {
  readonly caller: string;
  readonly since: number;
  readonly start: () => void;
}

/**
 * Lets `width` pieces of work run at a time. The next to start is that of the caller who has used the least time of
 * late: short work overtakes long work, and one caller never keeps all others waiting. New callers do not keep one with
 * some use waiting for ever: after five seconds without a start, a caller's oldest work goes first. Beyond the bounds
 * of the queue, work is refused at once.
 */
export class FairGate {
  readonly #options: FairGateOptions;
  readonly #now: () => number;
  readonly #callers = new Map<string, Caller>();
  #waiting: Waiting[] = [];
  #running = 0;

  /** @param now milliseconds that never run backwards. */
  constructor(options: FairGateOptions, now: () => number = () => performance.now()) {
    this.#now = now;
    this.#options = options;
  }

  /** Whether work waits for a slot. */
  get isWanted(): boolean {
    return this.#waiting.length > 0;
  }

  /**
   * Runs `work` when it is the caller's turn.
   * @param caller a user id or an address, by which shares count.
   * @param signal when it is aborted while the work waits, its slot in the queue is free at once.
   * @throws AppError `unavailable` when the queue is full; the errors of `work`.
   */
  async run<T>(caller: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.take(caller, signal);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /**
   * Waits for a slot. Answers how to give it back; a second call of that does nothing.
   * @throws AppError as `run`.
   */
  async take(caller: string, signal?: AbortSignal): Promise<() => void> {
    if (signal?.aborted === true) throw callerGone();
    const { width, share, maxWaiting, waitingShare, limit, message } = this.#options;
    const state = this.#stateOf(caller);
    if (this.#running < width && state.running < share) return this.#start(state);
    if (this.#waiting.length >= maxWaiting || state.waiting >= waitingShare) throw overloaded(limit, message);
    return this.#wait(caller, state, signal);
  }

  #wait(caller: string, state: Caller, signal: AbortSignal | undefined): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting = this.#waiting.filter((each) => each !== entry);
        state.waiting -= 1;
        this.#forgetIdle();
        reject(callerGone());
      };
      const start = (): void => {
        signal?.removeEventListener("abort", leave);
        state.waiting -= 1;
        resolve(this.#start(state));
      };
      const entry: Waiting = { caller, since: this.#now(), start };
      state.waiting += 1;
      this.#waiting.push(entry);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  #start(state: Caller): () => void {
    this.#running += 1;
    state.running += 1;
    const startedAt = this.#now();
    state.startedAt = startedAt;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#running -= 1;
      state.running -= 1;
      const now = this.#now();
      state.usedMs = usedAt(state, now) + now - startedAt;
      state.usedAt = now;
      this.#startNext();
      this.#forgetIdle();
    };
  }

  #startNext(): void {
    const { width, share } = this.#options;
    while (this.#running < width) {
      const next = this.#next(share);
      if (next === undefined) return;
      this.#waiting = this.#waiting.filter((entry) => entry !== next);
      next.start();
    }
  }

  #next(share: number): Waiting | undefined {
    const now = this.#now();
    let next: Waiting | undefined;
    let leastUsed = Number.POSITIVE_INFINITY;
    for (const entry of this.#waiting) {
      const state = this.#stateOf(entry.caller);
      if (state.running >= share) continue;
      // The oldest comes first.
      if (now - Math.max(entry.since, state.startedAt) > overdueMs) return entry;
      const used = usedAt(state, now);
      if (used >= leastUsed) continue;
      next = entry;
      leastUsed = used;
    }
    return next;
  }

  #stateOf(caller: string): Caller {
    let state = this.#callers.get(caller);
    if (state === undefined) {
      state = { running: 0, waiting: 0, usedMs: 0, usedAt: this.#now(), startedAt: Number.NEGATIVE_INFINITY };
      this.#callers.set(caller, state);
    }
    return state;
  }

  /** Keeps the memory for callers bounded: those without work whose use is long ago are forgotten. */
  #forgetIdle(): void {
    if (this.#callers.size < manyCallers) return;
    const now = this.#now();
    for (const [caller, state] of this.#callers)
      if (state.running === 0 && state.waiting === 0 && usedAt(state, now) < forgottenMs) this.#callers.delete(caller);
    // So many callers within seconds: all use is forgotten rather than memory taken for it.
    if (this.#callers.size < manyCallers * 4) return;
    for (const [caller, state] of this.#callers)
      if (state.running === 0 && state.waiting === 0) this.#callers.delete(caller);
  }
}

/** The use of a caller at a moment: older work counts less. */
function usedAt({ usedMs, usedAt: at }: Caller, now: number): number {
  return usedMs * 0.5 ** ((now - at) / halfLifeMs);
}
