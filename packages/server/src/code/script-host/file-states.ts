/** File states: the outcome of the last load of each file of functions and jobs. */
import type { ScriptError } from "./protocol.ts";
import type { ScriptFile } from "./script-files.ts";

export interface FileState {
  readonly file: ScriptFile;
  /** When the version was loaded that runs, in milliseconds since 1970; null when no version was ever loaded. */
  readonly loadedAt: number | null;
  /** Why its newest version does not load, and since when; null when the newest version loads. */
  readonly problem: (ScriptError & { readonly since: number }) | null;
}

export class FileStates {
  #states = new Map<string, FileState>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** The states of the files, sorted by path. */
  list(): FileState[] {
    return [...this.#states.values()];
  }

  /** These are all the files from now on. */
  keep(files: readonly ScriptFile[]): void {
    const before = this.#states;
    this.#states = new Map();
    for (const file of files)
      this.#states.set(file.path, { loadedAt: null, problem: null, ...before.get(file.path), file });
  }

  loaded(file: ScriptFile): void {
    this.#states.set(file.path, { file, loadedAt: this.#now(), problem: null });
  }

  failed(file: ScriptFile, { message, stack }: ScriptError): void {
    const before = this.#states.get(file.path);
    // The same error again is the same problem: the problem is as old as the first error.
    const since = before?.problem?.message === message ? before.problem.since : this.#now();
    const problem = { message, since, ...(stack !== undefined && { stack }) };
    this.#states.set(file.path, { file, loadedAt: before?.loadedAt ?? null, problem });
  }
}
