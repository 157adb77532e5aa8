/** Type blocks: the event types in each block of seqs, so that a replay skips blocks without the wanted types. */
import type { Reader } from "../database/index.ts";
import { typesBetween } from "./event-table.ts";

/** The number of seqs in a block. */
const width = 256;

/** The most blocks in memory: enough for four million events. A block takes two bytes for each type, at most 512. */
const capacity = 16_384;

/** The most blocks that a call reads from the table; the next call reads more. */
const maxReads = 4;

/** The most numbered types: a number has two bytes. */
const maxTypes = 65_536;

/** A full block never changes, except that trimming shortens the block; so a block is read from the table once. */
export class TypeBlocks {
  readonly #reader: () => Reader;
  /** The numbers of the types of each block, oldest entry first. */
  readonly #blocks = new Map<number, Uint16Array>();
  /** The number of each type that was found. */
  readonly #numbers = new Map<string, number>();
  /** The blocks before `#first` were trimmed. */
  #first = 0;

  constructor(reader: () => Reader) {
    this.#reader = reader;
  }

  get size(): number {
    return this.#blocks.size;
  }

  /** A seq after `after`, at most `until`, before which no event has a type of the list. */
  skip(after: number, until: number, types: readonly string[]): number {
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
        this.#read(block);
        present = this.#blocks.get(block);
        if (present === undefined) return seq;
        // Types that were new in this block have numbers now.
        wanted = this.#numbersOf(types);
      }
      if (present.some((number) => wanted.has(number))) return seq;
      seq = end;
    }
  }

  /** Forgets the blocks of removed events: the events up to `seq`. */
  trimmed(seq: number): void {
    const first = Math.floor(seq / width);
    if (first <= this.#first) return;
    this.#first = first;
    for (const block of this.#blocks.keys()) if (block < first) this.#blocks.delete(block);
  }

  #numbersOf(types: readonly string[]): ReadonlySet<number> {
    return new Set(types.map((type) => this.#numbers.get(type)).filter((number) => number !== undefined));
  }

  #read(block: number): void {
    const types = typesBetween(this.#reader(), block * width, (block + 1) * width);
    if (this.#numbers.size + types.length > maxTypes) {
      this.#numbers.clear();
      this.#blocks.clear();
    }
    // A trimmed block is not asked for again.
    if (block < this.#first) return;
    const present = Uint16Array.from(types, (type) => {
      const number = this.#numbers.get(type) ?? this.#numbers.size;
      this.#numbers.set(type, number);
      return number;
    });
    this.#blocks.set(block, present);
    const [oldest] = this.#blocks.keys();
    if (this.#blocks.size > capacity && oldest !== undefined) this.#blocks.delete(oldest);
  }
}
