/** The content of modules in a script process: as the service read the files at the load. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CodeFile } from "../protocol.ts";
import { scriptFolders } from "../script-files.ts";
import { transpile } from "./transpile.ts";

/** Has the runtime take TypeScript modules from these files, and not from the disk, whose files may have changed. */
export async function useCode(root: string, files: readonly CodeFile[]): Promise<void> {
  const contents = new Map(files.map(({ real, content }) => [real, content]));
  const modules = await transpile(files);
  // Folders that are links are elsewhere.
  const folders = new Set([
    ...scriptFolders.map((name) => join(root, name)),
    ...files.map(({ real }) => dirname(real)),
  ]);
  const escaped = [...folders].map((folder) => folder.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  Bun.plugin({
    name: "code of functions and jobs",
    setup(build) {
      build.onLoad({ filter: new RegExp(`^(?:${escaped})[/\\\\].*\\.m?tsx?$`) }, ({ path }) => {
        const module = modules.get(path);
        if (module !== undefined) return { contents: module, loader: "js" };
        return {
          contents: contents.get(path) ?? readFileSync(path, "utf8"),
          loader: path.endsWith("x") ? "tsx" : "ts",
        };
      });
    },
  });
}
