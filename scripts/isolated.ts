/**
 * The executable as installed by users: a copy in a separate folder, which has no access to the source or to `node_modules`.
 * End-to-end tests, benchmarks and `npm start` run this copy.
 */
import { copyFileSync, linkSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { root } from "./run.ts";

/** The executable that `npm run build` makes. */
export const built = join(root, "dist", process.platform === "win32" ? "socle.exe" : "socle");

/** A copy of the executable. `remove` deletes the copy and the folder. */
export function isolatedExecutable(): { path: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "socle-executable-"));
  const path = join(folder, basename(built));
  try {
    // A hard link is a separate name and costs no second copy of 110 MB.
    linkSync(built, path);
  } catch {
    // The temporary folder is on another disk.
    copyFileSync(built, path);
  }
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
