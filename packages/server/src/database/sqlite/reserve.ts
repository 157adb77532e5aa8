/**
 * The reserve: room on the disk that only the changes of an admin who makes room may use. It is a file beside the database.
 * When the disk is full and such a change does not fit, the file is removed; from then on all other changes are refused, until
 * there is room for the file again, or enough inside the database.
 */
import { randomBytes } from "node:crypto";
import { rmSync, statSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { freeBytes, messageOf } from "../../kernel/index.ts";
import type { Logger } from "../../logging/index.ts";

/** As much as the log may hold before it is copied into the database file, twice. */
const reserveBytes = 16 * 1024 ** 2;
/** Free bytes that the reserve needs to be made: with less it would be the reserve that fills the disk. */
const roomFor = 2 * reserveBytes;
const chunkBytes = 1024 ** 2;
const lookEveryMs = 2_000;

export interface ReserveOptions {
  /** Of the database. */
  readonly path: string;
  readonly logger: Logger;
  /** Bytes of the database file that nothing uses. */
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

  /** Whether only changes that make room are to be taken. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Gives the room back to the disk. Answers whether there is more of it now. */
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
      if (this.#isReleased) this.#end();
    } catch (error) {
      this.#options.logger.debug(`The reserve of the disk cannot be made: ${messageOf(error)}`);
    }
  }

  #end(): void {
    this.#isReleased = false;
    this.#options.logger.info("There is room again: all changes are taken");
  }

  /** Random bytes: a file system that compresses would keep no room for others. */
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
