/**
 * Backups in a bucket: packed into the folder beside the database first, which keeps each backup until the upload is
 * complete.
 */
import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Bucket, type BucketObject, type ByteRange, type FileBody, type S3Keys } from "../../files/storage/index.ts";
import { PartUploads } from "./part-uploads.ts";
import { type BackupTarget, type KeptBackup, timeOfName } from "./target.ts";

export class BucketTarget implements BackupTarget {
  readonly #bucket: Bucket;
  readonly #uploads: PartUploads;
  readonly #folder: string;

  /** @param folder for backups that are not uploaded yet. @throws SetupError without keys. */
  constructor(address: string, keys: S3Keys, folder: string) {
    this.#bucket = new Bucket(address, keys);
    this.#uploads = new PartUploads(address, keys);
    this.#folder = folder;
  }

  async list(): Promise<KeptBackup[]> {
    const objects = await Array.fromAsync(this.#bucket.list());
    return objects.filter(({ name }) => timeOfName(name) !== null).map(toKept);
  }

  async find(name: string): Promise<KeptBackup | null> {
    const found = await this.#bucket.find(name);
    return found === null ? null : toKept(found);
  }

  read(name: string, range: ByteRange | null): FileBody {
    return this.#bucket.read(name, range);
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#folder, name), { force: true });
    await this.#uploads.abandon(name);
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
    await this.#uploads.upload(name, Bun.file(path), options);
    await rm(path, { force: true });
  }
}

function toKept({ name, size, modifiedAt }: BucketObject): KeptBackup {
  return { name, size, endedAt: modifiedAt };
}
