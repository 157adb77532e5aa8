/**
 * Snapshots of the database of a cluster: archives of the database alone, in the bucket of the files. An instance that is
 * new or far behind restores a snapshot, and goes on with the journal from the position of the snapshot.
 */
import { statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError, messageOf, SetupError } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { Bucket, isBucket, mistakes, storeCode } from "../../files/storage/index.ts";
import { type Database, makeFolder, positionOf } from "../../store/database/index.ts";
import type { ManifestHead } from "./archive.ts";
import { type DataPaths, snapshotFolder } from "./data-paths.ts";
import { makeBackup } from "./make-backup.ts";
import { replaceDatabase } from "./restore.ts";
import { PartUploads, sourceOf } from "./target.ts";

export interface Snapshot {
  /** The names sort by position. A name is unique over all instances. */
  readonly name: string;
  /** The size of the object in the bucket. */
  readonly bytes: number;
  /** The position that the database had at least. */
  readonly position: number;
}

interface SnapshotsOptions {
  paths: DataPaths;
  version: string;
  /** The versions of the tables that this build knows. */
  schemas: ManifestHead["schema"];
  /** Bytes of the write-ahead log beyond which a snapshot is given up (`backup.log`). */
  maxLog: number;
  logger: Logger;
}

/** The longest wait for the bucket. */
const askMs = 5_000;

/** The digits of the largest position, so that names sort as positions do. */
const positionDigits = String(Number.MAX_SAFE_INTEGER).length;
const namePattern = new RegExp(`^snapshot-\\d{${positionDigits}}-[0-9a-f-]{36}\\.tar\\.zst$`);

/** The start of the names of the snapshots of a position. */
function snapshotStart(position: number): string {
  return `snapshot-${String(position).padStart(positionDigits, "0")}-`;
}

/** The part of a name that tells the journal: another cluster may use the same bucket and prefix. */
function tagOf(journal: string | null): string {
  return Bun.SHA256.hash(journal ?? "", "hex").slice(0, 12);
}

/** A name that no other snapshot has; of equal positions, the later name sorts behind. */
function newName(position: number, journal: string | null): string {
  const unique = Bun.randomUUIDv7().replaceAll("-", "");
  return `${snapshotStart(position)}${tagOf(journal)}-${unique.slice(0, 12)}${unique.slice(-11)}.tar.zst`;
}

/** @throws Error for another name: a caller must reach no other object of the bucket. */
function assertName(name: string): void {
  if (!namePattern.test(name)) throw new Error(`${name} is not the name of a snapshot`);
}

/**
 * The snapshots lie in the folder `.snapshots` below the prefix of the files, which the driver of files does not list.
 * `backup.recipient` encrypts no snapshot: each instance must be able to restore a snapshot alone, without the identity.
 * So the bucket must be kept as carefully as the database.
 */
export class Snapshots {
  readonly #options: SnapshotsOptions;
  readonly #address: string;
  readonly #bucket: Bucket;
  readonly #uploads: PartUploads;
  #isMaking = false;

  /** @throws SetupError when the storage is not a bucket, or has no keys. */
  constructor(options: SnapshotsOptions) {
    const { address, s3 } = options.paths.files;
    if (!isBucket(address))
      throw new SetupError(
        `storage ${address}: must be s3://BUCKET/PREFIX, because instances share snapshots by a bucket`,
      );
    this.#options = options;
    this.#address = `${address.replace(/\/+$/, "")}/.snapshots`;
    this.#bucket = new Bucket(this.#address, s3);
    this.#uploads = new PartUploads(this.#address, s3);
  }

  /**
   * Makes a snapshot of the present state, and puts the snapshot into the bucket.
   * @throws AppError `conflict` while another snapshot is made; Error with one line after a failure: nothing is left then.
   */
  async put(database: Database, signal: AbortSignal): Promise<Snapshot> {
    if (this.#isMaking) throw new AppError("conflict", "A snapshot is being made.");
    this.#isMaking = true;
    const { logger } = this.#options;
    // The state is held later, so the snapshot has this position at least.
    const position = positionOf(database.reader);
    const name = newName(position, database.journal);
    const folder = snapshotFolder(database.path);
    const output = join(folder, name);
    try {
      makeFolder(folder, 0o700);
      await this.#pack(database, { folder, output, signal });
      const { size: bytes } = statSync(output);
      await this.#uploads.upload(name, Bun.file(output), { signal, onProgress: () => undefined });
      logger.info(`Snapshot ${name} is complete`, { bytes, position });
      return { name, bytes, position };
    } catch (thrown) {
      await this.#uploads.abandon(name);
      throw thrown;
    } finally {
      await rm(output, { force: true });
      this.#isMaking = false;
    }
  }

  #pack(database: Database, place: { folder: string; output: string; signal: AbortSignal }): Promise<string | null> {
    return makeBackup({
      ...this.#options,
      ...place,
      database,
      filesPlace: "in the storage",
      filesSize: 0,
      // No bytes of files are read, so deletions need not wait.
      holdRemovals: () => async () => undefined,
      encryption: null,
      onProgress: () => undefined,
    });
  }

  /**
   * Replaces the database file by a snapshot; the old database is removed, because the journal has all changes. After a
   * crash at any moment, the next start finds the old database or the snapshot, whole.
   * @throws SetupError while a service runs on the database, or for a snapshot that does not exist; Error with one line
   * for a snapshot that is not whole. The database is unchanged then.
   */
  async restore(name: string): Promise<void> {
    assertName(name);
    const { paths, schemas, logger } = this.#options;
    const file = `${this.#address}/${name}`;
    const { source } = await sourceOf(file, paths);
    const identity = (): Promise<never> => Promise.reject(new Error("a snapshot is not encrypted"));
    await replaceDatabase({ name: file, source, schemas, identity }, paths);
    logger.info(`Snapshot ${name} was restored`);
  }

  /** Why the bucket does not serve this instance, in a line; null when the bucket answers. `isRefused`: keys or bucket are wrong. */
  async failure(): Promise<{ text: string; isRefused: boolean } | null> {
    try {
      await Promise.race([this.#bucket.ask(), Bun.sleep(askMs).then(() => Promise.reject(new Error("no answer")))]);
      return null;
    } catch (thrown) {
      const isRefused = mistakes.includes(storeCode(thrown));
      const how = isRefused ? "refuses this instance, so that it cannot lead" : "does not answer this instance";
      return { text: `storage ${this.#options.paths.files.address}: ${how}: ${messageOf(thrown)}`, isRefused };
    }
  }

  /** Whether the bucket has a snapshot, with the size. */
  async has({ name, bytes }: Pick<Snapshot, "name" | "bytes">): Promise<boolean> {
    return (await this.#bucket.find(name))?.size === bytes;
  }

  async remove(name: string): Promise<void> {
    assertName(name);
    await this.#bucket.remove(name);
  }

  /** Removes the snapshots of a journal with a smaller position from the bucket. Snapshots of other journals stay. */
  async removeBefore(position: number, journal: string | null): Promise<void> {
    const first = snapshotStart(position);
    const tag = tagOf(journal);
    for (const { name } of await Array.fromAsync(this.#bucket.list()))
      if (namePattern.test(name) && name < first && name.startsWith(tag, first.length)) await this.#bucket.remove(name);
  }
}
