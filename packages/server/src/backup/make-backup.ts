/**
 * Making a backup, in this order: (1) the bytes of deleted files wait; (2) the database file is held in the state of the
 * last commit, and copied; (3) it goes on, while the copy is checked and packed with the files that it names; (4) the
 * archive is flushed and gets its name; (5) deletions go on.
 */
import { writeFileSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Database, type HeldState, makeFolder, syncFolder } from "../database/index.ts";
import { count, messageOf, SetupError } from "../kernel/index.ts";
import { backupFolder, type DataPaths } from "./data-paths.ts";
import type { Encryption } from "./encryption.ts";
import { noteName, partialEnding } from "./leftovers.ts";
import { packOnThread } from "./pack-thread.ts";
import type { PackRequest, PackResult } from "./pack-worker.ts";

/** How often the size of the log is looked at while the database file is held. */
const lookEveryMs = 25;

type BackupResult = PackResult & {
  /** Milliseconds since 1970: the moment of the state. */
  readonly createdAt: number;
};

export interface BackupOptions {
  database: Pick<Database, "path" | "holdState" | "sizes">;
  paths: DataPaths;
  /** Has the bytes of deleted files wait; answers how they go on. */
  holdRemovals: () => () => Promise<void>;
  /** Bytes of all files, about. */
  filesSize: number;
  /** The file that it becomes. One that is there is replaced in the moment in which the new one is whole. */
  output: string;
  encryption: Encryption | null;
  /** Bytes of the write-ahead log beyond which the backup is given up (`backup.log`). */
  maxLog: number;
  version: string;
  signal: AbortSignal;
  onProgress: (done: number, total: number) => void;
}

/** @throws Error with one line. Nothing of the backup is left then, and a file of its name is as it was. */
export async function makeBackup(options: BackupOptions): Promise<BackupResult> {
  const { database, output } = options;
  const folder = backupFolder(database.path);
  const partial = `${output}${partialEnding}`;
  const isOfDatabase = output === database.path || output.startsWith(`${database.path}-`);
  if (isOfDatabase && dirname(output) !== folder)
    throw new SetupError(`${output}: belongs to the database; name another file for the backup`);
  const goOn = options.holdRemovals();
  try {
    makeFolder(folder, 0o700);
    // A start after a crash removes what it finds here. The note is on disk before what it tells of.
    writeFileSync(join(folder, noteName), partial, { flush: true });
    syncFolder(folder);
    const result = await pack(options, { folder, output: partial });
    // Not on the event loop: the room of a large file that is replaced is given back meanwhile.
    await rename(partial, output);
    syncFolder(dirname(output));
    return result;
  } catch (thrown) {
    await rm(partial, { force: true });
    throw new Error(`The backup ${output} was not made: ${messageOf(thrown)}`);
  } finally {
    for (const name of ["copy.db", "copy.db-wal", "copy.db-shm", "entries", noteName])
      await rm(join(folder, name), { force: true });
    void goOn();
  }
}

/** The database file is held until it is copied, or until the log has reached its bound. */
async function pack(
  { database, paths, maxLog, signal, ...options }: BackupOptions,
  { folder, output }: { folder: string; output: string },
): Promise<BackupResult> {
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
    const createdAt = Date.now();
    const { secretAccessKey, ...s3 } = paths.files.s3;
    const request: Omit<PackRequest, "stop"> = {
      state: { database: held.database, log: held.log },
      filesSize: options.filesSize,
      files: { ...paths.files, s3: { ...s3, secretAccessKey: secretAccessKey?.reveal() } },
      folder,
      output,
      encryption: options.encryption,
      version: options.version,
      createdAt,
    };
    const calls = { onCopied: release, onProgress: options.onProgress, signal: stop };
    return { ...(await packOnThread(request, calls)), createdAt };
  } finally {
    release();
  }
}

/** Writes do not wait for a backup: where they come faster than it copies, it gives way. */
function watchLog(database: Pick<Database, "sizes">, maxLog: number, onFull: (reason: unknown) => void): Timer {
  const before = database.sizes().log;
  return setInterval(() => {
    try {
      const size = database.sizes().log;
      if (size <= maxLog || size <= before) return;
      onFull(
        new Error(
          `so much was written meanwhile that the write-ahead log has passed backup.log (${maxLog} bytes); try again when less is written, or raise it`,
        ),
      );
    } catch (error) {
      onFull(error);
    }
  }, lookEveryMs);
}

/** The warning about files whose bytes were not in the storage, or not whole. */
export function missingWarning(ids: readonly string[]): string {
  return `it lacks ${count(ids.length, "file")} whose bytes are missing from the storage; see socle verify: ${ids.join(", ")}`;
}
