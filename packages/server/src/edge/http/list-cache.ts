/** Cache of the answers to lists, in memory, least recently used out first. */
import type { Collecting } from "./list-body.ts";

/** The answer to a list that is the same for everybody. */
export interface KeptList {
  /** The version of the records in the answer. */
  readonly version: string;
  readonly tag: string;
  readonly body: Uint8Array;
}

/** Bytes of an entry beside its body and its key. */
const overhead = 500;

/** Answers to lists, by their address. The cache forgets the answers that were not asked for the longest once all take too much. */
export class ListCache {
  /** Larger answers are not kept: a single large answer would push out all others. */
  readonly largest: number;
  readonly #size: number;
  readonly #lists = new Map<string, KeptList>();
  #taken = 0;
  /** Bytes of answers that are on their way, and may be kept. */
  #collected = 0;

  /** @param size in bytes; 0 keeps nothing. */
  constructor(size: number) {
    this.#size = size;
    this.largest = Math.floor(size / 16);
  }

  /** The caller checks that the list is still current. */
  get(address: string): KeptList | undefined {
    const list = this.#lists.get(address);
    if (list === undefined) return undefined;
    this.#lists.delete(address);
    this.#lists.set(address, list);
    return list;
  }

  /** Room for answers that are collected on their way; all together have an eighth of the cache's size. */
  collector(keep: (body: Uint8Array) => void): Collecting {
    let own = 0;
    return {
      take: (bytes) => {
        if (own + bytes > this.largest || this.#collected + bytes > this.#size / 8) return false;
        own += bytes;
        this.#collected += bytes;
        return true;
      },
      release: (bytes) => {
        this.#collected -= bytes;
      },
      keep,
    };
  }

  set(address: string, list: KeptList): void {
    this.#forget(address);
    if (list.body.byteLength > this.largest) return;
    this.#lists.set(address, list);
    this.#taken += bytesOf(address, list);
    for (const oldest of this.#lists.keys()) {
      if (this.#taken <= this.#size) return;
      this.#forget(oldest);
    }
  }

  #forget(address: string): void {
    const list = this.#lists.get(address);
    if (list === undefined) return;
    this.#lists.delete(address);
    this.#taken -= bytesOf(address, list);
  }
}

function bytesOf(address: string, { body }: KeptList): number {
  return address.length * 4 + body.byteLength + overhead;
}
