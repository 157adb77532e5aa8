/** The turns in which bodies of uploads are read: a few at a time, with a share for each caller. */
import { FairGate } from "../kernel/index.ts";

/** How long a body may keep others waiting for its next piece. */
const patienceMs = 100;
/** How long a turn lasts while others wait for one. */
const turnMs = 500;

const message = "Too many uploads wait to be read; try again in a moment.";

/** Who sends a body. */
export interface Sender {
  /** A user id or an address: shares count by it. */
  readonly caller: string;
  /** Aborted when the client has disconnected: its place is free at once. */
  readonly signal: AbortSignal;
}

/** The pieces of a body, read in turns. The consumer holds a turn between two of them. */
export type ReadInTurns = (body: ReadableStream<Uint8Array>) => AsyncGenerator<Uint8Array, void, void>;

/**
 * Bodies are read a few at a time. Each that is being read costs memory several times over (what the runtime has
 * received, what is parsed, what is written); one that waits is held back by its connection. A slow client does not keep
 * the others waiting: its turn ends while nothing comes, and after a while in any case.
 */
export class Turns {
  readonly #gate: FairGate;
  /** Every body that is not read to its end: it is being read, it waits, or its client sends nothing. */
  readonly #places: FairGate;

  /**
   * @param options.width bodies that are read at a time; one caller has all of these but one.
   * @param options.maxWaiting bodies that wait, or whose clients send nothing; one caller has at most half of these.
   */
  constructor({ width, maxWaiting }: { width: number; maxWaiting: number }) {
    const places = width + maxWaiting;
    const shareOfPlaces = width + Math.ceil(maxWaiting / 2);
    const limit = "uploads";
    this.#places = new FairGate({
      limit,
      message,
      width: places,
      share: shareOfPlaces,
      // A body without a place does not wait for one.
      maxWaiting: 0,
      waitingShare: 0,
    });
    // The places are the bound: whoever has one may wait for a turn.
    const share = Math.max(1, width - 1);
    this.#gate = new FairGate({ limit, message, width, share, maxWaiting: places, waitingShare: places });
  }

  /**
   * Runs `receive`, which reads a body by the function that it is given.
   * @throws AppError `unavailable` before anything is read, when too many bodies wait; what `receive` throws.
   */
  run<T>(sender: Sender, receive: (read: ReadInTurns) => Promise<T>): Promise<T> {
    return this.#places.run(sender.caller, () => receive((body) => this.#read(body, sender)));
  }

  /** The turn ends with the last piece, or a `break`. */
  async *#read(body: ReadableStream<Uint8Array>, { caller, signal }: Sender): AsyncGenerator<Uint8Array, void, void> {
    let release = await this.#gate.take(caller, signal);
    let since = performance.now();
    // Not before: a body that nobody reads is held back earlier.
    const reader = body.getReader();
    try {
      while (true) {
        const reading = reader.read();
        const isSlow = !(await settlesWithin(reading, patienceMs));
        if (isSlow || (performance.now() - since > turnMs && this.#gate.isWanted)) {
          release();
          await reading;
          release = await this.#gate.take(caller, signal);
          since = performance.now();
        }
        const { done, value } = await reading;
        if (done) return;
        yield value;
      }
    } finally {
      release();
      // What is still to come is not wanted; that it cannot be refused any more is no matter.
      reader.cancel().catch(() => undefined);
    }
  }
}

async function settlesWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), milliseconds);
  const settled = promise.then(
    () => true,
    () => true,
  );
  const isInTime = await Promise.race([settled, late]);
  clearTimeout(timer);
  return isInTime;
}
