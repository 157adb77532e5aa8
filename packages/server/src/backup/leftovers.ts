/**
 * Leftovers of commands that were interrupted. A restore that had begun to move things is brought to its end; what was
 * only prepared, by it, by a backup or by a vacuum, is removed.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { vacuumPath } from "../database/index.ts";
import { backupFolder, type DataPaths, restoreFolder } from "./data-paths.ts";
import { fileWorkFolder } from "./files.ts";
import { finishMoves, hasMoves } from "./moves.ts";

/** In the folder of a backup: the path of the file that it writes elsewhere. */
export const noteName = "partial";
export const partialEnding = ".partial";

/** Whether a restore was interrupted while it moved things: until `putRight`, the database may be missing. */
export function isRestoring({ database }: DataPaths): boolean {
  return hasMoves(restoreFolder(database));
}

/**
 * To be called by whoever has the lock of the database, before it is opened.
 * @returns whether a restore was brought to its end.
 * @throws Error when something cannot be moved or removed.
 */
export function putRight({ database, files }: DataPaths): boolean {
  const isFinished = finishMoves(restoreFolder(database));
  const folder = backupFolder(database);
  const note = join(folder, noteName);
  const partial = existsSync(note) ? readFileSync(note, "utf8") : "";
  if (partial.endsWith(partialEnding)) rmSync(partial, { force: true });
  for (const path of [folder, restoreFolder(database), fileWorkFolder({ database, files }), vacuumPath(database)])
    if (existsSync(path)) rmSync(path, { recursive: true, force: true });
  return isFinished;
}
