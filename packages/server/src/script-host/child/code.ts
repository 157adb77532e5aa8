import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CodeFile } from "../protocol.ts";

const loaders: { readonly [ending: string]: "ts" | "tsx" | "js" | "jsx" } = {
  ts: "ts",
  mts: "ts",
  cts: "ts",
  tsx: "tsx",
  js: "js",
  mjs: "js",
  cjs: "js",
  jsx: "jsx",
};

/** Has modules read from what the service had found, not from what is on the disk by now. */
export function useCode(root: string, files: readonly CodeFile[]): void {
  const contents = new Map(files.map(({ path, content }) => [join(root, path), content]));
  const folders = ["functions", "jobs"].map((folder) => join(root, folder));
  const escaped = folders.map((folder) => folder.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  Bun.plugin({
    name: "code of functions and jobs",
    setup(build) {
      build.onLoad({ filter: new RegExp(`^(?:${escaped})[/\\\\].*\\.[cm]?[jt]sx?$`) }, ({ path }) => ({
        contents: contents.get(path) ?? readFileSync(path, "utf8"),
        loader: loaders[path.slice(path.lastIndexOf(".") + 1)] ?? "ts",
      }));
    },
  });
}
