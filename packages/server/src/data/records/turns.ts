/** Turns: work that was taken back because its reads have changed runs again one at a time, while all other writes go on. */
import { Admission } from "../../base/kernel/index.ts";

/** The most work that waits for one key, and the longest wait in milliseconds. */
const maxWaiting = 4_096;
const patienceMs = 30_000;
/** The longest time for which work has a turn, in milliseconds: then the work goes on without the turn. */
const turnMs = 5_000;
const message = "Too many conflicting transactions wait for their turn. Try again in a moment.";

/** A turn that work has. */
export interface Turn {
  /** A second call does nothing. */
  release(): void;
}

interface Queue {
  readonly admission: Admission;
  /** The work that has the turn: the principal of a transaction, or an object of the caller's choice. */
  owner: object | null;
}

/**
 * The turns of each key: `collection/id` for a record, `collection` for all records of a collection, or the text of a query. A
 * key without work takes no memory.
 */
export class ConflictTurns {
  readonly #queues = new Map<string, Queue>();

  /** Whether other work than `owner` has the turn of a key, or of the collection of a record. */
  isTaken(key: string, owner: object | null): boolean {
    const collection = /^[^/]+/.exec(key)?.[0] ?? key;
    return [key, collection].some((each) => {
      const queue = this.#queues.get(each);
      return queue !== undefined && (owner === null || queue.owner !== owner);
    });
  }

  /** Whether `owner` has a turn. */
  hasAny(owner: object): boolean {
    return this.#queues.values().some((queue) => queue.owner === owner);
  }

  /** Whether `owner` has the turn of a key. */
  isOf(key: string, owner: object): boolean {
    return this.#queues.get(key)?.owner === owner;
  }

  /**
   * Waits for the turn of a key, in the order of the calls. The turn ends after some seconds.
   * @throws AppError `unavailable` when too much work waits for the key, or the wait is too long.
   */
  async take(key: string, owner: object): Promise<Turn> {
    const queue = this.#queues.getOrInsertComputed(key, () => ({
      admission: new Admission({ width: 1, maxWaiting, patienceMs, message }),
      owner: null,
    }));
    const place = await queue.admission.take({});
    // Work that has the turn of all records of the collection goes first, and waits for no other turn.
    const collection = /^[^/]+(?=\/)/.exec(key)?.[0];
    if (collection !== undefined && this.#queues.has(collection)) (await this.take(collection, owner)).release();
    queue.owner = owner;
    let isOver = false;
    const release = (): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      queue.owner = null;
      place.release();
      // Work that waited has the turn by now.
      if (queue.admission.taken === 0 && this.#queues.get(key) === queue) this.#queues.delete(key);
    };
    const timer = setTimeout(release, turnMs);
    return { release };
  }
}
