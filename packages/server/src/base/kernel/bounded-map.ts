/** A map that forgets the oldest entries once all entries together weigh more than `capacity`. */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #capacity: number;
  readonly #weigh: (key: K, value: V) => number;
  #weight = 0;

  /** @param weigh answers the same weight for an entry each time. By default, each entry weighs 1. */
  constructor(capacity: number, weigh: (key: K, value: V) => number = () => 1) {
    this.#capacity = capacity;
    this.#weigh = weigh;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  /** Like `get`, and the entry becomes the newest. */
  use(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.delete(key);
    this.#entries.set(key, value);
    this.#weight += this.#weigh(key, value);
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#capacity) return;
      this.delete(oldest);
    }
  }

  /** Takes out the oldest entries. */
  take(count: number): [K, V][] {
    const taken = [...this.#entries].slice(0, count);
    for (const [key] of taken) this.delete(key);
    return taken;
  }

  delete(key: K): boolean {
    const value = this.#entries.get(key);
    if (value === undefined) return false;
    this.#weight -= this.#weigh(key, value);
    return this.#entries.delete(key);
  }
}
