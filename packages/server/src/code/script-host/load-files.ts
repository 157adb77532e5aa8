/** The loading of files into one script process, and into the next process when a file ends the process. */
import type { LoadResult, ScriptProcess } from "./process.ts";
import type { Loaded } from "./protocol.ts";

/** After this time the next file is loaded beside the slow file: files that wait for something wait at the same time. */
const headStartMs = 250;

/**
 * Loads files into one process, one after the other; a slow file is waited for beside the next files. A file that
 * ends its process is left out, and the other files are loaded into another process; as a process may end for other reasons, the
 * file gets a second chance.
 * @param open starts a process, and stops the use of the former process.
 * @param isWanted false once the service stops: no further file is loaded then.
 * @throws Error when no process can be started.
 */
export async function loadFiles(options: {
  open: () => ScriptProcess;
  files: readonly string[];
  isWanted: () => boolean;
}): Promise<Map<string, Loaded>> {
  const results = new Map<string, Loaded>();
  const leftOut = new Set<string>();
  const suspects = new Set<string>();
  for (let isWhole = false; !isWhole && options.isWanted(); ) {
    const process = options.open();
    const loads: { readonly path: string; readonly result: Promise<LoadResult> }[] = [];
    for (const path of options.files) {
      if (leftOut.has(path) || !options.isWanted() || process.hasExited) continue;
      const result = process.loadFile(path);
      loads.push({ path, result });
      await Promise.race([result, Bun.sleep(headStartMs)]);
    }
    const ends = await Promise.all(loads.map(async ({ path, result }) => ({ path, ...(await result) })));
    for (const { path, loaded, lost } of ends) {
      results.set(path, loaded);
      if (lost === null && "error" in loaded) leftOut.add(path);
    }
    const culprit = culpritOf(ends);
    isWhole = culprit === undefined;
    if (culprit === undefined) continue;
    if (culprit.lost === "late" || suspects.has(culprit.path)) leftOut.add(culprit.path);
    suspects.add(culprit.path);
  }
  return results;
}

/** The file over which a process was lost: the file that computed for too long, otherwise the last file that was loading. */
function culpritOf<End extends LoadResult>(ends: readonly End[]): End | undefined {
  return ends.find(({ lost }) => lost === "late") ?? ends.findLast(({ lost }) => lost === "ended");
}
