/**
 * The processes of a preview: fresh processes for the handler and for the hooks of its changes, which end with the preview. So neither a
 * loop nor a variable of a module reaches another run.
 */
import { Attempt, type CallOutcome, limitWait, type ScriptTask } from "./attempt.ts";
import type { Lane } from "./load.ts";
import type { ScriptProcess } from "./process.ts";
import type { Loaded } from "./protocol.ts";

interface Opened {
  readonly process: ScriptProcess;
  readonly loads: Map<string, Promise<Loaded>>;
  /** Resolves with the reason when the process has ended. */
  readonly lost: Promise<string>;
}

export class PreviewProcesses {
  readonly #open: (lane: Lane) => ScriptProcess;
  readonly #opened = new Map<Lane, Opened>();
  #isOver = false;

  constructor(open: (lane: Lane) => ScriptProcess) {
    this.#open = open;
  }

  /** Loads a file. @throws Error when the system starts no process. */
  load(lane: Lane, path: string): Promise<Loaded> {
    const { process, loads } = this.#opened.getOrInsertComputed(lane, () => {
      const process = this.#open(lane);
      return { process, loads: new Map(), lost: process.exited.then((end) => process.release(end).message) };
    });
    return loads.getOrInsertComputed(path, () => process.loadFile(path).then(({ loaded }) => loaded));
  }

  /** Calls a handler. @throws as `load`. */
  async call(lane: Lane, task: ScriptTask): Promise<CallOutcome> {
    if (this.#isOver) return { status: "stopped" };
    const loaded = await this.load(lane, task.path);
    if ("error" in loaded) return { status: "failed", error: loaded.error };
    const opened = this.#opened.get(lane);
    if (this.#isOver || opened === undefined) return { status: "stopped" };
    const attempt = new Attempt(task);
    // A write waits for a hook.
    if (lane === "hooks") limitWait(attempt);
    opened.process.call(attempt);
    void opened.lost.then((message) => attempt.settle({ status: "lost", message }));
    return attempt.outcome;
  }

  /** Ends the processes. */
  end(): void {
    this.#isOver = true;
    for (const { process } of this.#opened.values())
      for (const attempt of process.close()) attempt.settle({ status: "stopped" });
  }
}
