/** Storage: stores, serves and removes files, with the metadata in the database and the bytes in a driver. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { StoredFile, Visibility } from "@socle/protocol";
import { type Config, keptBackups } from "../../base/config/index.ts";
import {
  AppError,
  type Clock,
  isAdmin,
  isObject,
  newId,
  type Principal,
  previewOf,
  toTimestamp,
} from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import { admitScope, hasScope, isOwnRecord } from "../../data/permissions/index.ts";
import type { QueryCaller } from "../../data/queries/index.ts";
import { type Database, noteKind, type Reader, type Transactor, type Waiter } from "../../store/database/index.ts";
import type { EventLog } from "../../store/events/index.ts";
import { isBucket } from "./bucket.ts";
import type { ByteRange, FileBody, StorageDriver } from "./driver.ts";
import { FileLinks } from "./file-links.ts";
import {
  allRemains,
  deleteFile,
  type FileFilter,
  type FileRow,
  findFile,
  hasRemains,
  insertFile,
  isKnownFile,
  lacksSizes,
  listFiles,
  markRemains,
  markRemoved,
  remakeOwnerIndex,
  removedBefore,
  searchFiles,
  unmarkRemains,
  unmarkRemoved,
  updateVisibility,
} from "./file-table.ts";
import { detectType } from "./mime.ts";
import { type Asker, Thumbnails, type ThumbSize } from "./thumbnails.ts";
import { assertFits, Quota, type StoredTotals, Upload } from "./upload.ts";

export interface StorageOptions {
  database: Database;
  events: EventLog;
  clock: Clock;
  logger: Logger;
  driver: StorageDriver;
  config: Pick<
    Config,
    | "backup.continuous"
    | "backup.keep"
    | "limits.storage"
    | "limits.storagePerUser"
    | "limits.thumbnails"
    | "links.ttl"
    | "storage"
    | "thumbs.cacheSize"
  >;
  /** The secret of the signatures of links, made on demand. */
  linkKey: () => string;
  /** Whether a caller may read a record that points to a file. @throws AppError `unavailable`. */
  isShownByRecord: (id: string, caller: QueryCaller) => Promise<boolean>;
}

/** Deleted files that wait for the end of a backup. */
const maxHeld = 100_000;

/** A file was stored, with the id. */
export const fileStored = noteKind<string>("files.stored");

/** The time for which a start waits for the removal of leftover uploads; the removal then goes on beside the service. */
const sweepMs = 2_000;

function toFile(row: FileRow): StoredFile {
  return { ...row, url: `/api/storage/${row.id}` };
}

/**
 * Files: the metadata in the database, the bytes with a driver (spec, "Storage endpoints"). A file exists when the
 * metadata exists. An id under which the driver may hold bytes without a file stands in `_file_remains`, before the
 * bytes come and until the bytes are gone, so that a start after a crash finds and removes the bytes.
 */
