/** The disk: its room, and the files that may be replaced on it. */
import { existsSync, lstatSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { SetupError } from "./app-error.ts";

/** Free bytes for this user on the disk of a path, or of its folder while the path is free. */
export async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path).catch(() => statfs(dirname(path)));
  return bavail * bsize;
}

/**
 * Makes sure that a new file may take a path: that the path is free, or that a regular file has the path. A device, a
 * pipe, a socket or a link would be lost.
 * @throws SetupError
 */
export function refuseIrreplaceable(path: string): void {
  if (!existsSync(dirname(path))) throw new SetupError(`${path}: its folder does not exist`);
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isFile()) return;
  if (stats.isDirectory()) throw new SetupError(`${path}: is a folder; name a file in it`);
  throw new SetupError(`${path}: is not a regular file; name a new file, or a file to replace`);
}
