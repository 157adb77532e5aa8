import { Gate } from "../kernel/index.ts";
import type { Loaded, ScriptOutcome, ScriptTask } from "./attempt.ts";

/** Processes at a time. */
const width = 3;

/** What a trial needs of a slot. */
interface TrialSlot {
  start(files: readonly string[]): Promise<Map<string, Loaded>>;
  run(task: ScriptTask): Promise<ScriptOutcome>;
  stop(): void;
}

/** Tasks in processes that have nothing else: what happens to such a process is that task's doing. */
export class Trials {
  readonly #open: () => TrialSlot;
  readonly #gate = new Gate(width);
  readonly #slots = new Set<TrialSlot>();
  #isStopped = false;

  constructor(open: () => TrialSlot) {
    this.#open = open;
  }

  /** `gone` when the task's file does not load there. Never rejects. */
  run(task: ScriptTask): Promise<ScriptOutcome> {
    return this.#gate.run(async () => {
      if (this.#isStopped) return { status: "stopped" };
      const slot = this.#open();
      this.#slots.add(slot);
      try {
        const loaded = (await slot.start([task.path])).get(task.path);
        if (loaded === undefined || "error" in loaded) return { status: "gone" };
        return await slot.run(task);
      } catch {
        // No process can be started now.
        return { status: "gone" };
      } finally {
        slot.stop();
        this.#slots.delete(slot);
      }
    });
  }

  stop(): void {
    this.#isStopped = true;
    for (const slot of this.#slots) slot.stop();
  }
}
