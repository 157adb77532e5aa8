/** The content of modules in a script process: as the service had read it at the load. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CodeFile } from "../protocol.ts";
import { scriptFolders } from "../script-files.ts";

/** Has the runtime take TypeScript modules from these files, and not from the disk, where they may have changed. */
export function useCode(root: string, files: readonly CodeFile[]): void {
  const contents = new Map(files.map(({ path, content }) => [join(root, path), content]));
  const folders = scriptFolders.map((folder) => join(root, folder));
  const escaped = folders.map((folder) => folder.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  Bun.plugin({
    name: "code of functions and jobs",
    setup(build) {
      build.onLoad({ filter: new RegExp(`^(?:${escaped})[/\\\\].*\\.m?tsx?$`) }, ({ path }) => ({
        contents: contents.get(path) ?? readFileSync(path, "utf8"),
        loader: path.endsWith("x") ? "tsx" : "ts",
      }));
    },
  });
}
