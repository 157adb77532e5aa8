/**
 * Snapshots of the database of a cluster or of a continuous backup: archives of the database alone, in a folder or a bucket. An instance that is
 * new or far behind, and a restore, take a snapshot, and go on with the entries from the position of the snapshot.
 */
import { statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError, messageOf } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { mistakes, storeCode } from "../../files/storage/index.ts";
import { type Database, makeFolder, positionOf } from "../../store/database/index.ts";
import type { SnapshotRow } from "../../store/journal/index.ts";
import type { Encryption, ManifestHead } from "./archive.ts";
import { type DataPaths, snapshotFolder } from "./data-paths.ts";
import { makeBackup } from "./make-backup.ts";
import { type ObjectPlace, placeAt } from "./place.ts";
import { replaceDatabase } from "./restore.ts";
import { sourceOf } from "./target.ts";

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
  /** The place: a folder, or `s3://BUCKET/PREFIX`. */
  address: string;
  /** The folder of the work under way, below `snapshotFolder`, for these snapshots alone. */
  work: string;
  encryption: Encryption | null;
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
const namePattern = new RegExp(
  `^snapshot-(\\d{${positionDigits}})-([0-9a-f]{12})-([0-9a-f]{12})[0-9a-f]{11}\\.tar\\.zst(?:\\.age)?$`,
);

/** The start of the names of the snapshots of a position. */
function snapshotStart(position: number): string {
  return `snapshot-${String(position).padStart(positionDigits, "0")}-`;
}

/** The part of a name that tells the journal or the chain: another cluster may use the same bucket and prefix. */
function tagOf(chain: string): string {
  return Bun.SHA256.hash(chain, "hex").slice(0, 12);
}

/** A name that no other snapshot has; of equal positions, the later name sorts behind, because the last part begins with the moment. */
function newName(position: number, chain: string, isEncrypted: boolean): string {
  const unique = Bun.randomUUIDv7().replaceAll("-", "");
  return `${snapshotStart(position)}${tagOf(chain)}-${unique.slice(0, 12)}${unique.slice(-11)}.tar.zst${isEncrypted ? ".age" : ""}`;
}

/** The snapshots of a place, newest first. @param chain the journal or the chain; null for every chain. */
export async function snapshotsIn(place: ObjectPlace, chain: string | null): Promise<SnapshotRow[]> {
  const rows: SnapshotRow[] = [];
  for await (const { name, size: bytes } of place.list()) {
    const [, position, tag, moment] = namePattern.exec(name) ?? [];
    if (position === undefined || (chain !== null && tag !== tagOf(chain))) continue;
    rows.push({ name, bytes, position: Number(position), madeAt: Number.parseInt(moment ?? "", 16) });
  }
  return rows.reverse();
}

/** @throws Error for another name: a caller must reach no other object of the bucket. */
function assertName(name: string): void {
  if (!namePattern.test(name)) throw new Error(`${name} is not the name of a snapshot`);
}

export class Snapshots {
  readonly #options: SnapshotsOptions;
  readonly #place: ObjectPlace;
  #isMaking = false;

  /** @throws SetupError for a bucket without keys. */
  constructor(options: SnapshotsOptions) {
    this.#options = options;
    this.#place = placeAt(options.address, options.paths.files.s3);
  }

  /**
   * Makes a snapshot of the present state, and puts the snapshot into the place.
   * @param chain the name of the journal, or of the chain.
   * @param options.prepare is called before the upload, with the database at the state of the snapshot or later.
   * @throws AppError `conflict` while another snapshot is made; Error with one line after a failure: nothing is left then.
   */
  async put(
    database: Database,
    chain: string,
    { signal, prepare }: { signal: AbortSignal; prepare?: () => Promise<void> },
  ): Promise<Snapshot> {
    if (this.#isMaking) throw new AppError("conflict", "A snapshot is being made.");
    this.#isMaking = true;
    const { logger, encryption, work } = this.#options;
    // The state is held later, so the snapshot has this position at least.
    const position = positionOf(database.reader);
    const name = newName(position, chain, encryption !== null);
    const folder = join(snapshotFolder(database.path), work);
    const output = join(folder, name);
    try {
      makeFolder(folder, 0o700);
      await this.#pack(database, { folder, output, signal });
      await prepare?.();
      const { size: bytes } = statSync(output);
      await this.#place.upload(name, output, signal);
      logger.info(`Snapshot ${name} is complete`, { bytes, position });
      return { name, bytes, position };
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
    const file = `${this.#options.address}/${name}`;
    const { source } = await sourceOf(file, paths);
    const identity = (): Promise<never> => Promise.reject(new Error("a snapshot is not encrypted"));
    await replaceDatabase({ name: file, source, schemas, identity }, paths);
    logger.info(`Snapshot ${name} was restored`);
  }

  /** Why the bucket does not serve this instance, in a line; null when the bucket answers. `isRefused`: keys or bucket are wrong. */
  async failure(): Promise<{ text: string; isRefused: boolean } | null> {
    try {
      await Promise.race([this.#place.next(""), Bun.sleep(askMs).then(() => Promise.reject(new Error("no answer")))]);
      return null;
    } catch (thrown) {
      const isRefused = mistakes.includes(storeCode(thrown));
      const how = isRefused ? "refuses this instance, so that it cannot lead" : "does not answer this instance";
      return { text: `storage ${this.#options.paths.files.address}: ${how}: ${messageOf(thrown)}`, isRefused };
    }
  }

  /** Whether the bucket has a snapshot, with the size. */
  async has({ name, bytes }: Pick<Snapshot, "name" | "bytes">): Promise<boolean> {
    return (await this.#place.find(name))?.size === bytes;
  }

  async remove(name: string): Promise<void> {
    assertName(name);
    await this.#place.remove(name);
  }

  /** The snapshots of a chain, newest first. */
  list(chain: string): Promise<SnapshotRow[]> {
    return snapshotsIn(this.#place, chain);
  }

  /** Removes the snapshots of a chain with a smaller position. Snapshots of other chains stay. */
  async removeBefore(position: number, chain: string): Promise<void> {
    for (const { name, position: each } of await this.list(chain)) if (each < position) await this.#place.remove(name);
  }
}
