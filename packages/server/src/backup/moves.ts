/**
 * Moves that belong together: they are written down before the first of them, so that whoever comes after a crash makes
 * the rest. Each is made once, however often it is tried.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeFolder, syncFolder } from "../database/index.ts";

/** From a path to another on the same file system. */
export type Move = readonly [from: string, to: string];

const listName = "moves.json";

/** Writes the moves down in a folder, and makes them. From the first on, they will all be made. */
export function makeMoves(folder: string, moves: readonly Move[]): void {
  // The list may be on disk before the other names of its folder, and what it names must be there by then.
  for (const source of new Set(moves.map(([from]) => dirname(from)))) if (existsSync(source)) syncFolder(source);
  const path = join(folder, listName);
  const file = openSync(`${path}.new`, "w", 0o600);
  writeSync(file, JSON.stringify(moves));
  fsyncSync(file);
  closeSync(file);
  renameSync(`${path}.new`, path);
  syncFolder(folder);
  finishMoves(folder);
}

/** Whether moves are written down in a folder, and not all made. */
export function hasMoves(folder: string): boolean {
  return existsSync(join(folder, listName));
}

/** Makes the moves that are written down in a folder, and removes it. Answers whether there were any. */
export function finishMoves(folder: string): boolean {
  if (!hasMoves(folder)) return false;
  const path = join(folder, listName);
  // `makeMoves` wrote the file, and renamed it when it was complete.
  const moves = JSON.parse(readFileSync(path, "utf8")) as Move[];
  for (const [from, to] of moves) {
    // Made before the crash: where the target is there, the source may be something new by now.
    if (!existsSync(from) || existsSync(to)) continue;
    makeFolder(dirname(to), 0o700);
    renameSync(from, to);
  }
  for (const changed of new Set(moves.flatMap(([from, to]) => [dirname(from), dirname(to)])))
    if (existsSync(changed)) syncFolder(changed);
  rmSync(folder, { recursive: true, force: true });
  return true;
}
