/** The watch of development mode: looks at the state of some files, and applies a change. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** How often the files are looked at. A look is a few stat calls, and works on every file system. */
const lookMs = 30;

/**
 * Calls `apply` whenever the state of the files has changed, until the signal aborts. A change is applied when two looks
 * find the same state: whoever saves several files, or deletes and writes a file again, has come to an end by then.
 */
export function watchFiles(options: {
  stateOf: () => string;
  /** The state that was applied last. */
  applied: string;
  apply: () => Promise<void>;
  signal: AbortSignal;
}): void {
  const { stateOf, apply, signal } = options;
  let { applied } = options;
  let seen = applied;
  const look = async (): Promise<void> => {
    const now = stateOf();
    const isStill = now === seen;
    seen = now;
    if (isStill && now !== applied) {
      applied = now;
      await apply();
    }
    if (!signal.aborted) setTimeout(look, lookMs).unref();
  };
  setTimeout(look, lookMs).unref();
}

/** The state of the definition files in a folder: names, times and sizes. */
export function definitionsState(folder: string): string {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
    return names
      .map((name) => {
        const stats = statSync(join(folder, name), { throwIfNoEntry: false });
        return `${name}:${stats?.mtimeMs}:${stats?.size}`;
      })
      .join("\n");
  } catch {
    // The folder does not exist yet.
    return "";
  }
}
