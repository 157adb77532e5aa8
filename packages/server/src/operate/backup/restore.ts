/**
 * Restoring a backup: everything is unpacked beside the target and compared. Then the old data are moved aside and the
 * new data are moved in, by recorded moves that are finished after any crash.
 */
import { existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isObject, SetupError } from "../../base/kernel/index.ts";
import { isBucket } from "../../files/storage/index.ts";
import { DatabaseLock, makeFolder } from "../../store/database/index.ts";
import type { ArchiveSource } from "./archive-reader.ts";
import { type DataPaths, driverOf, fileWorkFolder, folderDriver, restoreFolder } from "./data-paths.ts";
import type { ManifestHead } from "./manifest.ts";
import { finishMoves, type Move, putRight, recordMoves } from "./moves.ts";
import { putAll, unpack } from "./unpacked.ts";

/** The service's own work in its folder of files is neither restored nor moved. */
const ownFolders = /^\./;

export interface RestoreResult {
  readonly head: ManifestHead;
  /** The places of the old data; empty without old data. */
  readonly aside: readonly string[];
}

/**
 * @param options.force also replaces existing data: the old data are moved aside.
 * @throws SetupError while a service runs on the data, or for existing data; Error with one line for a backup that is
 * not whole, and for too little room. The target is unchanged then.
 */
export async function restoreBackup(
  source: ArchiveSource,
  { paths, force }: { paths: DataPaths; force: boolean },
): Promise<RestoreResult> {
  const { database, files } = paths;
  const lock = new DatabaseLock(database);
  try {
    putRight(paths);
    const taken = takenBy(paths);
    if (taken.length > 0 && !force)
      throw new SetupError(
        `${taken.join(" and ")}: ${taken.length > 1 ? "hold" : "holds"} data already; with --force they are moved aside, and kept`,
      );
    const folder = restoreFolder(database);
    const work = fileWorkFolder(paths);
    makeFolder(work, 0o700);
    const unpacked = await folderDriver(work, paths);
    await unpacked.open();
    const head = await unpack(source, { folder, files: unpacked, depth: "quick" });
    const path = join(folder, "socle.db");
    if (isBucket(files.address)) {
      const target = await driverOf(paths);
      await target.open();
      await putAll(path, unpacked, target);
    }
    const moves = movesOf(paths, work);
    recordMoves(paths, moves.all);
    finishMoves(paths);
    rmSync(`${database}-shm`, { force: true });
    rmSync(work, { recursive: true, force: true });
    return { head, aside: moves.aside };
  } catch (thrown) {
    putRight(paths);
    throw thrown;
  } finally {
    lock.close();
  }
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).filter((name) => !ownFolders.test(name)) : [];
}

function hasBytes(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** The data that a restore would replace. */
function takenBy({ database, files }: DataPaths): string[] {
  const taken = hasBytes(database) || hasBytes(`${database}-wal`) ? [database] : [];
  const folders = isBucket(files.address) ? [] : namesIn(files.address);
  const hasFiles = folders.some((name) => {
    const path = join(files.address, name);
    return !statSync(path).isDirectory() || readdirSync(path).length > 0;
  });
  return hasFiles ? [...taken, files.address] : taken;
}

/** Old data aside, new data in. The database comes last, so that nothing starts with half of the data. */
function movesOf(paths: DataPaths, work: string): { all: Move[]; aside: string[] } {
  const { database, files } = paths;
  const name = `before-restore-${new Date().toISOString().replaceAll(":", "-").replace(".", "-")}`;
  const asideDatabase = join(dirname(database), name);
  const old: Move[] = [database, `${database}-wal`]
    .filter((path) => existsSync(path))
    .map((path) => [path, join(asideDatabase, path.slice(dirname(path).length + 1))]);
  const databaseIn: Move = [join(restoreFolder(database), "socle.db"), database];
  const moved = old.length > 0 ? [asideDatabase] : [];
  if (isBucket(files.address)) return { all: [...old, databaseIn], aside: moved };
  const asideFiles = asideOf(files.address, asideDatabase, name);
  const oldFiles = namesIn(files.address).map((each): Move => [join(files.address, each), join(asideFiles, each)]);
  const newFiles = namesIn(work).map((each): Move => [join(work, each), join(files.address, each)]);
  const isInside = asideFiles.startsWith(asideDatabase) && moved.length > 0;
  const aside = [...moved, ...(oldFiles.length > 0 && !isInside ? [asideFiles] : [])];
  return { all: [...old, ...oldFiles, ...newFiles, databaseIn], aside };
}

/** Beside the old database if the folder of files is on the same disk, otherwise within the folder of files. */
function asideOf(address: string, asideDatabase: string, name: string): string {
  if (!existsSync(address)) return join(asideDatabase, "storage");
  const probe = join(address, `.${name}`);
  const target = join(dirname(asideDatabase), `.${name}`);
  try {
    writeFileSync(probe, "");
    renameSync(probe, target);
    return join(asideDatabase, "storage");
  } catch (thrown) {
    if (!isObject(thrown) || thrown["code"] !== "EXDEV") throw thrown;
    return probe;
  } finally {
    rmSync(probe, { force: true });
    rmSync(target, { force: true });
  }
}
