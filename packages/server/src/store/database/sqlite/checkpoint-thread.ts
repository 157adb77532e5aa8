/** The checkpoint thread: starts with the first checkpoint, because a thread costs memory, and starts again after an end. */
import { canStartThread, threadEntry } from "../../../base/kernel/index.ts";
import type { CheckpointRequest, CheckpointResult } from "./checkpoint-worker.ts";

type Answer = CheckpointResult | null;

function startWorker(): Worker {
  if (!canStartThread()) throw new Error("too few file descriptors are left");
  return new Worker(threadEntry("store/database/sqlite/checkpoint-worker"));
}

export class CheckpointThread {
  readonly #start: () => Worker;
  #worker: Worker | null = null;
  #asked: PromiseWithResolvers<Answer> | null = null;

  constructor(start: () => Worker = startWorker) {
    this.#start = start;
  }

  /**
   * Runs a checkpoint; the caller waits for the result before the next call. Rejects when the checkpoint fails or the thread ends.
   * @throws Error at once when the thread cannot start.
   */
  checkpoint(request: CheckpointRequest): Promise<Answer> {
    return this.#ask(this.#worker ?? this.#open(), request);
  }

  /** Closes the connection of the thread. Resolves when the connection is closed or the thread has ended; never rejects. */
  async close(): Promise<void> {
    if (this.#worker !== null) await this.#ask(this.#worker, null).catch(() => undefined);
  }

  /** Ends the thread in any state. */
  terminate(): void {
    if (this.#worker !== null) this.#lose(this.#worker, new Error("The checkpoint thread was stopped"));
  }

  #open(): Worker {
    const worker = this.#start();
    worker.unref();
    worker.onmessage = ({ data }: MessageEvent<Answer | Error>) => {
      worker.unref();
      const asked = this.#asked;
      this.#asked = null;
      if (data instanceof Error) asked?.reject(data);
      else asked?.resolve(data);
    };
    worker.onerror = ({ message }) => this.#lose(worker, new Error(`The checkpoint thread failed: ${message}`));
    // A thread can also end without an error.
    worker.addEventListener("close", () => this.#lose(worker, new Error("The checkpoint thread has ended")));
    this.#worker = worker;
    return worker;
  }

  #ask(worker: Worker, request: CheckpointRequest | null): Promise<Answer> {
    const asked = Promise.withResolvers<Answer>();
    this.#asked = asked;
    // While the writer waits for this answer, only the thread may keep the process alive, as at a start after a crash.
    worker.ref();
    try {
      worker.postMessage(request);
    } catch (thrown) {
      this.#lose(worker, thrown);
    }
    return asked.promise;
  }

  #lose(worker: Worker, error: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    worker.unref();
    worker.terminate();
    this.#asked?.reject(error);
    this.#asked = null;
  }
}
