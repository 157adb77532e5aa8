/** Upload: a file on its way in, written to disk piece by piece, and its cleaned name. */
import { type FileHandle, open, rm } from "node:fs/promises";
import { MAX_FILE_SIZE } from "@socle/protocol";
import { AppError } from "../../base/kernel/index.ts";
import { sampleSize } from "./mime.ts";
import { assertFits, type QuotaRoom } from "./quota.ts";

/**
 * Cleans a name: no path, no control characters, no characters that make text run the other way and disguise an ending.
 * Browsers write a quotation mark as %22 (HTML, 4.10.21.8).
 */
export function cleanName(filename: string | undefined): string {
  const name = (filename ?? "").split(/[/\\]/).at(-1) ?? "";
  return name
    .toWellFormed()
    .replaceAll("%22", '"')
    .replace(/[\p{Cc}\p{Bidi_Control}]/gu, "")
    .trim();
}

/**
 * A file on its way in, written to a file of its own piece by piece, so that memory does not grow. The file is opened
 * with the first piece, so waiting uploads need no descriptor.
 */
export class Upload {
  readonly id: string;
  readonly path: string;
  readonly #rooms: readonly QuotaRoom[];
  #handle: Promise<FileHandle> | null = null;
  #size = 0;
  #sample = new Uint8Array();
  #isOver = false;

  /** @param options.rooms the bounds that the file must fit into, as of the beginning of the upload. */
  constructor(options: { id: string; path: string; rooms: readonly QuotaRoom[] }) {
    this.id = options.id;
    this.path = options.path;
    this.#rooms = options.rooms;
  }

  /** Bytes so far. */
  get size(): number {
    return this.#size;
  }

  /** The first bytes, as many as the detection of the type needs. */
  get sample(): Uint8Array {
    return this.#sample;
  }

  /** @throws AppError `payload_too_large` beyond the limit. */
  async write(chunk: Uint8Array): Promise<void> {
    if (this.#size + chunk.byteLength > MAX_FILE_SIZE)
      throw new AppError("payload_too_large", `The file is larger than ${MAX_FILE_SIZE} bytes (10 MiB).`);
    assertFits(this.#rooms, this.#size + chunk.byteLength);
    const handle = await this.#open();
    const missing = sampleSize - this.#sample.byteLength;
    if (missing > 0) this.#sample = Buffer.concat([this.#sample, chunk.subarray(0, missing)]);
    for (let at = 0; at < chunk.byteLength; )
      at += (await handle.write(chunk, at, chunk.byteLength - at, this.#size + at)).bytesWritten;
    this.#size += chunk.byteLength;
  }

  /** The file is whole: resolves once the file would survive a power cut. */
  async finish(): Promise<void> {
    await (await this.#open()).datasync();
    await this.#close();
  }

  /** Leaves nothing behind, unless a driver has taken the file over. */
  async discard(): Promise<void> {
    await this.#close();
    await rm(this.path, { force: true });
  }

  #open(): Promise<FileHandle> {
    // Pieces after a failure must not bring the file back.
    if (this.#isOver) throw new Error("An upload was written to after its end");
    this.#handle ??= open(this.path, "wx");
    return this.#handle;
  }

  /** Closes the file, also while the file is being opened. */
  async #close(): Promise<void> {
    this.#isOver = true;
    const opening = this.#handle;
    this.#handle = null;
    const handle = await opening?.catch(() => null);
    await handle?.close();
  }
}
