/** File modes: new data are for the service's user alone; data that are open to others are reported. */
import { statSync } from "node:fs";
import type { Logger } from "../base/logging/index.ts";

const forOthers = 0o077;
let usual: number | null = null;

/** From now on, files are made with mode 0600 and folders with 0700: SQLite's, the storage's, the control socket. */
export function keepFilesPrivate(): void {
  usual ??= process.umask(forOthers);
}

/** The umask that the process was started with, for files that are not the service's own data. */
export function usualUmask(): number {
  return usual ?? process.umask();
}

/** The name under which the launcher of the npm package starts the executable: the words of a shell that start the launcher. */
export const launcherProgram = "npx socle";

/** A command for a shell with the words, each quoted if the shell would read the word otherwise. */
export function shellCommand(...words: readonly string[]): string {
  const isPlain = (word: string): boolean => word === launcherProgram || /^[\w./:@%+=,-]+$/.test(word);
  return words.map((word) => (isPlain(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}

function isOpen(path: string): boolean {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats !== undefined && (stats.mode & forOthers) !== 0;
  } catch {
    // The code that opens the path reports the error.
    return false;
  }
}

/** Logs a line with the command that closes the paths, when the group or others have a right to a path. */
export function warnOfOpenFiles(paths: readonly string[], logger: Logger): void {
  // Windows has no such modes of files.
  if (process.platform === "win32") return;
  const open = paths.filter(isOpen);
  if (open.length === 0) return;
  const command = shellCommand("chmod", "-R", "go=", ...open);
  logger.warn(`Other users of this machine may read or write the data. To close the data to other users: ${command}`);
}
