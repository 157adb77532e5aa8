/**
 * The target of backups: a folder or a bucket, the names of backups in the target, the file of one backup, and uploads to
 * a bucket in parts.
 */
import { accessSync, constants, existsSync, readdirSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AwsClient } from "aws4fetch";
import { messageOf, SetupError } from "../../base/kernel/index.ts";
import {
  Bucket,
  type BucketObject,
  type ByteRange,
  type FileBody,
  isBucket,
  keysFor,
  partsOf,
  type S3Keys,
} from "../../files/storage/index.ts";
import { makeFolder } from "../../store/database/index.ts";
import { backupFolder, type DataPaths } from "./data-paths.ts";
import type { BackupOptions } from "./make-backup.ts";

const namePattern = /^socle-(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2})-(\d{3})Z\.tar\.zst(\.age)?$/;

/** The name of a backup that begins at a time (milliseconds since 1970). Names sort by time. */
export function backupName(time: number, isEncrypted: boolean): string {
  const text = new Date(time).toISOString().replace(/[:.]/g, "-");
  return `socle-${text}.tar.zst${isEncrypted ? ".age" : ""}`;
}

/** When the backup of a name began, in milliseconds since 1970; null for a name that no backup has. */
export function timeOfName(name: string): number | null {
  const [, day, hours, minutes, seconds, milliseconds] = namePattern.exec(name) ?? [];
  if (day === undefined) return null;
  const time = Date.parse(`${day}T${hours}:${minutes}:${seconds}.${milliseconds}Z`);
  return Number.isNaN(time) ? null : time;
}

const leastPart = 8 * 1_024 ** 2;
/** A store takes no more parts than this number. */
const maxParts = 10_000;
const tries = 5;
const firstPauseMs = 250;

type Sending = Pick<BackupOptions, "signal" | "onProgress">;

/** An upload that has begun. A further try sends the missing parts. */
interface OpenUpload {
  readonly id: string;
  readonly partBytes: number;
  /** The tags of the parts by number, from 1. */
  readonly tags: Map<number, string>;
}

/** The store does not know the upload, or refuses the request: another try is of no use. */
class StoreError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

function tagOf(xml: string, name: string): string | null {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? null;
}

/** Uploads to a bucket in parts. */
export class PartUploads {
  /** As written in the configuration: `s3://BUCKET/FOLDER`. */
  readonly #address: string;
  readonly #signer: AwsClient;
  /** The address of the objects, with a slash at the end. */
  readonly #base: string;
  readonly #uploads = new Map<string, OpenUpload>();

  /** @throws SetupError without keys. */
  constructor(address: string, keys: S3Keys) {
    const { bucket, prefix } = partsOf(address);
    const { endpoint, region = "us-east-1" } = keys;
    this.#address = address;
    this.#signer = new AwsClient({ ...keysFor(address, keys), service: "s3", region, retries: 0 });
    const store = (endpoint ?? `https://s3.${region}.amazonaws.com`).replace(/\/+$/, "");
    this.#base = `${store}/${bucket}/${prefix.split("/").map(encodeURIComponent).join("/")}`;
  }

  /** Gives up an upload that may have begun. */
  async abandon(name: string): Promise<void> {
    const upload = this.#uploads.get(name);
    this.#uploads.delete(name);
    if (upload === undefined) return;
    await this.#send("DELETE", name, { query: { uploadId: upload.id } }).catch(() => undefined);
  }

  /** Uploads a file in parts, each tried five times. The next call for this name sends the parts that are missing. */
  async upload(name: string, file: Blob, { signal, onProgress }: Sending): Promise<void> {
    try {
      const { id, partBytes, tags } = await this.#begin(name, file.size);
      const parts = Math.max(1, Math.ceil(file.size / partBytes));
      for (let part = 1; part <= parts; part++) {
        signal.throwIfAborted();
        if (!tags.has(part)) {
          const bytes = await file.slice((part - 1) * partBytes, part * partBytes).bytes();
          const query = { partNumber: String(part), uploadId: id };
          const { headers } = await this.#persist(() => this.#send("PUT", name, { query, body: bytes }), signal);
          tags.set(part, headers.get("etag") ?? "");
        }
        onProgress(Math.min(file.size, part * partBytes), file.size);
      }
      const list = [...tags].sort(([a], [b]) => a - b);
      const items = list.map(([part, tag]) => `<Part><PartNumber>${part}</PartNumber><ETag>${tag}</ETag></Part>`);
      const body = `<CompleteMultipartUpload>${items.join("")}</CompleteMultipartUpload>`;
      const answer = await this.#persist(() => this.#send("POST", name, { query: { uploadId: id }, body }), signal);
      // A store may answer 200 at once, and find out later.
      const code = tagOf(await answer.text(), "Code");
      if (code !== null) throw new StoreError(400, code);
      this.#uploads.delete(name);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      // An upload that the store refuses, or does not know any more, begins anew.
      if (thrown instanceof StoreError && thrown.status < 500) await this.abandon(name);
      throw new Error(`The upload of ${name} to ${this.#address} broke off: ${messageOf(thrown)}`);
    }
  }

