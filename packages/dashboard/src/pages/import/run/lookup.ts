/** Ids of records that are found by a unique value, each asked for once. */
import type { LookupKey } from "../mapping/convert.ts";

/** Answers that are kept: the oldest go first. */
const maxKept = 20_000;

export class Lookup {
  readonly #find: (key: LookupKey) => Promise<string | null>;
  readonly #found = new Map<string, Promise<string | null>>();

  constructor(find: (key: LookupKey) => Promise<string | null>) {
    this.#find = find;
  }

  /** The id of the record, or null when there is none. A request that failed is not kept. */
  resolve(key: LookupKey): Promise<string | null> {
    const name = JSON.stringify([key.collection, key.field, key.value]);
    const known = this.#found.get(name);
    if (known !== undefined) return known;
    const found = this.#find(key);
    this.#found.set(name, found);
    found.catch(() => this.#found.delete(name));
    if (this.#found.size > maxKept) {
      const [oldest] = this.#found.keys();
      if (oldest !== undefined) this.#found.delete(oldest);
    }
    return found;
  }
}
