/** The loads of files that a script process has not answered yet: answers, the end of the process, and the limit of a load. */
import type { ProcessEnd } from "./host-process.ts";
import { type Loaded, lateLoad, loadLimitMs } from "./protocol.ts";

/** The longest silence of a process that loads: longer than the limit of a load, which the process itself looks at. */
const silenceMs = loadLimitMs + 3_000;
/** The longest load, also of a process that answers. */
const longestMs = 60_000;

/** The result of loading one file. `lost` says how the load lost the process; null when the process lives. */
export interface LoadResult {
  readonly loaded: Loaded;
  readonly lost: "late" | "ended" | null;
}

/** A load that the process has not answered. */
interface PendingLoad {
  readonly end: (result: LoadResult) => void;
  polls: number;
  /** Polls since the last message of the process. */
  silence: number;
}

export class PendingLoads {
  readonly #byPath = new Map<string, PendingLoad>();
  readonly #pollMs: number;

  /** @param pollMs the milliseconds between two polls. */
  constructor(pollMs: number) {
    this.#pollMs = pollMs;
  }

  get size(): number {
    return this.#byPath.size;
  }

  /** Waits for the answer of a load that is sent in this turn, or for the end of the process. */
  async wait(path: string, exited: Promise<ProcessEnd>): Promise<LoadResult> {
    const { promise, resolve } = Promise.withResolvers<LoadResult>();
    this.#byPath.set(path, { end: resolve, polls: 0, silence: 0 });
    exited.then(({ how }) => {
      const message = `ended the process while it was loading (${how})`;
      resolve({ loaded: { error: { message } }, lost: "ended" });
    });
    const result = await promise;
    this.#byPath.delete(path);
    return result;
  }

  /** The process has answered a load. */
  answered(path: string, loaded: Loaded): void {
    this.#byPath.get(path)?.end({ loaded, lost: null });
  }

  /** The process has sent any message: the process does not compute without end. */
  heard(): void {
    for (const load of this.#byPath.values()) load.silence = 0;
  }

  /** Counts a poll, and ends the loads that are late. Answers whether a load is late: the process computes without end. */
  poll(): boolean {
    let isLate = false;
    for (const load of this.#byPath.values()) {
      load.polls += 1;
      load.silence += 1;
      if (load.silence * this.#pollMs < silenceMs && load.polls * this.#pollMs < longestMs) continue;
      load.end({ loaded: { error: { message: lateLoad } }, lost: "late" });
      isLate = true;
    }
    return isLate;
  }
}