  async #begin(name: string, size: number): Promise<OpenUpload> {
    const open = this.#uploads.get(name);
    if (open !== undefined) return open;
    const answer = await this.#send("POST", name, { query: { uploads: "" } });
    const id = tagOf(await answer.text(), "UploadId");
    if (id === null) throw new StoreError(400, "the store does not begin an upload in parts");
    const upload = { id, partBytes: Math.max(leastPart, Math.ceil(size / maxParts)), tags: new Map() };
    this.#uploads.set(name, upload);
    return upload;
  }

  async #persist(work: () => Promise<Response>, signal: AbortSignal): Promise<Response> {
    for (let tried = 1; ; tried++) {
      try {
        return await work();
      } catch (thrown) {
        const isFinal = thrown instanceof StoreError && thrown.status < 500 && thrown.status !== 429;
        if (isFinal || tried === tries || signal.aborted) throw thrown;
        await Bun.sleep(firstPauseMs * 2 ** (tried - 1));
      }
    }
  }

  async #send(
    method: string,
    name: string,
    { query, body }: { query: Record<string, string>; body?: string | Uint8Array<ArrayBuffer> },
  ): Promise<Response> {
    const url = `${this.#base}${encodeURIComponent(name)}?${new URLSearchParams(query)}`;
    const answer = await this.#signer.fetch(url, { method, ...(body === undefined ? {} : { body }) });
    if (answer.ok) return answer;
    const code = tagOf(await answer.text(), "Code") ?? `HTTP ${answer.status}`;
    throw new StoreError(answer.status, code);
  }
}

/** A folder with the reading side of a bucket. */
class Folder implements Pick<Bucket, "list" | "find" | "read" | "blob"> {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async *list(): AsyncIterable<BucketObject> {
    if (statSync(this.#path, { throwIfNoEntry: false }) === undefined) return;
    for (const name of readdirSync(this.#path)) {
      const found = await this.find(name);
      if (found !== null) yield found;
    }
  }

  async find(name: string): Promise<BucketObject | null> {
    const stats = statSync(join(this.#path, name), { throwIfNoEntry: false });
    return stats?.isFile() === true ? { name, size: stats.size, modifiedAt: stats.mtimeMs } : null;
  }

  async read(name: string, range: ByteRange | null): Promise<FileBody> {
    const file = this.blob(name);
    return range === null ? file : file.slice(range.start, range.end);
  }

  blob(name: string): Blob {
    return Bun.file(join(this.#path, name));
  }
}

/**
 * The place of all backups. A backup is packed into a folder: the target, or for a bucket a folder beside the
 * database, which keeps the backup until the upload is complete.
 */
export class BackupTarget {
  readonly #store: Folder | Bucket;
  readonly #folder: string;
  readonly #uploads: PartUploads | null;

  /** @param address a folder, or `s3://BUCKET/PREFIX`. @throws SetupError for a bucket without keys. */
  constructor(address: string, { database, files }: DataPaths) {
    const isRemote = isBucket(address);
    this.#store = isRemote ? new Bucket(address, files.s3) : new Folder(address);
    this.#folder = isRemote ? backupFolder(database) : address;
    this.#uploads = isRemote ? new PartUploads(address, files.s3) : null;
  }

  /** Why the folder cannot be written, for a warning at the start; null for a bucket. @param isMade whether to make a missing folder. */
  problem(isMade: boolean): string | null {
    if (this.#uploads !== null || !(isMade || existsSync(this.#folder))) return null;
    try {
      makeFolder(this.#folder, 0o700);
      accessSync(this.#folder, constants.W_OK | constants.X_OK);
      return null;
    } catch (thrown) {
      return `Backups cannot be written to backup.target ${this.#folder}: ${messageOf(thrown)}. A unit of systemd with ProtectSystem needs ReadWritePaths=${this.#folder}`;
    }
  }

  /** All that are whole, the oldest first. */
  async list(): Promise<BucketObject[]> {
    const found = await Array.fromAsync(this.#store.list());
    return found.filter(({ name }) => timeOfName(name) !== null).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Null for a name without a whole backup. */
  async find(name: string): Promise<BucketObject | null> {
    return timeOfName(name) === null ? null : this.#store.find(name);
  }

  read(name: string, range: ByteRange | null): Promise<FileBody> {
    return this.#store.read(name, range);
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#folder, name), { force: true });
    await this.#uploads?.abandon(name);
    if (this.#store instanceof Bucket) await this.#store.remove(name);
  }

  /** The path that a new backup is written to. */
  pathFor(name: string): string {
    makeFolder(this.#folder, 0o700);
    return join(this.#folder, name);
  }

  /** Brings a new backup from the path to the final place. A second try resumes an interrupted delivery. */
  async deliver(name: string, options: Sending): Promise<void> {
    if (this.#uploads === null) return;
    const path = join(this.#folder, name);
    try {
      await this.#uploads.upload(name, Bun.file(path), options);
    } catch (thrown) {
      if (options.signal.aborted) throw thrown;
      throw new Error(`${messageOf(thrown)}. The next backup goes on with it`);
    }
    await rm(path, { force: true });
  }
}

/**
 * The file of a backup, on this machine or in a bucket (`s3://BUCKET/KEY`).
 * @throws SetupError for a file that does not exist; Error with one line.
 */
export async function sourceOf(
  file: string,
  { files }: Pick<DataPaths, "files">,
): Promise<{ source: Blob; size: number }> {
  const name = basename(file);
  const store = isBucket(file) ? new Bucket(file.slice(0, -name.length), files.s3) : new Folder(dirname(file));
  const found = await store.find(name).catch((thrown) => {
    throw new Error(`${file}: cannot be read: ${messageOf(thrown)}`);
  });
  if (found !== null) return { source: store.blob(name), size: found.size };
  if (!isBucket(file) && existsSync(file))
    throw new SetupError(`${file}: is not a regular file; name the file of a backup`);
  throw new SetupError(`${file}: there is no such file`);
}
