/** The bytes that a call has written to a file, and the place in the file. */
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { readMemory } from "./libc.ts";
import { argument, descriptor, descriptorPath, type Entry } from "./thread.ts";

export interface Written {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** The bytes that write, pwrite and similar calls have taken from the caller's memory. `count` is the answer. */
export function writtenFromMemory(entry: Entry, count: number): Written {
  const isVector = entry.call !== "write" && entry.call !== "pwrite64";
  const isPlaced = entry.call.startsWith("p") && argument(entry, 3) !== -1;
  const offset = isPlaced ? argument(entry, 3) : position(entry.tid, descriptor(entry, 0)) - count;
  const address = entry.args[1] ?? 0n;
  const bytes = isVector
    ? readVector(entry, { address, pieces: argument(entry, 2), count })
    : readMemory(entry.tid, address, count);
  return { offset, bytes };
}

function readVector(
  { tid }: Entry,
  { address, pieces, count }: { address: bigint; pieces: number; count: number },
): Uint8Array {
  const list = new DataView(readMemory(tid, address, pieces * 16).buffer);
  const parts: Uint8Array[] = [];
  let left = count;
  for (let i = 0; i < pieces && left > 0; i++) {
    const length = Math.min(left, Number(list.getBigUint64(i * 16 + 8, true)));
    parts.push(readMemory(tid, list.getBigUint64(i * 16, true), length));
    left -= length;
  }
  return Buffer.concat(parts);
}

/** The bytes that the kernel has copied into a file, read from the file. A clone copies the whole file. */
export function writtenByCopy(entry: Entry, count: number): Written {
  const fd = descriptor(entry, entry.call === "ioctl" || entry.call === "sendfile" ? 0 : 2);
  const path = descriptorPath(entry.tid, fd);
  if (entry.call === "ioctl") return { offset: 0, bytes: readFileSync(path) };
  const offset = end(entry, fd) - count;
  const bytes = new Uint8Array(count);
  const file = openSync(path, "r");
  const length = readSync(file, bytes, 0, count, offset);
  closeSync(file);
  if (length !== count) throw new Error("the copied bytes could not be read");
  return { offset, bytes };
}

/** The end of a copy: the caller's own offset, which the kernel has moved on, or the offset of the descriptor. */
function end(entry: Entry, fd: number): number {
  const address = entry.call === "sendfile" ? 0n : (entry.args[3] ?? 0n);
  if (address === 0n) return position(entry.tid, fd);
  return Number(new DataView(readMemory(entry.tid, address, 8).buffer).getBigInt64(0, true));
}

function position(tid: number, fd: number): number {
  const at = /^pos:\s+(\d+)/m.exec(readFileSync(`/proc/${tid}/fdinfo/${fd}`, "utf8"))?.[1];
  if (at === undefined) throw new Error("the position of a descriptor could not be read");
  return Number(at);
}
