/** Turns: work that was taken back because its reads have changed runs again one at a time, while all other writes go on. */
import { Admission, type Place } from "../../base/kernel/index.ts";

/** The most work that waits for one key, and the longest wait in milliseconds. */
const maxWaiting = 4_096;
const patienceMs = 30_000;
const message = "Too many conflicting transactions wait for their turn. Try again in a moment.";

/** The turns of each key; a key names a record or a collection. A key without work takes no memory. */
export class ConflictTurns {
  readonly #queues = new Map<string, Admission>();

  isTaken(key: string): boolean {
    return this.#queues.has(key);
  }

  /**
   * Waits for the turn of a key, in the order of the calls.
   * @throws AppError `unavailable` when too much work waits for the key, or the wait is too long.
   */
  async take(key: string): Promise<Pick<Place, "release">> {
    const queue = this.#queues.getOrInsertComputed(
      key,
      () => new Admission({ width: 1, maxWaiting, patienceMs, message }),
    );
    const place = await queue.take({});
    return {
      release: () => {
        place.release();
        // Work that waited has the turn by now.
        if (queue.taken === 0 && this.#queues.get(key) === queue) this.#queues.delete(key);
      },
    };
  }
}
