/** The target of backups: a folder or a bucket, the names of backups in the target, and the file of one backup. */
import { accessSync, constants, existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { messageOf, SetupError } from "../../base/kernel/index.ts";
import { Bucket, type BucketObject, type ByteRange, type FileBody, isBucket } from "../../files/storage/index.ts";
import { makeFolder } from "../../store/database/index.ts";
import { backupFolder, type DataPaths } from "./data-paths.ts";
import { PartUploads, type Sending } from "./part-uploads.ts";
import { Folder } from "./place.ts";

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

/**
 * The place of all backups. A backup is packed into a folder: the target, or for a bucket a folder beside the
 * database, which keeps the backup until the upload is complete.
 */
export class BackupTarget {
  readonly #address: string;
  readonly #store: Folder | Bucket;
  readonly #folder: string;
  readonly #uploads: PartUploads | null;

  /** @param address a folder, or `s3://BUCKET/PREFIX`. @throws SetupError for a bucket without keys. */
  constructor(address: string, { database, files }: DataPaths) {
    const isRemote = isBucket(address);
    this.#address = address;
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

  /** The path or the address of a whole backup. */
  addressOf(name: string): string {
    return this.#uploads === null ? join(this.#folder, name) : `${this.#address.replace(/\/+$/, "")}/${name}`;
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
