/**
 * The reserve: space on the disk that only changes of an admin may use, and only changes that free space. The reserve is a file
 * beside the database. If the disk is full and a space-freeing change does not fit, the file is removed. From then on all other
 * changes are refused, until the disk has space for the file again, or the database has enough free pages.
 */
import { rmSync, statSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { freeBytes, messageOf } from "../../../base/kernel/index.ts";
import type { Logger } from "../../../base/logging/index.ts";
import type { Reader } from "../store.ts";

/** Twice the bytes that the log may hold before a checkpoint copies the log into the database file. */
const reserveBytes = 16 * 1024 ** 2;
/** Free bytes required to make the reserve: with less free space, the reserve would fill the disk. */
const roomFor = 2 * reserveBytes;
const chunkBytes = 1024 ** 2;
/** The most bytes of a call of `getRandomValues`. */
const mostRandom = 65_536;
const lookEveryMs = 2_000;

export interface ReserveOptions {
  readonly path: string;
  readonly logger: Logger;
  readonly connection: Reader;
}

export class Reserve {
  readonly #options: ReserveOptions;
  readonly #path: string;
  /** Looks whether the reserve can be made; null while the reserve is kept. */
  #timer: Timer | null = null;
  #isClosed = false;
  #looking: Promise<void> | null = null;
  /** The error for which the reserve was released: only changes that free space are accepted. Null for no error. */
  releasedFor: unknown = null;

  constructor(options: ReserveOptions) {
    this.#options = options;
    this.#path = `${options.path}-reserve`;
    if (statSync(this.#path, { throwIfNoEntry: false })?.size !== reserveBytes) this.#start();
  }

  /** Gives the space back to the disk. Answers whether the disk has more free space than at the moment of the error. */
  release(full: unknown): boolean {
    // A statement has thrown the error, and the commit throws the same error.
    if (full === this.releasedFor) return true;
    if (this.#timer !== null) return false;
    this.#start();
    rmSync(this.#path, { force: true });
    this.releasedFor = full;
    this.#options.logger.warn(
      "The disk is full. An admin frees space with the reserve; all other changes are refused until space is free",
    );
    return true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
    await this.#looking;
  }

  #start(): void {
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
    }, lookEveryMs).unref();
  }

  #stop(): void {
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
  }

  async #look(): Promise<void> {
    try {
      if (this.releasedFor !== null && this.#innerRoom() >= roomFor) this.#end();
      if ((await freeBytes(this.#path)) < roomFor || this.#isClosed) return;
      await this.#make();
      this.#stop();
      this.#options.logger.debug("Room on the disk is reserved", { bytes: reserveBytes });
      this.#end();
    } catch (error) {
      this.#options.logger.debug(`The reserve of the disk cannot be made: ${messageOf(error)}`);
    }
  }

  /** Bytes of the unused pages in the database file. */
  #innerRoom(): number {
    const { connection } = this.#options;
    const pages = connection.get<{ freelist_count: number }>("PRAGMA freelist_count")?.freelist_count ?? 0;
    return pages * (connection.get<{ page_size: number }>("PRAGMA page_size")?.page_size ?? 0);
  }

  #end(): void {
    if (this.releasedFor === null) return;
    this.releasedFor = null;
    this.#options.logger.info("Space is free again: all changes are accepted");
  }

  /** Writes random bytes: a compressing file system would reserve no space for other bytes. */
  async #make(): Promise<void> {
    const chunk = new Uint8Array(chunkBytes);
    for (let at = 0; at < chunkBytes; at += mostRandom) crypto.getRandomValues(chunk.subarray(at, at + mostRandom));
    try {
      const file = await open(this.#path, "w", 0o600);
      try {
        for (let at = 0; at < reserveBytes; at += chunkBytes) await file.write(chunk, 0, chunkBytes, at);
      } finally {
        await file.close();
      }
    } catch (thrown) {
      await rm(this.#path, { force: true });
      throw thrown;
    }
  }
}
