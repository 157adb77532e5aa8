/** A value that changes, for listeners. */

/** A value to look at and to listen to. */
export interface Observable<T> {
  get(): T;
  /** Calls back at each change. Answers the function that ends the subscription. */
  subscribe(listener: (value: T) => void): () => void;
}

export class Observed<T> implements Observable<T> {
  #value: T;
  readonly #listeners = new Set<(value: T) => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get(): T {
    return this.#value;
  }

  set(value: T): void {
    if (value === this.#value) return;
    this.#value = value;
    tell(this.#listeners, value);
  }

  subscribe(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** Tells listeners a value. A listener may end the subscription meanwhile. */
export function tell<T>(listeners: Iterable<(value: T) => void>, value: T): void {
  for (const listener of [...listeners]) callSafely(() => listener(value));
}

/** Calls a listener. An exception becomes an uncaught error and does not stop the other listeners. */
export function callSafely(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    setTimeout(() => {
      throw error;
    });
  }
}
