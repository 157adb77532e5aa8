/** Turn queue: waiting work, from which callers take turns with an item each. */
export class TurnQueue<T> {
  /** The items by caller, in the order of turns. */
  readonly #waiting = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The item that `next` takes. */
  get first(): T | undefined {
    const [own] = this.#waiting.values();
    return own?.[0];
  }

  add(caller: string, item: T): void {
    this.#size += 1;
    const own = this.#waiting.get(caller);
    if (own === undefined) this.#waiting.set(caller, [item]);
    else own.push(item);
  }

  /** Puts back `item`, which was taken: the item becomes the first of its caller. */
  putBack(caller: string, item: T): void {
    this.#size += 1;
    this.#waiting.set(caller, [item, ...(this.#waiting.get(caller) ?? [])]);
  }

  /** Takes the first item of the caller whose turn has come, and puts the caller last; null if no item waits. */
  next(): T | null {
    const [entry] = this.#waiting;
    if (entry === undefined) return null;
    const [caller, [item, ...rest]] = entry;
    this.#waiting.delete(caller);
    if (rest.length > 0) this.#waiting.set(caller, rest);
    this.#size -= 1;
    return item ?? null;
  }

  /** Takes all items. */
  clear(): T[] {
    const all = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    this.#size = 0;
    return all;
  }
}
