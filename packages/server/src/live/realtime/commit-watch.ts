/** Commit watch: the windows that a change of a collection, or of an owner's records in a collection, makes due. */

/** A window with the keys of its data: names of collections, or a name and the id of an owner, joined by a space. */
interface Watching {
  readonly watched: readonly string[];
}

export class CommitWatch<T extends Watching> {
  readonly #watching = new Map<string, Set<T>>();
  /** The number of the last change of each collection. */
  readonly #changes = new Map<string, number>();
  #number = 0;

  /** The number of changes so far. */
  get now(): number {
    return this.#number;
  }

  add(window: T): void {
    for (const key of window.watched) this.#watching.getOrInsertComputed(key, () => new Set()).add(window);
  }

  remove(window: T): void {
    for (const key of window.watched) {
      const windows = this.#watching.get(key);
      windows?.delete(window);
      if (windows?.size === 0) this.#watching.delete(key);
    }
  }

  /** A collection has changed. Answers the windows that watch the collection, which from now on watch nothing. */
  changed(collection: string, owners: readonly (string | null)[]): readonly T[] {
    this.#number += 1;
    this.#changes.set(collection, this.#number);
    if (this.#watching.size === 0) return [];
    const found: T[] = [];
    for (const key of [collection, ...owners.map((owner) => `${collection} ${owner}`)])
      for (const window of [...(this.#watching.get(key) ?? [])]) {
        this.remove(window);
        found.push(window);
      }
    return found;
  }

  /** Whether a collection of a window has changed after a number of changes; the owner does not count. */
  hasChanged({ watched }: T, since: number): boolean {
    return watched.some((key) => (this.#changes.get(key.split(" ", 1)[0] ?? "") ?? 0) > since);
  }
}