export class Storage {
  readonly #options: StorageOptions;
  readonly #thumbnails: Thumbnails;
  readonly links: FileLinks;
  readonly #quota: Quota;
  readonly #uploadFolder: string;
  /** The holds, the oldest first; each has the files that were deleted before the next hold began. */
  readonly #holds: string[][] = [];
  constructor(options: StorageOptions) {
    this.#options = options;
    const { clock, config, driver, linkKey, logger } = options;
    this.#quota = new Quota({ total: config["limits.storage"], perUser: config["limits.storagePerUser"] });
    this.links = new FileLinks({ key: linkKey, ttlMs: config["links.ttl"] }, clock);
    this.#uploadFolder = join(driver.workFolder, "uploads");
    this.#thumbnails = new Thumbnails({
      folder: join(driver.workFolder, "thumbnails"),
      cacheSize: config["thumbs.cacheSize"],
      maxWaiting: config["limits.thumbnails"],
      logger,
    });
  }

  /**
   * Opens the driver and removes the leftovers of interrupted uploads and deletions. Call `start` once.
   * @throws SetupError when files cannot be written.
   */
  async start(): Promise<void> {
    const { driver, logger, database } = this.#options;
    await driver.open();
    if (lacksSizes(database.reader)) await database.upkeep(remakeOwnerIndex);
    this.#quota.start(database);
    await rm(this.#uploadFolder, { recursive: true, force: true });
    await mkdir(this.#uploadFolder, { recursive: true });
    const remains = allRemains(database.reader);
    if (remains.length > 0) logger.info("Removing the remains of interrupted uploads", { files: remains.length });
    const sweep = (async () => {
      for (const id of remains) await this.#removeBytes(id);
      // Without a continuous backup, nothing needs the bytes of deleted files.
      if (this.#keepMs === null)
        await this.removeOld().catch((error) => logger.warn("The bytes of deleted files stay", { error }));
    })();
    // A store that does not answer must not delay the start.
    await Promise.race([sweep, Bun.sleep(sweepMs)]);
  }

  /**
   * Stores a file that `receive` writes piece by piece and then names. After a failure, nothing stays.
   * @param options.leastSize a lower bound of the file's bytes, known before the file is received.
   * @param options.id the id of a file that moves in; by default, a new id.
   * @throws AppError `forbidden` for a key without the scope, `payload_too_large`, `unavailable` when the file cannot be stored,
   * and the errors of `receive`.
   */
  async store(
    principal: Principal,
    receive: (upload: Upload) => Promise<{ filename: string; visibility: Visibility }>,
    { leastSize = 0, id = newId("fil", this.#options.clock.now()) }: { leastSize?: number; id?: string } = {},
  ): Promise<StoredFile> {
    admitScope(principal, "storage", "write");
    const userId = principal?.userId ?? null;
    const rooms = this.#quota.roomsFor(this.#options.database.reader, userId);
    assertFits(rooms, leastSize);
    const upload = new Upload({ id, path: join(this.#uploadFolder, id), rooms });
    try {
      const { filename, visibility } = await receive(upload);
      await upload.finish();
      const mimeType = await detectType(upload.sample, filename);
      return await this.#keep(upload, principal, { filename, mimeType, size: upload.size, visibility, userId });
    } catch (thrown) {
      throw asUnavailable(thrown);
    } finally {
      await upload
        .discard()
        .catch((error) => this.#options.logger.error("An upload could not be removed", { id, error }));
    }
  }

  find(id: string, reader: Reader = this.#options.database.reader): StoredFile | null {
    const row = findFile(reader, id);
    return row === null ? null : toFile(row);
  }

  totals(): StoredTotals {
    return this.#quota.totals(this.#options.database.reader);
  }

  /**
   * The files of a filter, newest first, and the total number. A search runs on a thread, because the search may read many files.
   * @throws AppError `unavailable` when the search takes too long, or too many queries wait.
   */
  async search(
    filter: FileFilter,
    { waiter, ...page }: { limit: number; offset: number; waiter: Waiter },
  ): Promise<{ items: StoredFile[]; total: number }> {
    const { database } = this.#options;
    const isOfAll = Object.values(filter).every((value) => value === null);
    const { items, total } = isOfAll
      ? { items: listFiles(database.reader, page), total: this.totals().files }
      : await database.query((reader) => searchFiles(reader, filter, page), waiter);
    return { items: items.map(toFile), total };
  }

  /** Sets the visibility of a file. Answers the file before and after. @throws AppError `not_found`. */
  setVisibility(tx: Transactor, id: string, visibility: Visibility): { before: StoredFile; file: StoredFile } {
    const before = this.find(id, tx);
    if (before === null) throw missingFile();
    updateVisibility(tx, id, visibility);
    return { before, file: { ...before, visibility } };
  }

  /** Whether a caller may download a file (spec, "Storage endpoints", Access). @throws AppError `unavailable`. */
  async mayDownload(file: StoredFile, caller: QueryCaller): Promise<boolean> {
    if (file.visibility === "public") return true;
    if (!hasScope(caller.principal, "storage", "read")) return false;
    return (
      isOwner(file, caller.principal) ||
      (file.visibility === "record" && this.#options.isShownByRecord(file.id, caller))
    );
  }

  /** @throws AppError `unauthorized`, `forbidden` for a caller that may not download the file, `unavailable`. */
  async authorize(file: StoredFile, caller: QueryCaller): Promise<void> {
    if (await this.mayDownload(file, caller)) return;
    admitScope(caller.principal, "storage", "read");
    if (caller.principal === null) throw new AppError("unauthorized", "To download this file, sign in.");
    if (file.visibility !== "record") throw ownersOnly("download");
    throw new AppError("forbidden", "You may read no record that points to this file.");
  }

  /** The bytes of a file. @throws AppError `not_found` after a deletion in the meantime, `unavailable`. */
  async read(file: StoredFile, range: ByteRange | null): Promise<FileBody> {
    const body = await this.#options.driver.read(file.id, range).catch((thrown) => {
      throw asUnavailable(thrown);
    });
    if (body !== null) return body;
    if (this.find(file.id) === null) throw missingFile();
    throw new Error(`The bytes of the file ${file.id} are missing from the storage`);
  }

  /**
   * A smaller picture of an image.
   * @throws AppError `bad_request` for a file that is no image or has too many pixels; `unavailable`, also when too
   * many wait.
   */
  async thumbnail(file: StoredFile, size: ThumbSize, asker: Asker): Promise<Blob> {
    const thumbnail = await this.#thumbnails.get({ file, size, read: () => this.read(file, null) }, asker);
    // The file may have been deleted since.
    if (this.find(file.id) === null) await this.#thumbnails.forget(file.id);
    return thumbnail;
  }

  /** A thumbnail that was made before; null without the thumbnail. */
  keptThumbnail({ id }: StoredFile, size: ThumbSize): Promise<Blob | null> {
    return this.#thumbnails.kept(id, size);
  }

  /** @throws AppError `unauthorized`, `not_found`, `forbidden`, in this order. */
  async delete(id: string, principal: Principal): Promise<void> {
    if (principal === null) throw new AppError("unauthorized", "To delete a file, sign in.");
    admitScope(principal, "storage", "write");
    const remove = (tx: Transactor, caller: Principal): void => {
      const file = this.find(id, tx);
      if (file === null) throw missingFile();
      if (!isOwner(file, caller)) throw ownersOnly("delete");
      deleteFile(tx, id);
      this.#quota.remove(tx, file.size);
      if (this.#keepMs !== null) markRemoved(tx, id, this.#options.clock.now());
      if (!this.#keepsBytes) markRemains(tx, id);
      const payload = { id, userId: file.userId };
      this.#options.events.append(tx, { type: "storage.deleted", source: "storage", payload, principal });
    };
    await this.#options.database.transactFor(principal, remove, { makesRoom: true });
    if (previewOf(principal) !== null) return;
    const hold = this.#holds.at(-1);
    if (!this.#keepsBytes) {
      // Beyond the bound, the next start finds the bytes by the mark.
      if (hold === undefined) await this.#removeBytes(id);
      else if (hold.length < maxHeld) hold.push(id);
    }
    await this.#thumbnails.forget(id);
  }

  /**
   * From now on the bytes of deleted files stay, for a backup. Answers a function that ends the hold, and that resolves once the
   * bytes are removed that no earlier hold holds.
   */
  holdRemovals(): () => Promise<void> {
    const held: string[] = [];
    this.#holds.push(held);
    return async () => {
      const at = this.#holds.indexOf(held);
      if (at < 0) return;
      this.#holds.splice(at, 1);
      const earlier = this.#holds[at - 1];
      if (earlier !== undefined) earlier.push(...held);
      else for (const id of held) await this.#removeBytes(id);
    };
  }

  /** The time after a deletion for which a continuous backup needs the bytes of a file, in milliseconds; null without a continuous backup. */
  get #keepMs(): number | null {
    const { config } = this.#options;
    return config["backup.continuous"] === undefined ? null : keptBackups(config["backup.keep"]).ms;
  }

  /** Whether the bytes of deleted files stay for a while: a bucket has the files of a continuous backup, which copies the files of a folder. */
  get #keepsBytes(): boolean {
    return this.#keepMs !== null && isBucket(this.#options.config.storage);
  }

  /** Marks copies that belong to no file, as if their files were deleted now. */
  async markStrays(ids: readonly string[]): Promise<void> {
    const { clock, database } = this.#options;
    await database.upkeep((tx) => {
      for (const id of ids) if (!isKnownFile(tx, id)) markRemoved(tx, id, clock.now());
    });
  }

  /** Removes the bytes that a continuous backup needs no more, or the copies by `remove`. After a failure, the next call goes on. */
  async removeOld(remove = (id: string): Promise<void> => this.#options.driver.remove(id)): Promise<void> {
    const { clock, database } = this.#options;
    for (;;) {
      const old = removedBefore(database.reader, clock.now() - (this.#keepMs ?? 0));
      if (old.length === 0) return;
      await Promise.all(old.map(({ id }) => remove(id)));
      await database.upkeep((tx) => {
        for (const row of old) unmarkRemoved(tx, row);
      });
    }
  }

  /** Three steps, each step on disk before the next: the id is marked, the bytes are put, the mark becomes metadata. */
  async #keep(upload: Upload, principal: Principal, values: Omit<FileRow, "id" | "createdAt">): Promise<StoredFile> {
    const { database, driver } = this.#options;
    const { id } = upload;
    await database.transactFor(principal, (tx) => markRemains(tx, id));
    try {
      await driver.put(id, upload.path);
      return await database.transactFor(principal, (tx) => {
        unmarkRemains(tx, id);
        return this.#insert(tx, principal, { id, ...values });
      });
    } catch (thrown) {
      // While the id is marked, no file has the id. After a failed flush a file may have the id, and the bytes must
      // stay.
      if (hasRemains(database.reader, id)) await this.#removeBytes(id);
      throw thrown;
    }
  }

  /** In a preview, stores the metadata of a file alone. @throws AppError as `store`. */
  async rehearseStore(
    principal: Principal,
    { data, filename, visibility }: { data: Uint8Array; filename: string; visibility: Visibility },
  ): Promise<StoredFile> {
    const { database, clock } = this.#options;
    const userId = principal?.userId ?? null;
    assertFits(this.#quota.roomsFor(database.reader, userId), data.byteLength);
    const mimeType = await detectType(data, filename);
    const file = { id: newId("fil", clock.now()), filename, mimeType, size: data.byteLength, visibility, userId };
    return database.transactFor(principal, (tx) => this.#insert(tx, principal, file));
  }

  #insert(tx: Transactor, principal: Principal, values: Omit<FileRow, "createdAt">): StoredFile {
    const { clock, events } = this.#options;
    const now = clock.now();
    const file = toFile({ ...values, createdAt: toTimestamp(now) });
    this.#quota.add(tx, file);
    insertFile(tx, file);
    tx.note(fileStored.of(file.id));
    events.append(tx, { type: "storage.uploaded", source: "storage", payload: file, principal }, now);
    return file;
  }

  /** Removes the bytes; after a failure the next start tries again. */
  async #removeBytes(id: string): Promise<void> {
    const { database, driver, logger } = this.#options;
    try {
      await driver.remove(id);
      await database.upkeep((tx) => unmarkRemains(tx, id), { makesRoom: true });
    } catch (error) {
      logger.warn("The bytes of a deleted file could not be removed; the next start tries again", { id, error });
    }
  }
}

/**
 * Whether a file exists, and whether a caller may download the file, in the view of a transaction.
 * @param isShown whether a record that the caller may read shows the file.
 */
export function fileAccess(
  reader: Reader,
  { id, principal }: { readonly id: string; readonly principal: Principal },
  isShown: () => boolean,
): "missing" | "unread" | "readable" {
  const row = findFile(reader, id);
  if (row === null) return "missing";
  if (row.visibility === "public") return "readable";
  if (!hasScope(principal, "storage", "read")) return "unread";
  return isOwner(row, principal) || (row.visibility === "record" && isShown()) ? "readable" : "unread";
}

/** Whether a caller owns a file, or is an admin. */
function isOwner({ userId }: FileRow, principal: Principal): boolean {
  return isAdmin(principal) || isOwnRecord(principal, userId);
}

function ownersOnly(action: string): AppError {
  return new AppError("forbidden", `Only its owner or an admin may ${action} this file.`);
}

export function missingFile(): AppError {
  return new AppError("not_found", "The file does not exist.");
}

/**
 * A full disk, or a store that does not answer (errors with a code): the caller learns that the file cannot be
 * stored or read, the log learns the cause. Any other error is a defect, and stays a defect.
 */
function asUnavailable(thrown: unknown): unknown {
  if (thrown instanceof AppError || !isObject(thrown) || typeof thrown["code"] !== "string") return thrown;
  return new AppError("unavailable", "Files cannot be stored or read at the moment.", { cause: thrown });
}
