import { Gate } from "../kernel/index.ts";

/** How long a body may keep others waiting for its next piece. */
const patienceMs = 100;
/** How long a turn lasts while others wait for one. */
const turnMs = 500;

/**
 * Bodies are read a few at a time. Each that is being read costs memory several times over (what the runtime has
 * received, what is parsed, what is written); one that waits is held back by its connection. A slow client does not keep
 * the others waiting: its turn ends while nothing comes, and after a while in any case.
 */
export class Turns {
  readonly #gate: Gate;

  constructor(width: number) {
    this.#gate = new Gate(width);
  }

  /** The pieces of a body. Between two of them whoever takes them has a turn; it ends with the last, or a `break`. */
  async *read(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    await this.#gate.take();
    let isOurs = true;
    let since = performance.now();
    // Not before: a body that nobody reads is held back earlier.
    const reader = body.getReader();
    try {
      while (true) {
        const reading = reader.read();
        const isSlow = !(await settlesWithin(reading, patienceMs));
        if (isSlow || (performance.now() - since > turnMs && this.#gate.isWanted)) {
          isOurs = false;
          this.#gate.give();
          await reading;
          await this.#gate.take();
          isOurs = true;
          since = performance.now();
        }
        const { done, value } = await reading;
        if (done) return;
        yield value;
      }
    } finally {
      if (isOurs) this.#gate.give();
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
