/** Lets everything else that waits have its turn: long work done in steps would otherwise keep the loop to itself. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The event loop turns after this time of work. */
const turnMs = 8;

/** Work that lets the event loop turn when it has taken some time. */
export class LoopTurns {
  #startedAt = performance.now();

  get isDue(): boolean {
    return performance.now() - this.#startedAt >= turnMs;
  }

  async next(): Promise<void> {
    await nextTurn();
    this.#startedAt = performance.now();
  }
}
