/** Gives other waiting work a turn: long work in steps would otherwise block the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The event loop turns after this time of work. */
const turnMs = 5;

/** Steps between two looks at the clock: a look costs as much as a tenth of a short step. */
export const stepsPerLook = 8;

/** Work in steps that lets the event loop turn after some time. */
export class LoopTurns {
  #startedAt = performance.now();
  #steps = 0;
  readonly #stepsPerLook: number;

  /** @param perLook steps between two looks at the clock: 1 for long steps. */
  constructor(perLook = stepsPerLook) {
    this.#stepsPerLook = perLook;
  }

  /** To be asked after each step. */
  isDue(): boolean {
    this.#steps += 1;
    return this.#steps % this.#stepsPerLook === 0 && performance.now() - this.#startedAt >= turnMs;
  }

  async next(): Promise<void> {
    await nextTurn();
    this.#startedAt = performance.now();
  }
}
