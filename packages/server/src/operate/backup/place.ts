/**
 * ObjectPlace: a place of a backup, a folder, or the objects below a prefix of a bucket. A backup is written to a place and read from a place. `create`
 * never replaces an object, so that of two services with one place, a single service writes an object.
 */
import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { isObject } from "../../base/kernel/index.ts";
import {
  Bucket,
  type BucketObject,
  type ByteRange,
  type FileBody,
  isBucket,
  type S3Keys,
} from "../../files/storage/index.ts";
import { makeFolder, syncFolder } from "../../store/database/index.ts";
import { PartUploads } from "./part-uploads.ts";

/** The longest wait for an answer of a bucket to a request. */
const answerMs = 30_000;
/** An unfinished file that is older belongs to no running service. */
const abandonedMs = 600_000;
const unfinished = /^\..*\.partial$/;

export interface ObjectPlace {
  /** As messages name the place. */
  readonly address: string;
  /** The objects in the order of the names, behind the name `after`. */
  list(after?: string): AsyncIterable<BucketObject>;
  find(name: string): Promise<BucketObject | null>;
  /** The first name behind the name `after`; null for no name. */
  next(after: string): Promise<string | null>;
  /** The bytes of an object, or the first `most` bytes. @throws Error for a missing object. */
  bytes(name: string, most?: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Writes a new object. Resolves when the object survives a power cut. False, if the name has an object, which stays unchanged. */
  create(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<boolean>;
  /** Writes a file of this machine as an object with a name that nothing else has. */
  upload(name: string, path: string, signal: AbortSignal): Promise<void>;
  remove(name: string): Promise<void>;
}

/** The place at an address, a folder or `s3://BUCKET/PREFIX`. @throws SetupError for a bucket without keys. */
export function placeAt(address: string, keys: S3Keys): ObjectPlace {
  return isBucket(address) ? new BucketPlace(address, keys) : new Folder(address);
}

/** A folder, with the reading side of a bucket. */
export class Folder implements ObjectPlace, Pick<Bucket, "read" | "blob"> {
  readonly address: string;

  constructor(path: string) {
    this.address = path;
  }

  async *list(after = ""): AsyncIterable<BucketObject> {
    if (statSync(this.address, { throwIfNoEntry: false }) === undefined) return;
    for (const name of readdirSync(this.address).sort()) {
      if (name <= after) continue;
      const found = await this.find(name);
      if (found === null) continue;
      if (!unfinished.test(name)) yield found;
      else if (found.modifiedAt < Date.now() - abandonedMs) await this.remove(name);
    }
  }

  async next(after: string): Promise<string | null> {
    for await (const { name } of this.list(after)) return name;
    return null;
  }

  async find(name: string): Promise<BucketObject | null> {
    const stats = statSync(join(this.address, name), { throwIfNoEntry: false });
    return stats?.isFile() === true ? { name, size: stats.size, modifiedAt: stats.mtimeMs } : null;
  }

  async read(name: string, range: ByteRange | null): Promise<FileBody> {
    const file = this.blob(name);
    return range === null ? file : file.slice(range.start, range.end);
  }

  blob(name: string): Blob {
    return Bun.file(join(this.address, name));
  }

  async bytes(name: string, most?: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.blob(name).slice(0, most).bytes();
  }

  async create(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<boolean> {
    makeFolder(this.address, 0o700);
    const partial = this.#partial(name);
    const file = openSync(partial, "wx", 0o600);
    try {
      for (let at = 0; at < bytes.byteLength; ) at += writeSync(file, bytes, at);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    return this.#finish(partial, name);
  }

  async upload(name: string, path: string, signal: AbortSignal): Promise<void> {
    makeFolder(this.address, 0o700);
    signal.throwIfAborted();
    const partial = this.#partial(name);
    await Bun.write(partial, Bun.file(path), { mode: 0o600 });
    const file = openSync(partial, "r+");
    fsyncSync(file);
    closeSync(file);
    this.#finish(partial, name);
  }

  async remove(name: string): Promise<void> {
    rmSync(join(this.address, name), { force: true });
  }

  #partial(name: string): string {
    return join(this.address, `.${name}-${crypto.randomUUID()}.partial`);
  }

  /** Gives a whole file the name, if no file has the name. */
  #finish(partial: string, name: string): boolean {
    const target = join(this.address, name);
    try {
      try {
        linkSync(partial, target);
      } catch (thrown) {
        if (codeOf(thrown) === "EEXIST") return false;
        // A file system without links. A crash in the middle leaves a file that is not whole.
        copyFileSync(partial, target, constants.COPYFILE_EXCL);
      }
      syncFolder(this.address);
      return true;
    } catch (thrown) {
      if (codeOf(thrown) === "EEXIST") return false;
      throw thrown;
    } finally {
      rmSync(partial, { force: true });
    }
  }
}

function codeOf(thrown: unknown): unknown {
  return isObject(thrown) ? thrown["code"] : null;
}

class BucketPlace implements ObjectPlace {
  readonly address: string;
  readonly #bucket: Bucket;
  readonly #uploads: PartUploads;

  constructor(address: string, keys: S3Keys) {
    this.address = address;
    this.#bucket = new Bucket(address, keys);
    this.#uploads = new PartUploads(address, keys);
  }

  list(after?: string): AsyncIterable<BucketObject> {
    return this.#bucket.list(after);
  }

  find(name: string): Promise<BucketObject | null> {
    return this.#inTime(this.#bucket.find(name));
  }

  next(after: string): Promise<string | null> {
    return this.#inTime(this.#bucket.next(after));
  }

  bytes(name: string, most?: number): Promise<Uint8Array<ArrayBuffer>> {
    const blob = this.#bucket.blob(name);
    return this.#inTime((most === undefined ? blob : blob.slice(0, most)).bytes());
  }

  create(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<boolean> {
    return this.#uploads.create(name, bytes, AbortSignal.timeout(answerMs));
  }

  async upload(name: string, path: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#uploads.upload(name, Bun.file(path), { signal, onProgress: () => undefined });
    } catch (thrown) {
      await this.#uploads.abandon(name);
      throw thrown;
    }
  }

  remove(name: string): Promise<void> {
    return this.#inTime(this.#bucket.remove(name));
  }

  async #inTime<T>(work: Promise<T>): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`${this.address} does not answer in time`)), answerMs);
    return Promise.race([work, late]).finally(() => clearTimeout(timer));
  }
}
