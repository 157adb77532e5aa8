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

  constructor(path: string) {
    this.#file = openSync(path, "w", 0o600);
  }

  async write(bytes: Uint8Array): Promise<void> {
    const start = performance.now();
    writeAll(this.#file, bytes);
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

/**
 * Adds an entry of exactly `size` bytes to an archive. Answers the entry's line of the manifest.
 * @throws Error when the pieces have more or fewer bytes, or the file cannot be written.
 */
export type AddEntry = (
  name: string,
  size: number,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
) => Promise<ManifestEntry>;

/**
 * Writes an archive of the entries that `fill` adds. Resolves once the archive would survive a power cut.
 * After a failure, the unfinished file stays for the caller to remove.
 */
export async function writeArchive(
  path: string,
  { encryption, createdAt }: { encryption: Encryption | null; createdAt: Date },
  fill: (add: AddEntry) => Promise<void>,
): Promise<void> {
  const file = new PacedFile(path);
  const { readable, controller } = createTarPacker();
  const add: AddEntry = async (name, size, pieces) => {
    const writer = controller.add({ name, size, type: "file", mode: 0o600, mtime: createdAt }).getWriter();
    const hasher = new Bun.CryptoHasher("sha256");
    let length = 0;
    for await (const piece of pieces) {
      hasher.update(piece);
      length += piece.byteLength;
      await writer.ready;
      await writer.write(piece);
    }
    if (length !== size) throw new Error(`${name} has ${length} bytes in place of ${size}`);
    await writer.close();
    return { name, size, sha256: hasher.digest("hex") };
  };
  // An error of `fill` goes through the stream to the loop below; an error of the file goes back to `fill`.
  const filled = fill(add)
    .then(() => controller.finalize())
    .catch((thrown) => controller.error(thrown));
  try {
    const compressed = readable.pipeThrough(compressor());
    const bytes = encryption === null ? compressed : await encrypt(compressed, encryption);
    for await (const piece of bytes) await file.write(piece);
    file.close(true);
  } catch (thrown) {
    controller.error(thrown);
    await filled;
    throw thrown;
  } finally {
    file.close(false);
  }
}
