/**
 * WaitingCommits: the commits that wait for a segment, compressed. The lines of the commits are compressed while the processor has the lines in a cache: a
 * frame of zstd (RFC 8878, 3.1) has about 64 KiB of lines, and the frames of a segment stand one behind the other.
 */
import type { constants, zstdCompressSync } from "node:zlib";
import type { KeptCommit } from "../../store/database/index.ts";

/** The functions of `node:zlib`, which is loaded on demand: the module brings the streams of Node. */
export interface Zlib {
  readonly constants: typeof constants;
  readonly zstdCompressSync: typeof zstdCompressSync;
}

/** A level that takes a third of the time of the usual level, for segments that are half as large again. */
const level = -3;
/** The bytes of lines that make a frame. */
const frameBytes = 64 * 1024;

/** With a checksum of the content, so that no flipped bit changes what is read. */
export function frameOf(bytes: Uint8Array, { constants, zstdCompressSync }: Zlib): Uint8Array {
  const params = { [constants.ZSTD_c_checksumFlag]: 1, [constants.ZSTD_c_compressionLevel]: level };
  return zstdCompressSync(bytes, { params });
}

/** A commit without the entry. */
export type Waiting = Pick<KeptCommit, "position" | "id" | "at"> & {
  /** The files that the commit has stored. */
  readonly files: readonly string[];
};

interface Frame {
  readonly bytes: Uint8Array;
  /** The bytes of the lines. */
  readonly size: number;
  /** Of the commits, the ends alone stay beside the bytes: small commits may be millions. */
  readonly first: Waiting;
  readonly last: Waiting;
  /** The files of all commits. */
  readonly files: readonly string[];
}

export class WaitingCommits {
  readonly #zlib: Zlib;
  #frames: Frame[] = [];
  #frameBytes = 0;
  /** The commits of the next frame, and the lines. */
  #commits: Waiting[] = [];
  #lines = Buffer.allocUnsafeSlow(2 * frameBytes);
  #length = 0;

  constructor(zlib: Zlib) {
    this.#zlib = zlib;
  }

  /** The bytes that wait in memory. */
  get bytes(): number {
    return this.#frameBytes + this.#length;
  }

  get first(): Waiting | null {
    return this.#frames[0]?.first ?? this.#commits[0] ?? null;
  }

  get last(): Waiting | null {
    return this.#commits.at(-1) ?? this.#frames.at(-1)?.last ?? null;
  }

  /** Adds a commit with the entry. Answers the bytes of the line. */
  add(commit: Waiting, entry: string): number {
    const { position, id, at } = commit;
    const head = `${position} ${id} ${at} `;
    const before = this.#length;
    // A character has three bytes at most.
    const most = before + head.length + 3 * entry.length + 1;
    if (most > this.#lines.byteLength) this.#lines = Buffer.concat([this.#lines.subarray(0, before)], most);
    for (const text of [head, entry, "\n"]) this.#length += this.#lines.write(text, this.#length);
    this.#commits.push(commit);
    const size = this.#length - before;
    if (this.#length >= frameBytes) this.#pack();
    return size;
  }

  /** The first frames, of about `most` bytes, or of more than `most` bytes for a single frame. The frames stay until `remove`. */
  some(most: number): readonly Frame[] {
    this.#pack();
    let bytes = 0;
    const end = this.#frames.findIndex((frame, i) => {
      bytes += frame.bytes.byteLength;
      return i > 0 && bytes > most;
    });
    return end < 0 ? [...this.#frames] : this.#frames.slice(0, end);
  }

  /** Puts earlier commits before the commits. */
  prepend(earlier: WaitingCommits): void {
    earlier.#pack();
    this.#frames.unshift(...earlier.#frames);
    this.#frameBytes += earlier.#frameBytes;
  }

  /** Removes the first frames. */
  remove(frames: readonly Frame[]): void {
    this.#frames.splice(0, frames.length);
    for (const { bytes } of frames) this.#frameBytes -= bytes.byteLength;
  }

  clear(): void {
    this.#frames = [];
    this.#frameBytes = 0;
    this.#commits = [];
    this.#length = 0;
  }

  #pack(): void {
    const [first] = this.#commits;
    const last = this.#commits.at(-1);
    if (first === undefined || last === undefined) return;
    const files = this.#commits.flatMap((commit) => commit.files);
    const bytes = frameOf(this.#lines.subarray(0, this.#length), this.#zlib);
    this.#frames.push({ bytes, size: this.#length, first, last, files });
    this.#frameBytes += bytes.byteLength;
    this.#commits = [];
    this.#length = 0;
    if (this.#lines.byteLength > 16 * frameBytes) this.#lines = Buffer.allocUnsafeSlow(2 * frameBytes);
  }
}
