/** The room on a disk. */
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";

/** Free bytes for this user on the disk of a path, or of its folder while there is nothing at it yet. */
export async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path).catch(() => statfs(dirname(path)));
  return bavail * bsize;
}
