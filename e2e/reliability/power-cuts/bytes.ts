/**
 * The bytes of a file after a power cut. Flushed bytes are on disk. Of the rest, each page of 4 KiB has the state after some of
 * the writes, from no write to all; a page may be torn between the sectors. The size is also the size after some of the
 * changes. Zeros fill the gaps.
 */
import { type Change, type File, lastSure } from "./names.ts";

const page = 4_096;
const sector = 512;

/** The part of the unflushed changes that is on disk. */
export type Luck = "nothing" | "everything" | "some";

function sizeAfter(size: number, change: Change): number {
  switch (change.kind) {
    case "write":
      return Math.max(size, change.offset + change.bytes.byteLength);
    case "resize":
      return change.size;
    case "grow":
      return Math.max(size, change.size);
  }
}

/** Makes a change in the piece of the file that begins at `start`. */
function apply(piece: Uint8Array, start: number, change: Change): void {
  const end = start + piece.byteLength;
  if (change.kind === "resize" && change.size < end) piece.fill(0, Math.max(0, change.size - start));
  if (change.kind !== "write") return;
  const from = Math.max(start, change.offset);
  const to = Math.min(end, change.offset + change.bytes.byteLength);
  if (from < to) piece.set(change.bytes.subarray(from - change.offset, to - change.offset), from - start);
}

/** How many of `count` writes are on disk. */
function some(count: number, random: () => number): number {
  const way = random();
  if (way < 0.3) return 0;
  if (way < 0.6) return count;
  return Math.floor(random() * (count + 1));
}

function pagesOf(change: Change, most: number): readonly [first: number, last: number] {
  switch (change.kind) {
    case "write":
      return [Math.floor(change.offset / page), Math.ceil((change.offset + change.bytes.byteLength) / page)];
    case "resize":
      return [Math.floor(change.size / page), Math.ceil(most / page)];
    case "grow":
      return [0, 0];
  }
}

/** The bytes of a file after a cut at an entry of the log. */
export function bytesAfter(
  file: File,
  cut: number,
  { luck, random }: { luck: Luck; random: () => number },
): Uint8Array {
  const sureUntil = lastSure(file.flushes, cut);
  const made = file.changes.filter(({ at }) => at < cut);
  const sure = made.filter(({ at }) => at < sureUntil || luck === "everything");
  const loose = made.filter(({ at }) => at >= sureUntil && luck === "some");
  const largest = made.reduce((most, change) => Math.max(most, sizeAfter(0, change)), 0);
  const bytes = new Uint8Array(Math.ceil(largest / page) * page);
  let size = 0;
  for (const change of sure) {
    apply(bytes, 0, change);
    size = sizeAfter(size, change);
  }
  for (const change of loose.slice(0, some(loose.length, random))) size = sizeAfter(size, change);
  for (const [number, changes] of byPage(loose, largest)) {
    const isTorn = random() < 0.2;
    const step = isTorn ? sector : page;
    const kept = some(changes.length, random);
    for (let start = number * page; start < (number + 1) * page; start += step) {
      const piece = bytes.subarray(start, start + step);
      for (const change of changes.slice(0, isTorn ? some(changes.length, random) : kept)) apply(piece, start, change);
    }
  }
  return bytes.subarray(0, size);
}

function byPage(changes: readonly Change[], most: number): Map<number, Change[]> {
  const pages = new Map<number, Change[]>();
  for (const change of changes) {
    const [first, last] = pagesOf(change, most);
    for (let number = first; number < last; number++) {
      const list = pages.get(number);
      if (list === undefined) pages.set(number, [change]);
      else list.push(change);
    }
  }
  return pages;
}
