/**
 * Unrecovered frames: commits of the write-ahead log that SQLite does not recover. SQLite reads the log up to the first
 * frame with a wrong checksum, and does not report the frames behind. The format: https://sqlite.org/fileformat2.html#walformat
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { Logger } from "../../../base/logging/index.ts";

const headerBytes = 32;
const frameHeaderBytes = 24;
/** The magic number of a log with little-endian checksums. */
const magic = 0x377f0682;
/** Bytes that are read at once, about. */
const chunkBytes = 1024 ** 2;

type Checksum = readonly [first: number, second: number];

/** The running checksum of the log, after a part of 8 bytes times n. */
function checksumOf(bytes: Buffer, isLittleEndian: boolean, [before, besides]: Checksum = [0, 0]): Checksum {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let [first, second] = [before, besides];
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + view.getUint32(at, isLittleEndian) + second) >>> 0;
    second = (second + view.getUint32(at + 4, isLittleEndian) + first) >>> 0;
  }
  return [first, second];
}

/** Whether a checksum is equal to the checksum stored at a place. */
function isStored([first, second]: Checksum, bytes: Buffer, at: number): boolean {
  return bytes.readUInt32BE(at) === first && bytes.readUInt32BE(at + 4) === second;
}

/**
 * Bytes of the log that SQLite leaves out, from the first damage to the last commit; 0 when SQLite recovers all commits.
 * Frames from before the last reset of the log have other salts, and a transaction that a kill has cut off has no
 * commit: neither counts. Nobody has the database open.
 */
export function unrecoveredBytes(path: string): number {
  let file: number;
  try {
    file = openSync(`${path}-wal`, "r");
  } catch {
    return 0;
  }
  try {
    return remainsOf(file);
  } finally {
    closeSync(file);
  }
}

/** Logs a line about commits that SQLite leaves out. To be called before the database is opened. */
export function warnOfUnrecoveredFrames(path: string, logger: Logger): void {
  const bytes = unrecoveredBytes(path);
  if (bytes === 0) return;
  logger.warn(
    `${path}-wal: its last ${bytes} bytes cannot be recovered. After a power cut these are writes that were not acknowledged; otherwise the log was damaged, and changes are lost`,
  );
}

function remainsOf(file: number): number {
  const header = Buffer.alloc(headerBytes);
  readSync(file, header, 0, headerBytes, 0);
  const isLittleEndian = header.readUInt32BE(0) === magic;
  let checksum = checksumOf(header.subarray(0, 24), isLittleEndian);
  // Without the header, the whole log is lost.
  if (!isStored(checksum, header, 24)) return Math.max(0, fstatSync(file).size - headerBytes);
  const salts = header.subarray(16, 24);
  const frameBytes = frameHeaderBytes + header.readUInt32BE(8);
  let isWhole = true;
  /** Frames up to the first with a wrong checksum, and up to the last commit. */
  let [whole, last, count] = [0, 0, 0];
  for (const frame of framesOf(file, frameBytes)) {
    const isOfLog = frame.compare(salts, 0, 8, 8, 16) === 0;
    isWhole &&= isOfLog;
    if (isWhole) {
      for (const part of [frame.subarray(0, 8), frame.subarray(frameHeaderBytes)])
        checksum = checksumOf(part, isLittleEndian, checksum);
      isWhole = isStored(checksum, frame, 16);
    }
    count += 1;
    if (isWhole) whole = count;
    const isCommit = frame.readUInt32BE(4) !== 0;
    if (isOfLog && isCommit) last = count;
  }
  return Math.max(0, last - whole) * frameBytes;
}

function* framesOf(file: number, size: number): Generator<Buffer> {
  const chunk = Buffer.alloc(Math.max(1, Math.floor(chunkBytes / size)) * size);
  for (let at = headerBytes; ; at += chunk.length) {
    const length = readSync(file, chunk, 0, chunk.length, at);
    for (let start = 0; start + size <= length; start += size) yield chunk.subarray(start, start + size);
    if (length < chunk.length) return;
  }
}
