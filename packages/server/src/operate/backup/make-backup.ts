/**
 * Making a backup, in this order: (1) removals of deleted files wait; (2) the database file is held in the state of the
 * last commit, and copied; (3) the database file is released, while the copy is checked and packed with the files of
 * the list; (4) the archive is flushed and gets the name; (5) removals go on. An archive of the database alone leaves
 * the files out.
 */
import { writeFileSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { Thread } from "../../base/channel/index.ts";
import {
  canStartThread,
  count,
  messageOf,
  refuseIrreplaceable,
  SetupError,
  threadEntry,
} from "../../base/kernel/index.ts";
import { type Database, type HeldState, makeFolder, syncFolder } from "../../store/database/index.ts";
import type { Encryption, FilesPlace } from "./archive.ts";
import { type DataPaths, noteName, partialEnding } from "./data-paths.ts";
import type { ForBackup, PackHandlers, PackRequest } from "./pack-worker.ts";

/** How often the size of the log is looked at while the database file is held. */
const lookEveryMs = 25;

/** How long a thread that was given up may take to end. */
const endMs = 2_000;

export interface BackupOptions {
  database: Pick<Database, "path" | "holdState" | "sizes">;
  paths: DataPaths;
  /** The folder of the work under way, for this backup alone: `backupFolder`, or `snapshotFolder`. */
  folder: string;
  filesPlace: FilesPlace;
  /** Lets the removals of deleted files wait. Answers a function that ends the wait. */
  holdRemovals: () => () => Promise<void>;
  /** Bytes of all files, about. */
  filesSize: number;
  /** The file of the backup. An existing file is replaced in the moment in which the new file is whole. */
  output: string;
  encryption: Encryption | null;
  /** Bytes of the write-ahead log beyond which the backup is given up (`backup.log`). */
  maxLog: number;
  version: string;
  signal: AbortSignal;
  onProgress: (done: number, total: number) => void;
}

/**
 * Answers a warning about files with bytes that were not in the storage, or not whole; null without these files.
 * @throws Error with one line. Nothing of the backup is left then, and an existing file of the name is unchanged.
 */
export async function makeBackup(options: BackupOptions): Promise<string | null> {
  const { database, folder, output } = options;
  const partial = `${output}${partialEnding}`;
  const isOfDatabase = output === database.path || output.startsWith(`${database.path}-`);
  if (isOfDatabase && dirname(output) !== folder)
    throw new SetupError(`${output}: belongs to the database; name another file for the backup`);
  for (const path of [output, partial]) refuseIrreplaceable(path);
  const goOn = options.holdRemovals();
  try {
    makeFolder(folder, 0o700);
    // A start after a crash removes the unfinished file that the note names, so the note is on disk first. The path is
    // relative for a file beside the database, because that folder may be moved.
    const path = relative(dirname(database.path), partial);
    writeFileSync(join(folder, noteName), path.startsWith("..") ? partial : path, { flush: true });
    syncFolder(folder);
    const missing = await pack(options, partial);
    // Not on the event loop: the room of a large file that is replaced is given back meanwhile.
    await rename(partial, output);
    syncFolder(dirname(output));
    if (missing.length === 0) return null;
    return `the backup lacks ${count(missing.length, "file")} whose bytes are missing from the storage; see socle verify: ${missing.join(", ")}`;
  } catch (thrown) {
    await rm(partial, { force: true });
    throw new Error(`The backup ${output} was not made: ${messageOf(thrown)}`);
  } finally {
    for (const name of ["copy.db", "copy.db-wal", "copy.db-shm", "entries", noteName])
      await rm(join(folder, name), { force: true });
    void goOn();
  }
}

/** The database file is held until the copy is made, or until the log has reached the bound. Answers the missing files. */
async function pack(
  { database, paths, maxLog, signal, ...options }: BackupOptions,
  output: string,
): Promise<readonly string[]> {
  const giveUp = new AbortController();
  const stop = AbortSignal.any([signal, giveUp.signal]);
  let held: HeldState | null = null;
  const watch = watchLog(database, maxLog, (reason) => {
    giveUp.abort(reason);
    held?.release();
  });
  const release = (): void => {
    clearInterval(watch);
    held?.release();
  };
  try {
    held = await database.holdState();
    const { files } = paths;
    const request: Omit<PackRequest, "stop"> = {
      state: { database: held.database, log: held.log },
      filesSize: options.filesSize,
      files: { ...files, s3: { ...files.s3, secretAccessKey: undefined } },
      secretKey: files.s3.secretAccessKey?.reveal(),
      filesPlace: options.filesPlace,
      folder: options.folder,
      output,
      encryption: options.encryption,
      version: options.version,
      createdAt: Date.now(),
    };
    return await packOnThread(request, { onCopied: release, onProgress: options.onProgress, signal: stop });
  } finally {
    release();
  }
}

/**
 * Packs on a thread, which is started for the backup and gone afterwards.
 * @throws Error after a failure, or when the signal gives the backup up. An incomplete file may be left then.
 */
async function packOnThread(
  request: Omit<PackRequest, "stop">,
  { onCopied, onProgress, signal }: Pick<BackupOptions, "onProgress" | "signal"> & { onCopied: () => void },
): Promise<readonly string[]> {
  signal.throwIfAborted();
  if (!canStartThread()) throw new Error("too few file descriptors are left");
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const thread = new Thread<PackHandlers, ForBackup>(threadEntry("operate/backup/pack-worker"), {
    name: "the thread of the backup",
    ours: { copied: onCopied, progress: ({ done, total }) => onProgress(done, total) },
  });
  const giveUp = (): void => {
    Atomics.store(stop, 0, 1);
    // A statement or a store that does not answer is not waited for.
    setTimeout(() => thread.end(signal.reason), endMs).unref();
  };
  signal.addEventListener("abort", giveUp);
  try {
    return await thread.call("pack", { ...request, stop });
  } catch (thrown) {
    throw signal.aborted ? signal.reason : thrown;
  } finally {
    signal.removeEventListener("abort", giveUp);
    await Promise.race([thread.close(), Bun.sleep(endMs)]);
  }
}

/** Writes do not wait for a backup: a backup that copies more slowly than writes come is given up. */
function watchLog(database: Pick<Database, "sizes">, maxLog: number, onFull: (reason: unknown) => void): Timer {
  const before = database.sizes().log;
  return setInterval(() => {
    try {
      const size = database.sizes().log;
      if (size <= maxLog || size <= before) return;
      onFull(
        new Error(
          `so much was written meanwhile that the write-ahead log has passed backup.log (${maxLog} bytes); try again under fewer writes, or raise backup.log`,
        ),
      );
    } catch (error) {
      onFull(error);
    }
  }, lookEveryMs);
}
