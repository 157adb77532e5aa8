/** Type blocks: which event types occur in each block of places, so that a replay passes over blocks without its types. */
import type { Reader } from "../database/index.ts";
import { BoundedMap } from "../kernel/index.ts";

/** Places of a block. */
const width = 256;

/** Blocks that are remembered: those of four million events. */
const capacity = 16_384;

/** Blocks that one call reads from the table; further ones are left to the next call. */
const maxReads = 4;

/** What is in a block never changes once it is full, so it is read from the table once. */
export class TypeBlocks {
  readonly #reader: () => Reader;
  readonly #blocks = new BoundedMap<number, ReadonlySet<string>>(capacity);
  /** Most blocks hold the same types: equal sets are one. */
  readonly #sets = new BoundedMap<string, ReadonlySet<string>>(capacity);

  constructor(reader: () => Reader) {
    this.#reader = reader;
  }

  /** A place after `after`, `until` at most, before which lies no event of these types. */
  async skip(after: number, until: number, types: readonly string[]): Promise<number> {
    let place = after;
    let reads = 0;
    while (true) {
      const block = Math.floor(place / width);
      const end = (block + 1) * width;
      if (end > until) return place;
      let present = this.#blocks.get(block);
      if (present === undefined) {
        if (reads === maxReads) return place;
        reads += 1;
        present = await this.#read(block);
      }
      if (types.some((type) => present.has(type))) return place;
      place = end;
    }
  }

  async #read(block: number): Promise<ReadonlySet<string>> {
    const rows = await this.#reader().all<{ type: string }>(
      "SELECT DISTINCT type FROM _events WHERE seq > ? AND seq <= ? ORDER BY type",
      block * width,
      (block + 1) * width,
    );
    const types = rows.map(({ type }) => type);
    const name = types.join();
    const present = this.#sets.get(name) ?? new Set(types);
    this.#sets.set(name, present);
    this.#blocks.set(block, present);
    return present;
  }
}
