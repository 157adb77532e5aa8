/**
 * Turns: work that was taken back because its reads have changed runs again one at a time, with a share for each caller. Work whose
 * reads are unchanged needs no turn.
 */
import { Admission } from "../../base/kernel/index.ts";

/** The most work that waits for one key, a caller's half, and the longest wait in milliseconds. */
const maxWaiting = 4_096;
const patienceMs = 30_000;
/** The longest time for which work has a turn, in milliseconds: then the work goes on without the turn. */
const turnMs = 1_000;
/** For so many milliseconds a turn holds off the callers that have passed the turn once. */
const guardMs = 250;
/** The callers that may pass a turn: each may void an attempt of the work that has the turn. */
const maxPasses = 8;
const message = "Too many conflicting transactions wait for their turn. Try again in a moment.";

/** A turn that work has. */
export interface Turn {
  /** A second call does nothing. */
  release(): void;
}

/** Work that may conflict with other work. */
export interface Conflicting {
  /** The principal of a transaction, or an object of the work's choice. */
  readonly owner: object;
  /** The caller whose share the work takes: a user id, an address, or the name of a script. */
  readonly caller: string;
}

interface HeldTurn extends Conflicting {
  readonly over: PromiseWithResolvers<void>;
  readonly passed: Set<string>;
  guardedUntil: number;
}

interface Queue {
  readonly admission: Admission;
  held: HeldTurn | null;
}

/** The turns of each key: `collection/id` for a record, `collection` for all records. A key without work takes no memory. */
export class ConflictTurns {
  readonly #queues = new Map<string, Queue>();

  /** Whether `owner` has a turn. */
  hasAny(owner: object): boolean {
    return this.#queues.values().some(({ held }) => held?.owner === owner);
  }

  /** Whether `owner` has the turn of a key, or of the collection of a record. */
  isOf(key: string, owner: object): boolean {
    return [key, collectionOf(key)].some((each) => this.#queues.get(each)?.held?.owner === owner);
  }

  /**
   * Waits for the turn of a key; the caller with the least time in turns of late goes first. The turn ends after a second.
   * @throws AppError `unavailable` when too much work waits for the key, or the wait is too long.
   */
  async take(key: string, { owner, caller }: Conflicting): Promise<Turn> {
    const queue = this.#queues.getOrInsertComputed(key, () => ({
      admission: new Admission({ width: 1, maxWaiting, waitingShare: maxWaiting / 2, patienceMs, message }),
      held: null,
    }));
    const place = await queue.admission.take({ caller });
    const over = Promise.withResolvers<void>();
    let isOver = false;
    const release = (): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      queue.held = null;
      over.resolve();
      place.release();
      // Work that waited has the turn by now.
      if (queue.admission.taken === 0 && this.#queues.get(key) === queue) this.#queues.delete(key);
    };
    let timer: Timer | undefined;
    try {
      // Work that has the turn of all records of the collection goes first, and waits for no other turn.
      const collection = collectionOf(key);
      if (collection !== key && this.#queues.has(collection))
        (await this.take(collection, { owner, caller })).release();
    } catch (thrown) {
      release();
      throw thrown;
    }
    queue.held = { owner, caller, over, passed: new Set(), guardedUntil: performance.now() + guardMs };
    timer = setTimeout(release, turnMs);
    return { release };
  }

  /**
   * Lets work without a turn go on before its writes, which may void the attempt of the work that has a turn. A caller passes the turn of
   * another caller once, at once; otherwise the work waits for the end of the turn, and 250 ms at most.
   * @param keys of the records that the work writes.
   */
  async pass(keys: readonly string[], { owner, caller }: Conflicting): Promise<void> {
    if (this.#queues.size === 0) return;
    const all = new Set(keys.flatMap((key) => [key, collectionOf(key)]));
    for (const held of [...all].map((key) => this.#queues.get(key)?.held ?? null)) {
      if (held === null || held.owner === owner) continue;
      const now = performance.now();
      if (held.caller === caller || held.passed.has(caller) || held.passed.size >= maxPasses) {
        await Promise.race([held.over.promise, Bun.sleep(Math.max(0, held.guardedUntil - now))]);
        return;
      }
      held.passed.add(caller);
      held.guardedUntil = now + guardMs;
    }
  }
}

function collectionOf(key: string): string {
  return /^[^/]+/.exec(key)?.[0] ?? key;
}
