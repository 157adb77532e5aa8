/** Body read limiter: bodies of uploads are read in turns, a few at a time, with a share for each caller. */
import { Admission, type AppError, callerGone, type Place, releasedMemory } from "../../base/kernel/index.ts";
import { SlowBody } from "./bodies.ts";

/** A body must have come with at least so many bytes per millisecond once its client was waited for `stalledMs`. */
const minRate = 1;
/** When the limiter is full, bodies slower than so many bytes per millisecond are ended. */
const slowRate = 64;

const defaultTiming = {
  /** How long a body may keep others waiting for its next piece. */
  patienceMs: 100,
  /** How long a turn lasts while others wait. */
  turnMs: 500,
  /** A body of which nothing comes for so long is ended. */
  stalledMs: 10_000,
  /** When the limiter is full, slow bodies are ended once their clients were waited for so long. */
  slowMs: 1_000,
};

/** Bodies that a caller may have waiting in any case, but no more than half of all. */
const leastShare = 20;

const limit = "uploads";

/** The client that sends a body. */
export interface Sender {
  /** A user id or an address, by which shares count. */
  readonly caller: string;
  /** Aborted when the client has disconnected: its slot is free at once. */
  readonly signal: AbortSignal;
}

/** The pieces of a body, read in turns. The consumer holds a turn between two of them. */
export type ReadInTurns = (body: ReadableStream<Uint8Array>) => AsyncGenerator<Uint8Array, void, void>;

/** A body that holds a slot: a body that is read, that waits for a turn, or whose client sends nothing. */
interface ActiveBody {
  readonly caller: string;
  received: number;
  /** Milliseconds for which the client was waited for, up to `since`; the time without a turn does not count. */
  waitedMs: number;
  /** Since when the client is waited for; null otherwise. */
  since: number | null;
  /** Aborted by `cut`. */
  readonly ending: AbortSignal;
  /** Rejected by `cut`. */
  readonly end: Promise<never>;
  /** Ends the body. */
  readonly cut: (error: AppError) => void;
}

/**
 * Bodies are read a few at a time. Each that is being read costs memory several times over (for bytes
 * received, parsed and written); a waiting body is held back by its connection. A slow client does not
 * keep the others waiting: its turn ends while nothing comes, and after a while in any case. A client that sends next
 * to nothing does not keep its slot: its body is ended with a `SlowBody`.
 */
export class BodyReadLimiter {
  readonly #bodies: Admission;
  readonly #turns: Admission;
  readonly #timing: typeof defaultTiming;

  /**
   * @param options.width bodies that are read at a time; a caller has all but one turn.
   * @param options.maxWaiting bodies that wait, or whose clients send nothing; a caller has
   * an eighth of these, because the runtime receives up to 1 MiB of each.
   */
  constructor({ width, maxWaiting }: { width: number; maxWaiting: number }, timing = defaultTiming) {
    this.#bodies = new Admission({
      limit,
      message: "Too many uploads wait to be read; try again in a moment.",
      width: width + maxWaiting,
      share: width + Math.max(Math.ceil(maxWaiting / 8), Math.min(leastShare, Math.ceil(maxWaiting / 2))),
      maxWaiting: 0,
    });
    this.#turns = new Admission({ width, share: Math.max(1, width - 1) });
    this.#timing = timing;
  }

  /**
   * Runs `receive`, which reads a body by the given function.
   * @throws AppError `unavailable` before anything is read, when too many bodies wait; the errors of `receive`.
   */
  async run<T>({ caller, signal }: Sender, receive: (read: ReadInTurns) => Promise<T>): Promise<T> {
    const active = activeBody(caller);
    const { slowMs } = this.#timing;
    const slowness = (now: number): number => {
      const ms = waitedMs(active, now);
      return ms > slowMs && active.received < ms * slowRate ? ms / (active.received + 1) : 0;
    };
    const holder = { slowness, end: () => active.cut(new SlowBody(limit)) };
    const place = await this.#bodies.take({ caller, signal, holder });
    const leave = (): void => active.cut(callerGone());
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await receive((body) => this.#read(body, active));
    } finally {
      signal.removeEventListener("abort", leave);
      place.release();
      // Also of a body whose next piece is still waited for.
      leave();
    }
  }

  /** The turn ends with the last piece, or a `break`. */
  async *#read(body: ReadableStream<Uint8Array>, active: ActiveBody): AsyncGenerator<Uint8Array, void, void> {
    const { patienceMs, turnMs } = this.#timing;
    let turn = await this.#turn(active);
    let since = performance.now();
    // Not before: an unread body is held back earlier.
    const reader = body.getReader();
    try {
      while (true) {
        const reading = reader.read();
        active.since = performance.now();
        const isSlow = !(await settlesWithin(reading, patienceMs, active.end));
        if (isSlow) {
          turn.release();
          await this.#outlast(reading, active);
        }
        const now = performance.now();
        active.waitedMs = waitedMs(active, now);
        active.since = null;
        const { done, value } = await reading;
        if (done) return;
        active.received += value.byteLength;
        if (active.waitedMs >= this.#timing.stalledMs + active.received / minRate) throw new SlowBody();
        if (isSlow || (now - since > turnMs && this.#turns.isWanted)) {
          turn.release();
          turn = await this.#turn(active);
          since = performance.now();
        }
        yield value;
        releasedMemory(value.byteLength);
      }
    } finally {
      turn.release();
      // The rest of the body is not needed. A failure to cancel the rest does not matter.
      reader.cancel().catch(() => undefined);
    }
  }

  async #turn({ caller, ending, end }: ActiveBody): Promise<Place> {
    const taking = this.#turns.take({ caller, signal: ending });
    try {
      return await Promise.race([end, taking]);
    } catch (thrown) {
      // The turn may have come in the same moment.
      void taking.then(
        (place) => place.release(),
        () => undefined,
      );
      throw thrown;
    }
  }

  /** Waits for a late piece. @throws SlowBody for a piece that comes too late. */
  async #outlast(reading: Promise<unknown>, { end }: ActiveBody): Promise<void> {
    const { stalledMs, patienceMs } = this.#timing;
    if (!(await settlesWithin(reading, stalledMs - patienceMs, end))) throw new SlowBody();
  }
}

function activeBody(caller: string): ActiveBody {
  const ending = new AbortController();
  const { promise: end, reject } = Promise.withResolvers<never>();
  // No listener may be there just then.
  end.catch(() => undefined);
  const cut = (error: AppError): void => {
    reject(error);
    ending.abort();
  };
  return { caller, received: 0, waitedMs: 0, since: null, ending: ending.signal, end, cut };
}

function waitedMs({ waitedMs: before, since }: ActiveBody, now: number): number {
  return before + (since === null ? 0 : now - since);
}

/** Whether `promise` settles in time. Rejects when `end` rejects earlier. */
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
