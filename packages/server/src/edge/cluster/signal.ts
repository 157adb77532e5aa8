/** Signal: waits, each with a bound of time, for something that happens again and again. */
export class Signal {
  readonly #waiting = new Set<() => void>();

  happened(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /** Resolves when the thing happens next, after a time, or at the abort. */
  async next(ms: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => resolve(), { once: true });
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }

  /** Waits until `isReached` holds, which is looked at each time the thing happens. Answers whether `isReached` held within the time. */
  async until(isReached: () => boolean, ms: number): Promise<boolean> {
    const end = performance.now() + ms;
    for (;;) {
      if (isReached()) return true;
      const left = end - performance.now();
      if (left <= 0) return false;
      await this.next(left);
    }
  }
}
