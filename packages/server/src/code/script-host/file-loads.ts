/** Loading the files of a list into a process; a file that ends the process does not keep the other files from being loaded. */
import type { LoadResult } from "./pending-loads.ts";
import type { ScriptProcess } from "./process.ts";
import type { Loaded } from "./protocol.ts";

/** After this time the next file is loaded beside the slow file: files that wait for something wait at the same time. */
const headStartMs = 250;

/** The owner of the processes. */
interface Owner {
  /** Starts a process in place of the last process. @throws Error when no process can be started. */
  open(): ScriptProcess;
  isStopped(): boolean;
}

interface FileEnd extends LoadResult {
  readonly path: string;
}

/**
 * Loads files into one process. A file that ends the process is left out, and the other files are loaded into another process; as a
 * process may end for other reasons, the file gets a second chance. No further file is loaded after a stop.
 * @throws Error when no process can be started.
 */
export async function loadFiles(files: readonly string[], owner: Owner): Promise<Map<string, Loaded>> {
  const results = new Map<string, Loaded>();
  const leftOut = new Set<string>();
  const suspects = new Set<string>();
  while (!owner.isStopped()) {
    const remaining = files.filter((path) => !leftOut.has(path));
    const ends = await loadInto(owner.open(), remaining, owner);
    for (const { path, loaded, lost } of ends) {
      results.set(path, loaded);
      if (lost === null && "error" in loaded) leftOut.add(path);
    }
    // The file that computed for too long has lost the process, otherwise the last file that was loading.
    const culprit = ends.find(({ lost }) => lost === "late") ?? ends.findLast(({ lost }) => lost === "ended");
    if (culprit === undefined) break;
    if (culprit.lost === "late" || suspects.has(culprit.path)) leftOut.add(culprit.path);
    suspects.add(culprit.path);
  }
  return results;
}

/** Loads files into a process, in turn; a slow file is waited for beside the next files. */
export async function loadInto(
  process: ScriptProcess,
  files: readonly string[],
  owner: Pick<Owner, "isStopped">,
): Promise<FileEnd[]> {
  const loads: Promise<FileEnd>[] = [];
  for (const path of files) {
    if (owner.isStopped() || process.hasExited) break;
    const load = process.loadFile(path).then((result) => ({ path, ...result }));
    loads.push(load);
    await Promise.race([load, Bun.sleep(headStartMs)]);
  }
  return Promise.all(loads);
}
