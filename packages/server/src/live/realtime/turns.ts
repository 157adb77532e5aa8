/**
 * Turns: realtime's share of the event loop. Frames, steps of replays and late decisions of all sockets take turns: a piece of
 * work at a time, the callers in rotation. After a few milliseconds, HTTP is served before the next piece.
 */

/** Milliseconds of realtime's work between two turns of the event loop. */
const sliceMs = 4;

/** Ends a turn. A second call does nothing. */
export type EndTurn = () => void;

export class Turns {
  /** The work that waits, by caller. The caller whose last turn is longest ago stands first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isTaken = false;
  /** Milliseconds that were used since the event loop turned. */
  #spent = 0;
  #isCounted = false;

  /** Whether the slice of this turn of the event loop has time left. */
  get hasTime(): boolean {
    return this.#spent < sliceMs;
  }

  /** A turn at once; null when others wait, or the slice is used up. */
  takeNow(): EndTurn | null {
    return this.#isTaken || this.#waiting.size > 0 || !this.hasTime ? null : this.#begin();
  }

  /**
   * Waits for the caller's turn, and answers how to end the turn. The work of a turn waits for nothing but reads of the database.
   * @param caller a user id or an address; "" for the service itself.
   */
  take(caller: string): Promise<EndTurn> {
    return new Promise((resolve) => {
      const start = (): void => resolve(this.#begin());
      const own = this.#waiting.get(caller);
      if (own === undefined) this.#waiting.set(caller, [start]);
      else own.push(start);
      this.#next();
    });
  }

  /** Counts work that was done beside the turns, in milliseconds. */
  count(ms: number): void {
    this.#spent += ms;
    if (this.#isCounted) return;
    this.#isCounted = true;
    setImmediate(() => {
      this.#isCounted = false;
      this.#spent = 0;
      this.#next();
    });
  }

  #begin(): EndTurn {
    this.#isTaken = true;
    const start = performance.now();
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#isTaken = false;
      this.count(performance.now() - start);
      this.#next();
    };
  }

  #next(): void {
    if (this.#isTaken || !this.hasTime) return;
    for (const [caller, work] of this.#waiting) {
      const start = work.shift();
      this.#waiting.delete(caller);
      if (work.length > 0) this.#waiting.set(caller, work);
      start?.();
      return;
    }
  }
}
