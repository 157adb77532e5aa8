/**
 * Upload: a file on the way in, written to disk piece by piece, the cleaned name, and the bounds on the bytes of stored files,
 * of each user and in all (`limits.storagePerUser`, `limits.storage`).
 */
import { type FileHandle, open, rm } from "node:fs/promises";
import { MAX_FILE_SIZE } from "@socle/protocol";
import { AppError } from "../../base/kernel/index.ts";
import { type Database, noteKind, type Reader, type Transactor } from "../../store/database/index.ts";
import { bytesOf, fileTotals } from "./file-table.ts";
import { sampleSize } from "./mime.ts";

/** Bytes; 0 is no bound. */
interface QuotaOptions {
  readonly total: number;
  readonly perUser: number;
}

interface QuotaRoom {
  readonly limit: "storage" | "storagePerUser";
  readonly max: number;
  readonly used: number;
}

/** @throws AppError `payload_too_large` when a file of `size` bytes does not fit. */
export function assertFits(rooms: readonly QuotaRoom[], size: number): void {
  for (const { limit, max, used } of rooms) {
    if (used + size <= max) continue;
    const whose = limit === "storage" ? "All files" : "Your files";
    const left = Math.max(0, max - used);
    throw new AppError(
      "payload_too_large",
      `The storage is full. ${whose} may take ${max} bytes (limits.${limit}); ${used} are used, and at most ${left} more fit.`,
      { limit },
    );
  }
}

/** Stored files, and the bytes. */
export interface StoredTotals {
  readonly files: number;
  readonly size: number;
}

/** The numbers by which a transaction changes the totals. */
const filesChanged = noteKind<StoredTotals>("files.changed");

/**
 * The bounds, and the totals for the bounds and the overview. The totals are counted once; from then on each commit
 * adds the change.
 */
export class Quota {
  readonly #max: QuotaOptions;
  /** Null until somebody asks. */
  #counted: StoredTotals | null = null;

  constructor(options: QuotaOptions) {
    this.#max = options;
  }

  /** To be called once, at start. */
  start({ reader, projection }: Database): void {
    projection.on(filesChanged, ({ files, size }) => {
      const known = this.#counted;
      if (known !== null) this.#counted = { files: known.files + files, size: known.size + size };
    });
    if (this.#max.total > 0) this.totals(reader);
  }

  /** The committed totals. */
  totals(reader: Reader): StoredTotals {
    this.#counted ??= fileTotals(reader);
    return this.#counted;
  }

  /** The bounds for a further file of a user, or of a caller without a user. Empty without bounds. */
  roomsFor(reader: Reader, userId: string | null): QuotaRoom[] {
    const { total, perUser } = this.#max;
    const rooms: QuotaRoom[] = [];
    if (perUser > 0 && userId !== null)
      rooms.push({ limit: "storagePerUser", max: perUser, used: bytesOf(reader, userId) });
    if (total > 0) rooms.push({ limit: "storage", max: total, used: this.#counted?.size ?? 0 });
    return rooms;
  }

  /** Counts a file that this transaction adds. @throws AppError `payload_too_large` when the file does not fit. */
  add(tx: Transactor, { size, userId }: { size: number; userId: string | null }): void {
    assertFits(this.roomsFor(tx, userId), size);
    tx.note(filesChanged.of({ files: 1, size }));
    // With a bound, the next transaction must see the new total.
    if (this.#max.total > 0) tx.endBatch();
  }

  remove(tx: Transactor, size: number): void {
    tx.note(filesChanged.of({ files: -1, size: -size }));
  }
}

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
 * A file on the way in, written to a separate file piece by piece, so that memory does not grow. The file is opened
 * with the first piece, so waiting uploads need no descriptor.
 */
export class Upload {
  readonly id: string;
  readonly path: string;
  /** The bounds that the file must fit into, as of the beginning of the upload. */
  readonly #rooms: readonly QuotaRoom[];
  #handle: Promise<FileHandle> | null = null;
  #size = 0;
  #sample = new Uint8Array();
  #isOver = false;

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
