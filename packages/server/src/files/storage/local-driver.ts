/** Local driver: keeps files in a folder. */
import { existsSync, statSync } from "node:fs";
import { mkdir, open, opendir, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isObject, messageOf, SetupError } from "../../base/kernel/index.ts";
import { makeFolder } from "../../store/database/index.ts";
import type { ByteRange, FileBody, StorageDriver } from "./driver.ts";

/** Flushes a folder, so that the names in the folder survive a power cut. Windows keeps names without a flush. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Files in a folder, spread over 256 subfolders by the end of their id, which is random. */
export class LocalDriver implements StorageDriver {
  readonly workFolder: string;
  readonly #folder: string;
  /** Subfolders whose own names are on disk: 256 at most. */
  readonly #synced = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
    this.workFolder = join(folder, ".work");
  }

  async open(): Promise<void> {
    try {
      makeFolder(this.workFolder);
      const probe = join(this.workFolder, "probe");
      await (await open(probe, "w")).close();
      await rm(probe, { force: true });
    } catch (thrown) {
      throw new SetupError(`storage ${this.#folder}: cannot be written: ${messageOf(thrown)}`);
    }
  }

  async put(id: string, path: string): Promise<void> {
    const target = this.#path(id);
    const folder = dirname(target);
    await mkdir(folder, { recursive: true });
    await rename(path, target);
    await syncFolder(folder);
    if (this.#synced.has(folder)) return;
    await syncFolder(this.#folder);
    this.#synced.add(folder);
  }

  async read(id: string, range: ByteRange | null): Promise<FileBody | null> {
    const path = this.#path(id);
    const file = Bun.file(path);
    if (!(await file.exists())) return null;
    return range === null ? file : file.slice(range.start, range.end);
  }

  async size(id: string): Promise<number | null> {
    return statSync(this.#path(id), { throwIfNoEntry: false })?.size ?? null;
  }

  async *list(): AsyncIterable<string> {
    if (!existsSync(this.#folder)) return;
    for (const name of await readdir(this.#folder)) {
      const folder = join(this.#folder, name);
      if (name.startsWith(".") || !statSync(folder).isDirectory()) continue;
      for await (const entry of await opendir(folder)) if (entry.isFile()) yield entry.name;
    }
  }

  async remove(id: string): Promise<void> {
    const path = this.#path(id);
    await rm(path, { force: true });
    // Also when the bytes were gone already: a crash may have come before the flush of their removal.
    await syncFolder(dirname(path)).catch((thrown) => {
      if (!isObject(thrown) || thrown["code"] !== "ENOENT") throw thrown;
    });
  }

  #path(id: string): string {
    return join(this.#folder, id.slice(-2), id);
  }
}
