/** Body read limiter: bodies of uploads are read in turns, a few at a time, with a share for each caller. */
import { Admission, callerGone, type Place, releasedMemory } from "../../base/kernel/index.ts";
import { Pace, Paces, paceTiming } from "./bodies.ts";

const turnTiming = {
  /** How long a body may keep others waiting for the next piece. */
  patienceMs: 100,
  /** How long a turn lasts while others wait. */
  turnMs: 500,
};

/** Bodies that a caller may have waiting in any case, but no more than half of all. */
const leastShare = 20;

const limit = "uploads";

/** The client that sends a body. */
export interface Sender {
  /** A user id or an address, by which shares count. */
  readonly caller: string;
  /** Aborted when the client has disconnected: the slot is free at once. */
  readonly signal: AbortSignal;
}

/** The pieces of a body, read in turns. The consumer holds a turn between two pieces. */
export type ReadInTurns = (body: ReadableStream<Uint8Array>) => AsyncGenerator<Uint8Array, void, void>;

/** A body that holds a slot: a body that is read, that waits for a turn, or gets nothing from the client. */
interface ActiveBody {
  readonly caller: string;
  readonly pace: Pace;
  /** Aborted with the error of a body that is ended. */
  readonly ending: AbortSignal;
}

/**
 * Bodies are read a few at a time. A body that is being read costs memory several times over (for bytes
 * received, parsed and written); a waiting body is held back by the connection. A slow client does not
 * keep the others waiting: the turn ends while nothing comes, and after a while in any case. A client that sends next
 * to nothing does not keep the slot: the body is ended with a `SlowBody`.
 */
export class BodyReadLimiter {
  readonly #bodies: Admission;
  readonly #turns: Admission;
  readonly #timing: typeof paceTiming & typeof turnTiming;
  readonly #paces: Paces;

  /**
   * @param options.width bodies that are read at a time; a caller has all but one turn.
   * @param options.maxWaiting bodies that wait, or get nothing from clients; a caller has
   * an eighth of the number, because the runtime receives up to 1 MiB of each body.
   */
  constructor({ width, maxWaiting }: { width: number; maxWaiting: number }, timing = { ...paceTiming, ...turnTiming }) {
    this.#bodies = new Admission({
      limit,
      message: "Too many uploads wait to be read; try again in a moment.",
      width: width + maxWaiting,
      share: width + Math.max(Math.ceil(maxWaiting / 8), Math.min(leastShare, Math.ceil(maxWaiting / 2))),
      maxWaiting: 0,
    });
    this.#turns = new Admission({ width, share: Math.max(1, width - 1) });
    this.#timing = timing;
    this.#paces = new Paces(timing);
  }

  /**
   * Runs `receive`, which reads a body by the given function.
   * @throws AppError `unavailable` before anything is read, when too many bodies wait; the errors of `receive`.
   */
  async run<T>({ caller, signal }: Sender, receive: (read: ReadInTurns) => Promise<T>): Promise<T> {
    const pace = new Pace(this.#timing, limit);
    const place = await this.#bodies.take({ caller, signal, holder: pace });
    const ending = new AbortController();
    pace.cut = (error) => ending.abort(error);
    const leave = (): void => pace.cut(callerGone());
    signal.addEventListener("abort", leave, { once: true });
    this.#paces.add(pace);
    try {
      return await receive((body) => this.#read(body, { caller, pace, ending: ending.signal }));
    } finally {
      signal.removeEventListener("abort", leave);
      this.#paces.delete(pace);
      place.release();
      // Also of a body that still waits for the next piece.
      leave();
    }
  }

  /** The turn ends with the last piece, or a `break`. */
  async *#read(body: ReadableStream<Uint8Array>, active: ActiveBody): AsyncGenerator<Uint8Array, void, void> {
    const { pace, ending } = active;
    const { patienceMs, turnMs } = this.#timing;
    let turn = await this.#turn(active);
    let since = performance.now();
    // Not before: an unread body is held back earlier.
    const reader = body.getReader();
    // A wait for the next piece ends at once. A failure to cancel the rest does not matter.
    const cancel = (): void => void reader.cancel().catch(() => undefined);
    ending.addEventListener("abort", cancel, { once: true });
    try {
      while (true) {
        pace.wait();
        const timer = setTimeout(() => turn.release(), patienceMs);
        const { done, value } = await reader.read().finally(() => clearTimeout(timer));
        ending.throwIfAborted();
        if (done) return pace.isOver();
        pace.received(value.byteLength);
        if (turn.size === 0 || (performance.now() - since > turnMs && this.#turns.isWanted)) {
          turn.release();
          turn = await this.#turn(active);
          since = performance.now();
        }
        yield value;
        releasedMemory(value.byteLength);
      }
    } finally {
      turn.release();
      cancel();
    }
  }

  async #turn({ caller, ending }: ActiveBody): Promise<Place> {
    try {
      return await this.#turns.take({ caller, signal: ending });
    } catch (thrown) {
      throw ending.aborted ? ending.reason : thrown;
    }
  }
}
