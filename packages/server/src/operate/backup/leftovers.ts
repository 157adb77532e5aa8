/**
 * Leftovers of interrupted commands. A restore that had begun to move things is finished; preparations of a restore, a
 * backup or a vacuum are removed.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { vacuumPath } from "../../store/database/index.ts";
import { backupFolder, type DataPaths, fileWorkFolder, noteName, partialEnding, restoreFolder } from "./data-paths.ts";
import { finishMoves } from "./moves.ts";

/**
 * To be called with the lock of the database held, before the database is opened.
 * @returns whether a restore was finished.
 * @throws Error when something cannot be moved or removed.
 */
export function putRight(paths: DataPaths): boolean {
  const { database } = paths;
  const isFinished = finishMoves(paths);
  const folder = backupFolder(database);
  const note = join(folder, noteName);
  const partial = existsSync(note) ? resolve(dirname(database), readFileSync(note, "utf8")) : "";
  if (partial.endsWith(partialEnding)) rmSync(partial, { force: true });
  for (const path of [folder, restoreFolder(database), fileWorkFolder(paths), vacuumPath(database)])
    if (existsSync(path)) rmSync(path, { recursive: true, force: true });
  return isFinished;
}
