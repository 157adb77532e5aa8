/** The watch of development mode and of `socle test --watch`: looks at the state of some files, and notices a change. */
import { type Dirent, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../base/config/index.ts";

/** How often the files are looked at. A look is a few stat calls, and works on every file system. */
const lookMs = 30;

/**
 * The looks that find a file empty before the empty file counts: a second. A program that saves a file empties the file first, and
 * writes the text when the machine has a core for the program.
 */
const emptyLooks = 33;

/**
 * Calls `apply` whenever the state of the files has changed, until the signal aborts. A change is applied when two looks
 * find the same state: whoever saves several files, or deletes and writes a file again, has come to an end by then.
 */
export function watchFiles(options: {
  stateOf: () => string;
  /** The state that was applied last. */
  applied: string;
  apply: () => Promise<void>;
  signal: AbortSignal;
}): void {
  const { stateOf, apply, signal } = options;
  let { applied } = options;
  const isSaved = savedStates();
  const look = async (): Promise<void> => {
    const now = stateOf();
    if (isSaved(now, applied)) {
      applied = now;
      await apply();
    }
    if (!signal.aborted) setTimeout(look, lookMs).unref();
  };
  setTimeout(look, lookMs).unref();
}

/** Tells from look to look whether the state is another state than before, and stands still. */
function savedStates(): (now: string, before: string) => boolean {
  let seen: string | null = null;
  let looks = 0;
  return (now, before) => {
    looks = now === seen ? looks + 1 : 0;
    seen = now;
    return now !== before && looks >= (hasEmptied(now, before) ? emptyLooks : 1);
  };
}

/** Whether a file is empty since the state before. The line of a file ends with the size. */
function hasEmptied(now: string, before: string): boolean {
  const known = before.split("\n");
  return now.split("\n").some((line) => line.endsWith(":0") && !known.includes(line));
}

/** The state of the files in a folder whose names match: names, times and sizes. */
export function folderState(folder: string, wanted: RegExp): string {
  try {
    const names = readdirSync(folder).filter((name) => wanted.test(name));
    return names
      .map((name) => {
        const stats = statSync(join(folder, name), { throwIfNoEntry: false });
        return `${name}:${stats?.mtimeMs}:${stats?.size}`;
      })
      .join("\n");
  } catch {
    // The folder does not exist yet.
    return "";
  }
}

/** Resolves when the state differs from a state before, and stands still; or when the signal aborts. */
export async function untilChanged(
  stateOf: () => string,
  { from, signal }: { from: string; signal: AbortSignal },
): Promise<void> {
  const isSaved = savedStates();
  while (!signal.aborted && !isSaved(stateOf(), from)) await Bun.sleep(lookMs);
}

/** The state of all files of a project: names, times and sizes. Data, packages and hidden files are left out, but for `.env`. */
export function projectState(config: Config): string {
  const { database, storage, "backup.target": backups } = config;
  // Beside the database are its log and its lock, such as `socle.db-wal`.
  const isData = (path: string): boolean =>
    [storage, backups, database].includes(path) || path.startsWith(`${database}-`);
  const stateBelow = (folder: string): string[] =>
    entriesIn(folder).flatMap((entry) => {
      const path = join(folder, entry.name);
      const isHidden = entry.name.startsWith(".") && !entry.name.startsWith(".env");
      if (isHidden || entry.name === "node_modules" || isData(path)) return [];
      if (entry.isDirectory()) return stateBelow(path);
      const stats = statSync(path, { throwIfNoEntry: false });
      return [`${path}:${stats?.mtimeMs}:${stats?.size}`];
    });
  return stateBelow(config.folder).join("\n");
}

/** Nothing for a folder that has gone. */
function entriesIn(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
