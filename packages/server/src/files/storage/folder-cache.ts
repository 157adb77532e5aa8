/**
 * Folder cache: files that can be made again, in a folder with a subfolder for each group; past its size the oldest
 * go.
 */
import { mkdir, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Admission } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";

interface Entry {
  readonly path: string;
  readonly size: number;
  readonly time: number;
}

export class FolderCache {
  readonly #folder: string;
  readonly #maxSize: number;
  readonly #logger: Logger;
  /** Bytes; null until the folder was looked at. */
  #size: number | null = null;
  #count = 0;
  /** The folder changes step by step, so that its size stays right and no folder goes while a file comes. */
  readonly #admission = new Admission({ width: 1 });

  constructor(options: { folder: string; cacheSize: number; logger: Logger }) {
    this.#folder = options.folder;
    this.#maxSize = options.cacheSize;
    this.#logger = options.logger;
  }

  /** A file on disk: the runtime reads the file for its client, so that memory holds no copies for clients who hang up. */
  async get(group: string, name: string): Promise<Blob | null> {
    const file = Bun.file(join(this.#folder, group, name));
    return (await file.exists()) ? file : null;
  }

  /** Keeps a file, under its name only once the file is complete. A failure is logged: the file can be made again. */
  async put(group: string, name: string, content: Blob): Promise<void> {
    const folder = join(this.#folder, group);
    this.#count += 1;
    const partial = join(this.#folder, `${this.#count}.part`);
    if (content.size > this.#maxSize) return;
    try {
      await this.#admission.run(async () => {
        await mkdir(folder, { recursive: true });
        await Bun.write(partial, content);
        await rename(partial, join(folder, name));
        // The first time, earlier files count too; the new file is among them.
        if (this.#size === null) this.#size = sizeOf(await this.#entries());
        else this.#size += content.size;
        if (this.#size > this.#maxSize) await this.#trim();
      });
    } catch (error) {
      await rm(partial, { force: true }).catch(() => undefined);
      this.#logger.warn("A thumbnail could not be kept", { error });
    }
  }

  async forget(group: string): Promise<void> {
    try {
      await this.#admission.run(() => rm(join(this.#folder, group), { recursive: true, force: true }));
    } catch (error) {
      this.#logger.warn("A thumbnail could not be removed", { error });
    }
  }

  async #entries(): Promise<Entry[]> {
    const entries: Entry[] = [];
    for (const item of await readdir(this.#folder, { recursive: true, withFileTypes: true })) {
      if (!item.isFile()) continue;
      const path = join(item.parentPath, item.name);
      const found = await stat(path).catch(() => null);
      if (found !== null) entries.push({ path, size: found.size, time: found.mtimeMs });
    }
    return entries;
  }

  /** Removes the oldest files down to three quarters of the bound, so that the next trim is not due at once. */
  async #trim(): Promise<void> {
    const entries = (await this.#entries()).sort((a, b) => a.time - b.time);
    let size = sizeOf(entries);
    for (const entry of entries) {
      if (size <= this.#maxSize * 0.75) break;
      await rm(entry.path, { force: true });
      // The last file of a folder takes the folder away.
      await rmdir(dirname(entry.path)).catch(() => undefined);
      size -= entry.size;
    }
    this.#size = size;
  }
}

function sizeOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { size }) => sum + size, 0);
}
