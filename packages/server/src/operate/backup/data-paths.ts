/**
 * The places of a service's data: the database and the files with the drivers, the folders of work under way beside the data,
 * and the moves of a restore. All moves are recorded before the first move, so that the next process that opens the
 * database after a crash makes the rest. The record names places relative to the database's folder and to the files'
 * folder, because the data may have another path by then: a volume of a container, a renamed folder.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { isObject, SetupError } from "../../base/kernel/index.ts";
import { Logger } from "../../base/logging/index.ts";
import { type DriverOptions, isBucket, openDriver, type StorageDriver } from "../../files/storage/index.ts";
import { makeFolder, syncFolder, vacuumPath } from "../../store/database/index.ts";

export interface DataPaths {
  /** Absolute path of the database file. */
  readonly database: string;
  /** The address of the files, and the keys of the store. */
  readonly files: Pick<DriverOptions, "address" | "workFolder" | "s3">;
}

/** The folder of a restore that is under way, beside the database. */
export function restoreFolder(database: string): string {
  return `${database}-restore`;
}

export function driverOf({ files }: Pick<DataPaths, "files">): StorageDriver {
  return openDriver({ ...files, logger: new Logger({ level: "ERROR", sinks: [] }) });
}

/** The folder in which the files of a restore wait, on the file system of the target. */
export function fileWorkFolder({ database, files }: DataPaths): string {
  return isBucket(files.address) ? join(restoreFolder(database), "files") : join(files.address, ".work", "restore");
}

/** The folder of a backup that is being made, beside the database. The next start removes the folder. */
export function backupFolder(database: string): string {
  return `${database}-backup`;
}

/** The folder of a snapshot that is being made or restored, beside the database. The next start removes the folder. */
export function snapshotFolder(database: string): string {
  return `${database}-snapshot`;
}

/** In the folder of a backup: the path of the unfinished file. */
export const noteName = "partial";
export const partialEnding = ".partial";

/** From a path to another path on the same file system. */
export type Move = readonly [from: string, to: string];

/** A path as recorded: below the folder of the database, or below the folder of the files. */
interface RecordedPath {
  readonly root: "database" | "files";
  readonly path: string;
}

function listOf(paths: DataPaths): string {
  return join(restoreFolder(paths.database), "moves.json");
}

function rootsOf({ database, files }: DataPaths): Record<RecordedPath["root"], string> {
  return { database: dirname(database), files: isBucket(files.address) ? "" : files.address };
}

function placeOf(path: string, paths: DataPaths): RecordedPath {
  const roots = rootsOf(paths);
  const fromFiles = relative(roots.files, path);
  const isFile = roots.files !== "" && !fromFiles.startsWith("..") && !isAbsolute(fromFiles);
  return isFile ? { root: "files", path: fromFiles } : { root: "database", path: relative(roots.database, path) };
}

/** Records moves. From then on, all moves will be made. */
export function recordMoves(paths: DataPaths, moves: readonly Move[]): void {
  // The record may be on disk before the other names of the folder, and the sources must be on disk by then.
  for (const source of new Set(moves.map(([from]) => dirname(from)))) if (existsSync(source)) syncFolder(source);
  const path = listOf(paths);
  const file = openSync(`${path}.new`, "w", 0o600);
  writeSync(file, JSON.stringify(moves.map((move) => move.map((each) => placeOf(each, paths)))));
  fsyncSync(file);
  closeSync(file);
  renameSync(`${path}.new`, path);
  syncFolder(dirname(path));
}

/** Whether moves are recorded, and not all made. */
export function hasMoves(paths: DataPaths): boolean {
  return existsSync(listOf(paths));
}

function readMoves(paths: DataPaths): Move[] {
  const roots = rootsOf(paths);
  const pathOf = (place: unknown): string => {
    if (isObject(place) && (place["root"] === "database" || place["root"] === "files"))
      return join(roots[place["root"]], String(place["path"]));
    throw new SetupError(`${listOf(paths)}: is not a list of moves that this version understands`);
  };
  const recorded: unknown = JSON.parse(readFileSync(listOf(paths), "utf8"));
  if (!Array.isArray(recorded)) return [];
  return recorded.map(([from, to]: unknown[]) => [pathOf(from), pathOf(to)] as const);
}

/**
 * Makes the recorded moves that are not made yet, and removes the record. Answers whether a record existed.
 * @throws SetupError when something to move is not found: a service that started then would begin with an empty
 * database.
 */
export function finishMoves(paths: DataPaths): boolean {
  if (!hasMoves(paths)) return false;
  const moves = readMoves(paths);
  const lost = moves.find(([from, to]) => !existsSync(from) && !existsSync(to));
  if (lost !== undefined)
    throw new SetupError(
      `A restore was interrupted and cannot be finished: neither ${lost[0]} nor ${lost[1]} exists. Is every volume mounted, and storage the folder of the restore?`,
    );
  for (const [from, to] of moves) {
    // An existing target was moved before the crash; the source may be something new by now.
    if (existsSync(to)) continue;
    makeFolder(dirname(to), 0o700);
    renameSync(from, to);
  }
  for (const changed of new Set(moves.flatMap(([from, to]) => [dirname(from), dirname(to)])))
    if (existsSync(changed)) syncFolder(changed);
  const folder = restoreFolder(paths.database);
  rmSync(folder, { recursive: true, force: true });
  syncFolder(dirname(folder));
  return true;
}

/**
 * Puts right what interrupted commands have left: a restore that had begun to move things is finished; preparations of a
 * restore, a backup, a snapshot or a vacuum are removed. To be called with the lock of the database held, before the database is
 * opened.
 * @returns whether a restore was finished.
 * @throws Error when something cannot be moved or removed.
 */
export function putRight(paths: DataPaths): boolean {
  const { database } = paths;
  const isFinished = finishMoves(paths);
  // The unfinished file of a backup that was killed.
  const note = join(backupFolder(database), noteName);
  const partial = existsSync(note) ? resolve(dirname(database), readFileSync(note, "utf8")) : "";
  if (partial.endsWith(partialEnding)) rmSync(partial, { force: true });
  // A path below a file does not exist, and cannot be removed; the start of the storage tells of this path.
  const folders = [backupFolder(database), snapshotFolder(database), restoreFolder(database), fileWorkFolder(paths)];
  for (const path of [...folders, vacuumPath(database)])
    if (existsSync(path)) rmSync(path, { recursive: true, force: true });
  return isFinished;
}
