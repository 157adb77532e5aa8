/** Body read limiter: bodies of uploads are read in turns, a few at a time, with a share for each caller. */
import { type AppError, callerGone, FairGate, overloaded } from "../kernel/index.ts";
import { SlowBody } from "./bodies.ts";

/** A body must have come with at least so many bytes per millisecond once its client was waited for `stalledMs`. */
const minRate = 1;
/** When the limiter is full, bodies slower than so many bytes per millisecond are ended. */
const slowRate = 64;

const defaultTiming = {
  /** How long a body may keep others waiting for its next piece. */
  patienceMs: 100,
  /** How long a turn lasts while others wait for one. */
  turnMs: 500,
  /** A body of which nothing comes for so long is ended. */
  stalledMs: 10_000,
  /** When the limiter is full, slow bodies are ended once their clients were waited for so long. */
  slowMs: 1_000,
};

const limit = "uploads";
const message = "Too many uploads wait to be read; try again in a moment.";

/** The client that sends a body. */
export interface Sender {
  /** A user id or an address: shares count by it. */
  readonly caller: string;
  /** Aborted when the client has disconnected: its slot is free at once. */
  readonly signal: AbortSignal;
}

/** The pieces of a body, read in turns. The consumer holds a turn between two of them. */
export type ReadInTurns = (body: ReadableStream<Uint8Array>) => AsyncGenerator<Uint8Array, void, void>;

/** A body that holds a slot: it is being read, it waits for a turn, or its client sends nothing. */
interface ActiveBody {
  readonly caller: string;
  received: number;
  /** Milliseconds for which the client was waited for, up to `since`; the time without a turn is not among them. */
  waitedMs: number;
  /** Since when the client is waited for; null while it is not. */
  since: number | null;
  /** Aborted by `cut`. */
  readonly ending: AbortSignal;
  /** Rejected by `cut`. */
  readonly end: Promise<never>;
  /** Ends the body; its slot is free at once. */
  readonly cut: (error: AppError) => void;
}

/**
 * Bodies are read a few at a time. Each that is being read costs memory several times over (for bytes
 * received, parsed and written); one that waits is held back by its connection. A slow client does not
 * keep the others waiting: its turn ends while nothing comes, and after a while in any case. A client that sends next
 * to nothing does not keep its slot: its body is ended with a `SlowBody`.
 */
export class BodyReadLimiter {
  readonly #gate: FairGate;
  readonly #active = new Set<ActiveBody>();
  readonly #maxActive: number;
  readonly #shareOfActive: number;
  readonly #timing: typeof defaultTiming;

  /**
   * @param options.width bodies that are read at a time; one caller has all of these but one.
   * @param options.maxWaiting bodies that wait, or whose clients send nothing; one caller has at most half of these.
   */
  constructor({ width, maxWaiting }: { width: number; maxWaiting: number }, timing = defaultTiming) {
    this.#maxActive = width + maxWaiting;
    this.#shareOfActive = width + Math.ceil(maxWaiting / 2);
    this.#timing = timing;
    // The slots are the bound: every active body may wait for a turn.
    const share = Math.max(1, width - 1);
    const maxTurns = this.#maxActive;
    this.#gate = new FairGate({ limit, message, width, share, maxWaiting: maxTurns, waitingShare: maxTurns });
  }

  /**
   * Runs `receive`, which reads a body by the function that it is given.
   * @throws AppError `unavailable` before anything is read, when too many bodies wait; the errors of `receive`.
   */
  async run<T>({ caller, signal }: Sender, receive: (read: ReadInTurns) => Promise<T>): Promise<T> {
    if (signal.aborted) throw callerGone();
    this.#makeRoom(caller);
    const active = this.#take(caller);
    const leave = (): void => active.cut(callerGone());
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await receive((body) => this.#read(body, active));
    } finally {
      signal.removeEventListener("abort", leave);
      // Also of a body whose next piece is still waited for.
      leave();
    }
  }

  /**
   * Makes sure that there is a slot, by ending the slowest body if need be: of the caller's alone where it is the
   * caller's share that is full.
   * @throws AppError `unavailable` when none is slow.
   */
  #makeRoom(caller: string): void {
    const own = [...this.#active].filter((active) => active.caller === caller);
    const isShareFull = own.length >= this.#shareOfActive;
    if (!isShareFull && this.#active.size < this.#maxActive) return;
    const now = performance.now();
    const [slowest] = [...(isShareFull ? own : this.#active)]
      .map((active) => ({ active, ms: waitedMs(active, now) }))
      .filter(({ active, ms }) => ms > this.#timing.slowMs && active.received < ms * slowRate)
      .toSorted((a, b) => a.active.received / a.ms - b.active.received / b.ms);
    if (slowest === undefined) throw overloaded(limit, message);
    slowest.active.cut(new SlowBody(limit));
  }

  #take(caller: string): ActiveBody {
    const ending = new AbortController();
    const { promise: end, reject } = Promise.withResolvers<never>();
    // Nobody may listen just then.
    end.catch(() => undefined);
    const active: ActiveBody = {
      caller,
      received: 0,
      waitedMs: 0,
      since: null,
      ending: ending.signal,
      end,
      cut: (error) => {
        this.#active.delete(active);
        reject(error);
        ending.abort();
      },
    };
    this.#active.add(active);
    return active;
  }

  /** The turn ends with the last piece, or a `break`. */
  async *#read(body: ReadableStream<Uint8Array>, active: ActiveBody): AsyncGenerator<Uint8Array, void, void> {
    const { patienceMs, turnMs } = this.#timing;
    let release = await this.#turn(active);
    let since = performance.now();
    // Not before: a body that nobody reads is held back earlier.
    const reader = body.getReader();
    try {
      while (true) {
        const reading = reader.read();
        active.since = performance.now();
        const isSlow = !(await settlesWithin(reading, patienceMs, active.end));
        if (isSlow) {
          release();
          await this.#outlast(reading, active);
        }
        const now = performance.now();
        active.waitedMs = waitedMs(active, now);
        active.since = null;
        const { done, value } = await reading;
        if (done) return;
        active.received += value.byteLength;
        if (active.waitedMs >= this.#timing.stalledMs + active.received / minRate) throw new SlowBody();
        if (isSlow || (now - since > turnMs && this.#gate.isWanted)) {
          release();
          release = await this.#turn(active);
          since = performance.now();
        }
        yield value;
      }
    } finally {
      release();
      // The rest of the body is not needed. A failure to cancel it does not matter.
      reader.cancel().catch(() => undefined);
    }
  }

  async #turn({ caller, ending, end }: ActiveBody): Promise<() => void> {
    const taking = this.#gate.take(caller, ending);
    try {
      return await Promise.race([end, taking]);
    } catch (thrown) {
      // The turn may have come in the same moment.
      void taking.then(
        (release) => release(),
        () => undefined,
      );
      throw thrown;
    }
  }

  /** Waits for a piece that does not come at once. @throws SlowBody when it does not come for too long. */
  async #outlast(reading: Promise<unknown>, { end }: ActiveBody): Promise<void> {
    const { stalledMs, patienceMs } = this.#timing;
    if (!(await settlesWithin(reading, stalledMs - patienceMs, end))) throw new SlowBody();
  }
}

function waitedMs({ waitedMs: before, since }: ActiveBody, now: number): number {
  return before + (since === null ? 0 : now - since);
}

/** Whether `promise` settles in time. It rejects when `end` does so earlier. */
async function settlesWithin(promise: Promise<unknown>, milliseconds: number, end: Promise<never>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), milliseconds);
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late, end]);
  } finally {
    clearTimeout(timer);
  }
}
