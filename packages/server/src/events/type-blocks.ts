/**
 * Type blocks: which event types occur in each block of seqs, so that a replay passes over blocks without its types.
 */
import type { Reader } from "../database/index.ts";
import { typesBetween } from "./event-table.ts";

/** Seqs of a block. */
const width = 256;

/** Blocks that are remembered: those of four million events. One takes two bytes for each of its types, 512 at most. */
const capacity = 16_384;

/** Blocks that one call reads from the table; further ones are left to the next call. */
const maxReads = 4;

/** Types that have a number: as many as two bytes can tell apart. */
const maxTypes = 65_536;

/** A full block never changes, except that trimming shortens it; so its types are read from the table once. */
export class TypeBlocks {
  readonly #reader: () => Reader;
  /** The numbers of the types of each block, oldest entry first. */
  readonly #blocks = new Map<number, Uint16Array>();
  /** The number of each type that was found. */
  readonly #numbers = new Map<string, number>();
  /** Blocks before this one were trimmed. */
  #first = 0;

  constructor(reader: () => Reader) {
    this.#reader = reader;
  }

  /** How many blocks are remembered. */
  get size(): number {
    return this.#blocks.size;
  }

  /** A seq after `after`, `until` at most, before which lies no event of these types. */
  async skip(after: number, until: number, types: readonly string[]): Promise<number> {
    let seq = after;
    let reads = 0;
    let wanted = this.#numbersOf(types);
    while (true) {
      const block = Math.floor(seq / width);
      const end = (block + 1) * width;
      if (end > until) return seq;
      let present = this.#blocks.get(block);
      if (present === undefined) {
        if (reads === maxReads) return seq;
        reads += 1;
        await this.#read(block);
        present = this.#blocks.get(block);
        if (present === undefined) return seq;
        // Types that were not known before have their numbers now.
        wanted = this.#numbersOf(types);
      }
      if (present.some((number) => wanted.has(number))) return seq;
      seq = end;
    }
  }

  /** The events up to a seq were removed: their blocks are forgotten. */
  trimmed(seq: number): void {
    const first = Math.floor(seq / width);
    if (first <= this.#first) return;
    this.#first = first;
    for (const block of this.#blocks.keys()) if (block < first) this.#blocks.delete(block);
  }

  #numbersOf(types: readonly string[]): ReadonlySet<number> {
    const numbers = new Set<number>();
    for (const type of types) {
      const number = this.#numbers.get(type);
      if (number !== undefined) numbers.add(number);
    }
    return numbers;
  }

  async #read(block: number): Promise<void> {
    const types = await typesBetween(this.#reader(), block * width, (block + 1) * width);
    if (this.#numbers.size + types.length > maxTypes) {
      this.#numbers.clear();
      this.#blocks.clear();
    }
    const present = Uint16Array.from(types, (type) => this.#numberOf(type));
    // The block may have been trimmed while it was read.
    if (block >= this.#first) this.#remember(block, present);
  }

  #numberOf(type: string): number {
    const number = this.#numbers.get(type) ?? this.#numbers.size;
    this.#numbers.set(type, number);
    return number;
  }

  #remember(block: number, present: Uint16Array): void {
    this.#blocks.set(block, present);
    if (this.#blocks.size <= capacity) return;
    const [oldest] = this.#blocks.keys();
    if (oldest !== undefined) this.#blocks.delete(oldest);
  }
}
