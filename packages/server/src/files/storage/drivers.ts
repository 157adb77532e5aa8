/** The drivers of files: a folder, or a bucket of an S3-compatible store. */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { mkdir, open, opendir, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Admission, isObject, messageOf, SetupError } from "../../base/kernel/index.ts";
import { makeFolder } from "../../store/database/index.ts";
import { Bucket, isBucket, mistakes, partsOf, storeCode } from "./bucket.ts";
import type { ByteRange, DriverOptions, FileBody, StorageDriver } from "./driver.ts";

/** The driver for an address. @throws SetupError for missing keys. */
export function openDriver(options: DriverOptions): StorageDriver {
  return isBucket(options.address) ? new S3Driver(options) : new LocalDriver(options.address);
}

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

/** Files in a folder, spread over 256 subfolders by the end of the id, which is random. */
class LocalDriver implements StorageDriver {
  readonly workFolder: string;
  readonly #folder: string;
  /** Subfolders with names that are on disk: 256 at most. */
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
    // Also when the bytes were gone already: a crash may have come before the flush of the removal.
    await syncFolder(dirname(path)).catch((thrown) => {
      if (!isObject(thrown) || thrown["code"] !== "ENOENT") throw thrown;
    });
  }

  #path(id: string): string {
    return join(this.#folder, id.slice(-2), id);
  }
}

/** Files that are sent to the store at a time: a file may be held in memory meanwhile. */
const maxPuts = 4;
/** How long a start waits for a store that does not answer. */
const probeMs = 5_000;

class S3Driver implements StorageDriver {
  readonly workFolder: string;
  readonly #options: DriverOptions;
  readonly #bucket: Bucket;
  readonly #puts = new Admission({ width: maxPuts });

  /** @throws SetupError without keys. */
  constructor(options: DriverOptions) {
    this.#options = options;
    this.workFolder = options.workFolder;
    this.#bucket = new Bucket(options.address, options.s3);
  }

  async open(): Promise<void> {
    const { address, s3, logger } = this.#options;
    const where = `storage s3://${partsOf(address).bucket}`;
    try {
      mkdirSync(this.workFolder, { recursive: true });
    } catch (thrown) {
      throw new SetupError(`${where}: the folder for uploads cannot be made: ${messageOf(thrown)}`);
    }
    const probe = this.#bucket.write(".probe", "").then(() => this.#bucket.remove(".probe"));
    const failure: unknown = await Promise.race([
      probe.then(() => null).catch((thrown) => thrown),
      Bun.sleep(probeMs).then(() => new Error(`no answer within ${probeMs / 1_000} s`)),
    ]);
    if (failure === null) return;
    const code = storeCode(failure);
    if (mistakes.includes(code)) throw new SetupError(`${where}: cannot be written: ${messageOf(failure)} (${code})`);
    logger.warn(`${where}: does not respond; uploads and downloads fail meanwhile`, {
      endpoint: s3.endpoint ?? "AWS",
      reason: code === "" ? messageOf(failure) : code,
    });
  }

  async put(id: string, path: string): Promise<void> {
    await this.#puts.run(() => this.#bucket.write(id, Bun.file(path)));
    await rm(path, { force: true });
  }

  async read(id: string, range: ByteRange | null): Promise<FileBody | null> {
    if ((await this.#bucket.find(id)) === null) return null;
    return this.#bucket.read(id, range);
  }

  async size(id: string): Promise<number | null> {
    return (await this.#bucket.find(id))?.size ?? null;
  }

  async *list(): AsyncIterable<string> {
    for await (const { name } of this.#bucket.list()) if (!name.includes("/")) yield name;
  }

  async remove(id: string): Promise<void> {
    await this.#bucket.remove(id);
  }
}
