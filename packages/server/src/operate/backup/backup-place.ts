/**
 * BackupPlace: the place of a continuous backup, a folder or a bucket, with three parts: `segments`, `snapshots`, and `files`, the copies of
 * the files of a local storage. The segments are a single line in the order of the numbers; a restore, and a service that goes on, add to the line.
 */
import { messageOf } from "../../base/kernel/index.ts";
import type { S3Keys } from "../../files/storage/index.ts";
import type { Identity } from "./archive.ts";
import { type ObjectPlace, placeAt } from "./place.ts";
import {
  headBytes,
  headIn,
  numberOfName,
  readSegment,
  type SegmentCommit,
  type SegmentHead,
  segmentName,
} from "./segment.ts";

export class BackupPlace {
  readonly address: string;
  readonly segments: ObjectPlace;
  readonly files: ObjectPlace;
  readonly #identity: () => Promise<Identity>;

  /**
   * @param options.identity opens encrypted segments; the service itself reads the heads alone.
   * @throws SetupError for a bucket without keys.
   */
  constructor(address: string, { keys, identity }: { keys: S3Keys; identity?: (() => Promise<Identity>) | undefined }) {
    this.address = address.replace(/(?<=.)\/+$/, "");
    this.segments = placeAt(`${this.address}/segments`, keys);
    this.files = placeAt(`${this.address}/files`, keys);
    this.#identity = identity ?? (() => Promise.reject(new Error("it is encrypted")));
  }

  get snapshotAddress(): string {
    return `${this.address}/snapshots`;
  }

  /** The number of the oldest segment; 0 without segments. */
  async first(): Promise<number> {
    return numberOfName((await this.segments.next("segment-")) ?? "") ?? 0;
  }

  /** The number of the newest segment; 0 without segments. Asks for some 30 names, however many segments there are, and lists the names behind. */
  async last(): Promise<number> {
    for (let low = await this.first(); ; ) {
      if (low === 0) return 0;
      low = await this.#lastInLine(low);
      const behind = numberOfName((await this.segments.next(segmentName(low))) ?? "");
      if (behind === null) return low;
      // Segments are missing.
      low = behind;
    }
  }

  /** The number of a segment from `low` on whose next segment is not there. */
  async #lastInLine(low: number): Promise<number> {
    const isThere = async (number: number): Promise<boolean> =>
      (await this.segments.find(segmentName(number))) !== null;
    let [from, step] = [low, 1];
    while (await isThere(from + step)) {
      from += step;
      step *= 2;
    }
    return (await search(from + 1, from + step, async (number) => !(await isThere(number)))) - 1;
  }

  /** @throws Error with a line for a segment that is missing or damaged. */
  async head(number: number): Promise<SegmentHead> {
    const { head } = await this.#reading(number, async (name) => headIn(await this.segments.bytes(name, headBytes)));
    return head;
  }

  /** @throws Error with a line for a segment that is missing, damaged, or not opened by the identity. */
  read(number: number): Promise<{ head: SegmentHead; commits: SegmentCommit[] }> {
    return this.#reading(number, async (name) => readSegment(await this.segments.bytes(name), this.#identity));
  }

  /**
   * The first of the segments with the numbers from `low` to `high` whose head fulfils a condition that stays fulfilled; `high + 1` for none.
   * In place of a segment that is missing or damaged, the next segment is asked.
   */
  search(low: number, high: number, isReached: (head: SegmentHead) => boolean): Promise<number> {
    return search(low, high + 1, async (number) => {
      for (let next = number; next <= high; next++)
        try {
          return isReached(await this.head(next));
        } catch (thrown) {
          if (!(thrown instanceof SegmentUnusable)) throw thrown;
        }
      return true;
    });
  }

  async #reading<T extends { head: SegmentHead }>(number: number, work: (name: string) => Promise<T>): Promise<T> {
    const name = segmentName(number);
    try {
      const read = await work(name);
      if (read.head.number !== number) throw new Error(`it is the segment ${read.head.number}`);
      return read;
    } catch (thrown) {
      // A store that does not answer says nothing about the segment.
      const found = await this.segments.find(name);
      const what = found === null ? "is missing" : `cannot be used: ${messageOf(thrown)}`;
      throw new SegmentUnusable(`${this.segments.address}/${name}: ${what}`);
    }
  }
}

/** A segment is missing or damaged, or the identity does not open the segment. */
class SegmentUnusable extends Error {}

/** The smallest number from `low` to `high` that fulfils a condition that stays fulfilled; the condition is not asked for `high`. */
async function search(low: number, high: number, holds: (number: number) => Promise<boolean>): Promise<number> {
  let [from, to] = [low, high];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (await holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
