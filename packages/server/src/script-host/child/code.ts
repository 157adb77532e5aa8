import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CodeFile } from "../protocol.ts";

/** Has TypeScript modules read from what the service had found, not from what is on the disk by now. */
export function useCode(root: string, files: readonly CodeFile[]): void {
  const contents = new Map(files.map(({ path, content }) => [join(root, path), content]));
  const folders = ["functions", "jobs"].map((folder) => join(root, folder));
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
