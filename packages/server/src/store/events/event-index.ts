/**
 * The index of the event log by key: the id of a record, of a cause (`Cause`), of a run, or of an event with runs. A row of the index has the keys of a
 * block of events, so that the write of an event changes no page of a second tree. The events behind the last whole block are read one by one.
 */
import { BoundedMap, nextTurn } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database } from "../database/index.ts";
import { keysBetween, LoggedEvent, oldestEvent } from "./event-table.ts";
import { blockSize, buckets, entryWidth, hashOf, insertBlock, unindexedFrom } from "./index-table.ts";

/** The blocks whose keys wait in memory, of 96 KiB each; other blocks are read from the log. */
const blocksInMemory = 3;
const readAtOnce = 256;
const pauseMs = 5;

/** The keys of an event: a record, or a run and the event of the run; a cause, and the first cause of the trace. */
const maxKeys = 4;

/** The keys of the events of a block. */
class Block {
  readonly #hashes = new Uint32Array(maxKeys * blockSize);
  readonly #places = new Uint16Array(maxKeys * blockSize);
  #count = 0;

  add({ seq, keys }: Pick<LoggedEvent, "seq" | "keys">): void {
    for (const key of keys) {
      this.#hashes[this.#count] = hashOf(key);
      this.#places[this.#count++] = seq % blockSize;
    }
  }

  /** The entries of each bucket, in the order of the events. */
  entries(): string[] {
    const bytes = Array.from({ length: buckets }, () => Buffer.alloc((this.#count * entryWidth) / 2));
    const ends = new Uint32Array(buckets);
    for (let i = 0; i < this.#count; i++) {
      const hash = this.#hashes[i] ?? 0;
      const bucket = hash % buckets;
      const at = bytes[bucket]?.writeUInt32BE(hash, ends[bucket]) ?? 0;
      ends[bucket] = bytes[bucket]?.writeUInt16BE(this.#places[i] ?? 0, at) ?? 0;
    }
    return bytes.map((each, bucket) => each.toString("hex", 0, ends[bucket]));
  }
}

/** Writes the blocks of the index as the log grows, also the blocks of a log that was written by a version without the index. */
export class EventIndexer {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #flushedSeq: () => number;
  readonly #signal: AbortSignal;
  /** The newest blocks of which this process has seen each event. */
  readonly #blocks = new BoundedMap<number, Block>(blocksInMemory);
  #running: Promise<void> | null = null;
  /** Whether a block may be whole that the writing has not seen. */
  #isAsked = false;

  /** @param options `flushedSeq`: the newest event on disk; `signal`: ends the writing. */
  constructor(options: { database: Database; logger: Logger; flushedSeq: () => number; signal: AbortSignal }) {
    this.#database = options.database;
    this.#logger = options.logger;
    this.#flushedSeq = options.flushedSeq;
    this.#signal = options.signal;
  }

  /** Takes the keys of an event on disk, and writes the block if the block is whole. To be called for each event, in order. */
  add(event: Pick<LoggedEvent, "seq" | "keys">): void {
    const { seq } = event;
    const place = seq % blockSize;
    if (place === 0) this.#blocks.set(seq / blockSize, new Block());
    this.#blocks.get((seq - place) / blockSize)?.add(event);
    if (place === blockSize - 1) this.run();
  }

  /** Writes all whole blocks, unless the writing is under way. */
  run(): void {
    this.#isAsked = true;
    this.#running ??= this.#write()
      .catch((error) => {
        if (!this.#signal.aborted) this.#logger.error("The index of the event log could not be written", { error });
      })
      .finally(() => {
        this.#running = null;
        // A block became whole after the last look.
        if (this.#isAsked && !this.#signal.aborted) this.run();
      });
  }

  /** Resolves when no block is being written. */
  async settled(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #write(): Promise<void> {
    while (!this.#signal.aborted) {
      this.#isAsked = false;
      const { reader } = this.#database;
      const oldest = oldestEvent(reader)?.seq ?? 0;
      const block = Math.max(unindexedFrom(reader) / blockSize, Math.floor(oldest / blockSize));
      const end = (block + 1) * blockSize;
      if (end > this.#flushedSeq() + 1) return;
      const made = this.#blocks.get(block) ?? (await this.#read(block * blockSize));
      await this.#database.upkeep((tx) => insertBlock(tx, block, made.entries()));
      // Waiting writes run between two blocks.
      await Bun.sleep(pauseMs);
    }
  }

  /** A block whose events this process has not seen. */
  async #read(first: number): Promise<Block> {
    const block = new Block();
    for (let from = first; from < first + blockSize; from += readAtOnce) {
      for (const row of keysBetween(this.#database.reader, from, from + readAtOnce)) block.add(new LoggedEvent(row));
      await nextTurn();
    }
    return block;
  }
}
