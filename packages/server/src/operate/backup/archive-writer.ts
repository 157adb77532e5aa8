/** Writing the file of a backup: entries of a tar, compressed with zstd, encrypted if asked for, in bounded memory. */
import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from "node:fs";
import { createTarPacker } from "modern-tar";
import { type Encryption, encrypt } from "./encryption.ts";
import type { ManifestEntry } from "./manifest.ts";

/** Bytes between two flushes, so that no flush of the log waits behind much. */
const flushBytes = 1024 ** 2;

/** So much is compressed at a time, as a frame of its own (RFC 8878, 3.1). */
const frameBytes = 1024 ** 2;

/**
 * Compresses on this thread, which has a lower priority than requests. The runtime's own stream compresses on threads
 * without that priority.
 */
function compressor(): TransformStream<Uint8Array, Uint8Array<ArrayBuffer>> {
  let waiting: Uint8Array[] = [];
  let length = 0;
  const compress = (controller: TransformStreamDefaultController<Uint8Array<ArrayBuffer>>): void => {
    controller.enqueue(new Uint8Array(Bun.zstdCompressSync(Buffer.concat(waiting))));
    waiting = [];
    length = 0;
  };
  return new TransformStream({
    transform(piece, controller) {
      waiting.push(piece);
      length += piece.byteLength;
      if (length >= frameBytes) compress(controller);
    },
    flush: (controller) => (length > 0 ? compress(controller) : undefined),
  });
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.byteLength; ) at += writeSync(file, bytes, at);
}

/** Writes to a disk that others need as well: after each flush the writer rests as long as the flush took. */
export class PacedFile {
  readonly #file: number;
  #unflushed = 0;
  #isClosed = false;
  size = 0;

  constructor(path: string) {
    this.#file = openSync(path, "w", 0o600);
  }

  async write(bytes: Uint8Array): Promise<void> {
    const start = performance.now();
    writeAll(this.#file, bytes);
    this.size += bytes.byteLength;
    this.#unflushed += bytes.byteLength;
    if (this.#unflushed < flushBytes) return;
    this.#unflushed = 0;
    fdatasyncSync(this.#file);
    await Bun.sleep(performance.now() - start);
  }

  /** @param isWhole whether the file must survive a power cut. */
  close(isWhole: boolean): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      if (isWhole) fsyncSync(this.#file);
    } finally {
      closeSync(this.#file);
    }
  }
}

export class ArchiveWriter {
  readonly #file: PacedFile;
  readonly #packer = createTarPacker();
  readonly #written: Promise<void>;
  readonly #failed: Promise<never>;
  readonly #createdAt: Date;
  /** Why the file could not be written. */
  #cause: unknown = null;

  private constructor(path: string, encryption: Encryption | null, createdAt: Date) {
    this.#file = new PacedFile(path);
    this.#createdAt = createdAt;
    this.#written = this.#write(encryption);
    // A caller that adds an entry must not wait for a reader that has failed.
    this.#failed = this.#written.then(() => new Promise<never>(() => undefined));
    this.#failed.catch(() => undefined);
  }

  /** @throws Error when the file cannot be made. */
  static open(path: string, options: { encryption: Encryption | null; createdAt: Date }): ArchiveWriter {
    return new ArchiveWriter(path, options.encryption, options.createdAt);
  }

  /**
   * Adds an entry of exactly `size` bytes.
   * @throws Error when the pieces have more or fewer bytes, or the file cannot be written.
   */
  async add(
    name: string,
    size: number,
    pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<ManifestEntry> {
    const header = { name, size, type: "file" as const, mode: 0o600, mtime: this.#createdAt };
    const writer = this.#packer.controller.add(header).getWriter();
    const hasher = new Bun.CryptoHasher("sha256");
    let length = 0;
    for await (const piece of pieces) {
      hasher.update(piece);
      length += piece.byteLength;
      await this.#take(writer.ready.then(() => writer.write(piece)));
    }
    if (length !== size) throw new Error(`${name} has ${length} bytes in place of ${size}`);
    await this.#take(writer.close());
    return { name, size, sha256: hasher.digest("hex") };
  }

  /** Ends the archive. Resolves with its size once the archive would survive a power cut. */
  async finish(): Promise<number> {
    this.#packer.controller.finalize();
    await this.#written;
    this.#file.close(true);
    return this.#file.size;
  }

  /** Gives up. The unfinished file stays for the caller to remove. */
  async abandon(reason: unknown): Promise<void> {
    this.#packer.controller.error(reason);
    await this.#written.catch(() => undefined);
    this.#file.close(false);
  }

  async #write(encryption: Encryption | null): Promise<void> {
    const compressed = this.#packer.readable.pipeThrough(compressor());
    const bytes = encryption === null ? compressed : await encrypt(compressed, encryption);
    for await (const piece of bytes) {
      try {
        await this.#file.write(piece);
      } catch (thrown) {
        this.#cause = thrown;
        throw thrown;
      }
    }
  }

  /** A file that cannot be written ends the stream before the file with an error without the cause. */
  async #take(piece: Promise<void>): Promise<void> {
    try {
      await Promise.race([piece, this.#failed]);
    } catch (thrown) {
      throw this.#cause ?? thrown;
    }
  }
}
