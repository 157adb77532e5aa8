/**
 * The reserve: space on the disk that only changes of an admin may use, and only changes that free space. The reserve is a file
 * beside the database. If the disk is full and a space-freeing change does not fit, the file is removed. From then on all other
 * changes are refused, until the disk has space for the file again, or the database has enough free pages.
 */
import { randomBytes } from "node:crypto";
import { rmSync, statSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { freeBytes, messageOf } from "../../../base/kernel/index.ts";
import type { Logger } from "../../../base/logging/index.ts";

/** Twice the bytes that the log may hold before a checkpoint copies the log into the database file. */
const reserveBytes = 16 * 1024 ** 2;
/** Free bytes required to make the reserve: with less free space, the reserve itself would fill the disk. */
const roomFor = 2 * reserveBytes;
const chunkBytes = 1024 ** 2;
const lookEveryMs = 2_000;

export interface ReserveOptions {
  readonly path: string;
  readonly logger: Logger;
  /** Bytes of the unused pages in the database file. */
  readonly innerRoom: () => number;
}

export class Reserve {
  readonly #options: ReserveOptions;
  readonly #path: string;
  readonly #timer: Timer;
  #isKept: boolean;
  #isReleased = false;
  #isClosed = false;
  #looking: Promise<void> | null = null;

  constructor(options: ReserveOptions) {
    this.#options = options;
    this.#path = `${options.path}-reserve`;
    this.#isKept = statSync(this.#path, { throwIfNoEntry: false })?.size === reserveBytes;
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
    }, lookEveryMs).unref();
  }

  /** Whether only changes that free space are accepted. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Gives the space back to the disk. Answers whether the disk has more free space now. */
  release(): boolean {
    if (!this.#isKept) return false;
    this.#isKept = false;
    rmSync(this.#path, { force: true });
    this.#isReleased = true;
    this.#options.logger.warn(
      "The disk is full. An admin makes room with what was reserved for that; all other changes are refused until there is room",
    );
    return true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    if (this.#isKept) return;
    try {
      if (this.#isReleased && this.#options.innerRoom() >= roomFor) this.#end();
      if ((await freeBytes(this.#path)) < roomFor || this.#isClosed) return;
      await this.#make();
      this.#isKept = true;
      this.#options.logger.debug("Room on the disk is reserved", { bytes: reserveBytes });
      if (this.#isReleased) this.#end();
    } catch (error) {
      this.#options.logger.debug(`The reserve of the disk cannot be made: ${messageOf(error)}`);
    }
  }

  #end(): void {
    this.#isReleased = false;
    this.#options.logger.info("There is room again: all changes are taken");
  }

  /** Writes random bytes: a compressing file system would reserve no space for other bytes. */
  async #make(): Promise<void> {
    const chunk = randomBytes(chunkBytes);
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
