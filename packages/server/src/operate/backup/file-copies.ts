/**
 * FileCopies: the files of a continuous backup. The files of a local storage are copied to the place, once each, because the content of a file never
 * changes. Copies of deleted files, and the objects of deleted files in a bucket, stay until no moment of the backup needs the bytes.
 */
import type { Logger } from "../../base/logging/index.ts";
import { eachFileId, type Storage, type StorageDriver } from "../../files/storage/index.ts";
import type { Reader } from "../../store/database/index.ts";
import type { ObjectPlace } from "./place.ts";

/** Files that are copied at a time. */
const atATime = 4;
/** The longest time between two looks for deleted files whose time is over. */
const sweepMs = 600_000;

export interface FileCopiesOptions {
  readonly place: ObjectPlace;
  /** The driver of a local storage; null for a bucket, which has the files. */
  readonly local: StorageDriver | null;
  readonly keepMs: () => number;
  readonly logger: Logger;
}

export class FileCopies {
  readonly #options: FileCopiesOptions;
  readonly #storage: Storage;
  /** Ends the hold of the files that were deleted since the last copies. */
  #release: (() => Promise<void>) | null = null;
  #sweepAt = 0;

  constructor(storage: Storage, options: FileCopiesOptions) {
    const { local } = options;
    this.#options = options;
    this.#storage = storage;
    if (local !== null) this.#release = storage.holdRemovals();
  }

  /** Does work that copies the files of the commits so far: files that are deleted meanwhile keep their bytes, until the end of the next work that succeeds. */
  async during(work: () => Promise<void>): Promise<void> {
    if (this.#options.local === null) return work();
    const hold = this.#storage.holdRemovals();
    try {
      await work();
    } catch (thrown) {
      // The files stay held by the earlier hold.
      await hold();
      throw thrown;
    }
    const before = this.#release;
    this.#release = hold;
    await before?.();
  }

  /** Ends the hold of deleted files. */
  async end(): Promise<void> {
    await this.#release?.();
  }

  async copy(ids: readonly string[]): Promise<void> {
    const { local, place } = this.#options;
    if (local === null) return;
    for (let i = 0; i < ids.length; i += atATime)
      await Promise.all(
        ids.slice(i, i + atATime).map(async (id) => {
          const body = await local.read(id, null);
          // `socle verify` names a file without bytes. A copy that is there is whole.
          if (body !== null) await place.create(id, new Uint8Array(await new Response(body).arrayBuffer()));
        }),
      );
  }

  /** Copies the files that the place lacks, and marks the copies that belong to no file, so that these copies go in time. Both lists are in the order of the ids. */
  async compare(reader: Reader): Promise<void> {
    if (this.#options.local === null) return;
    const copies = this.#options.place.list()[Symbol.asyncIterator]();
    let copy = await copies.next();
    const strays: string[] = [];
    let lacking: string[] = [];
    for (const id of eachFileId(reader)) {
      for (; copy.done !== true && copy.value.name < id; copy = await copies.next()) strays.push(copy.value.name);
      if (copy.done !== true && copy.value.name === id) copy = await copies.next();
      else lacking.push(id);
      if (lacking.length < atATime) continue;
      await this.copy(lacking);
      lacking = [];
    }
    await this.copy(lacking);
    for (; copy.done !== true; copy = await copies.next()) strays.push(copy.value.name);
    if (strays.length > 0) await this.#storage.markStrays(strays);
  }

  /** Removes, from time to time, the bytes that no moment needs. */
  async sweep(): Promise<void> {
    if (performance.now() < this.#sweepAt) return;
    const { keepMs, local, logger, place } = this.#options;
    this.#sweepAt = performance.now() + Math.min(sweepMs, keepMs());
    await this.#storage
      .removeOld(local === null ? undefined : (id) => place.remove(id))
      .catch((error) => logger.warn("The bytes of deleted files could not be removed", { error }));
  }
}
