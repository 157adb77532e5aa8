/** Held removals: while a backup copies files, the bytes of deleted files stay. */

/** Further removals are left to the next start, which finds the files by their marks. */
const maxWaiting = 100_000;

export class HeldRemovals {
  readonly #remove: (id: string) => Promise<void>;
  #holders = 0;
  #waiting = new Set<string>();

  /** @param remove removes the bytes of a file that was deleted. */
  constructor(remove: (id: string) => Promise<void>) {
    this.#remove = remove;
  }

  /**
   * From now on removals wait. Answers a function that ends the wait, and that resolves once the removals that waited
   * are done.
   */
  hold(): () => Promise<void> {
    this.#holders += 1;
    let isHeld = true;
    return async () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holders -= 1;
      if (this.#holders > 0) return;
      const ids = this.#waiting;
      this.#waiting = new Set();
      for (const id of ids) await this.#remove(id);
    };
  }

  /** Removes the bytes, or notes the id for a later removal. */
  async remove(id: string): Promise<void> {
    if (this.#holders === 0) await this.#remove(id);
    else if (this.#waiting.size < maxWaiting) this.#waiting.add(id);
  }
}
