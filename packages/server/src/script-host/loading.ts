import type { Loaded } from "./attempt.ts";
import type { ScriptProcess } from "./host-process.ts";

/** How long a file may take to load. Turns are counted: when the service itself was held up, the answer may be there. */
const limitMs = 5_000;
const turnMs = 100;

/** Files on their way into a process: one after the other, so that it is known which one ends it or does not end. */
export class Loading {
  readonly #process: ScriptProcess;
  #waitsFor: { path: string; resolve: (loaded: Loaded) => void } | null = null;

  constructor(process: ScriptProcess) {
    this.#process = process;
  }

  /** What became of a file; `lost` when that was an error by which the process was lost. */
  async load(path: string): Promise<{ loaded: Loaded; lost: "late" | "ended" | null }> {
    const { promise, resolve } = Promise.withResolvers<{ loaded: Loaded; lost: "late" | "ended" | null }>();
    this.#waitsFor = { path, resolve: (loaded) => resolve({ loaded, lost: null }) };
    const lose = (lost: "late" | "ended", message: string): void => resolve({ loaded: { error: { message } }, lost });
    this.#process.send({ kind: "load", path });
    let turns = 0;
    const limit = setInterval(() => {
      turns += 1;
      if (turns * turnMs < limitMs) return;
      this.#process.kill();
      lose("late", `did not finish loading within ${limitMs / 1_000} s`);
    }, turnMs);
    this.#process.exited.then(({ how }) => lose("ended", `ended the process while it was loading (${how})`));
    const result = await promise;
    clearInterval(limit);
    return result;
  }

  /** The process says what became of a file. */
  answer(path: string, loaded: Loaded): void {
    if (this.#waitsFor?.path === path) this.#waitsFor.resolve(loaded);
  }
}
