/** Backups in a bucket: packed into the folder beside the database first, which keeps each until it is uploaded. */
import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ByteRange, FileBody } from "../storage/index.ts";
import type { Bucket } from "./bucket.ts";
import { type BackupTarget, type KeptBackup, timeOfName } from "./target.ts";

export class BucketTarget implements BackupTarget {
  readonly #bucket: Bucket;
  readonly #folder: string;

  /** @param folder for backups that are not uploaded yet. */
  constructor(bucket: Bucket, folder: string) {
    this.#bucket = bucket;
    this.#folder = folder;
  }

  async list(): Promise<KeptBackup[]> {
    return (await this.#bucket.list()).filter(({ name }) => timeOfName(name) !== null);
  }

  async find(name: string): Promise<KeptBackup | null> {
    const file = this.#bucket.file(name);
    if (!(await file.exists())) return null;
    const { size, lastModified } = await file.stat();
    return { name, size, endedAt: lastModified.getTime() };
  }

  read(name: string, range: ByteRange | null): FileBody {
    const file = this.#bucket.file(name);
    return range === null ? file.stream() : file.slice(range.start, range.end).stream();
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#folder, name), { force: true });
    await this.#bucket.remove(name);
  }

  pathFor(name: string): string {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    return join(this.#folder, name);
  }

  async deliver(
    name: string,
    options: { signal: AbortSignal; onProgress: (done: number, total: number) => void },
  ): Promise<void> {
    const path = join(this.#folder, name);
    await this.#bucket.upload(name, Bun.file(path), options);
    await rm(path, { force: true });
  }
}
