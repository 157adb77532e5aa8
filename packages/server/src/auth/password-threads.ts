/** Password threads: start with the first password, and end when there was none for a while. */
import { AppError, threadEntry } from "../kernel/index.ts";
import type { PasswordReply, PasswordTask } from "./password-worker.ts";

/** How long a thread without work is kept. */
const keepMs = 30_000;

function stopping(): AppError {
  return new AppError("unavailable", "The service is stopping.");
}

/** A thread that computes one password at a time. */
class PasswordThread {
  readonly #worker: Worker;
  #running: PromiseWithResolvers<string | boolean> | null = null;
  /** False once the thread has failed or was ended. */
  isUsable = true;

  constructor() {
    this.#worker = new Worker(threadEntry("auth/password-worker"), { smol: true, ref: false });
    this.#worker.onmessage = ({ data }: MessageEvent<PasswordReply>) => {
      if ("result" in data) this.#settle((running) => running.resolve(data.result));
      else this.#settle((running) => running.reject(new Error(`The password was not hashed: ${data.error}`)));
    };
    this.#worker.onerror = ({ message }) => this.end(new Error(`The password thread failed: ${message}`));
    this.#worker.addEventListener("close", () => this.end(new Error("The password thread has ended")));
  }

  run(task: PasswordTask): Promise<string | boolean> {
    const running = Promise.withResolvers<string | boolean>();
    this.#running = running;
    // A command that waits for nothing else must not exit before the answer; a thread without work keeps no process alive.
    this.#worker.ref();
    this.#worker.postMessage(task);
    return running.promise;
  }

  /** Ends the thread. A task that runs is rejected with `reason`. */
  end(reason: Error): void {
    if (!this.isUsable) return;
    this.isUsable = false;
    this.#settle((running) => running.reject(reason));
    this.#worker.terminate();
  }

  #settle(effect: (running: PromiseWithResolvers<string | boolean>) => void): void {
    const running = this.#running;
    this.#running = null;
    this.#worker.unref();
    if (running !== null) effect(running);
  }
}

/** The threads on which passwords are computed. How many run at a time is the caller's choice: each task takes one. */
export class PasswordThreads {
  readonly #idle = new Map<PasswordThread, Timer>();
  readonly #busy = new Set<PasswordThread>();
  #isClosed = false;

  /** @throws AppError `unavailable` after `close`; Error when the thread fails. */
  async run(task: PasswordTask): Promise<string | boolean> {
    if (this.#isClosed) throw stopping();
    const thread = this.#take();
    try {
      return await thread.run(task);
    } finally {
      this.#busy.delete(thread);
      if (thread.isUsable) this.#keep(thread);
    }
  }

  /** Ends all threads. Tasks that run are rejected with `unavailable`. */
  close(): void {
    this.#isClosed = true;
    for (const timer of this.#idle.values()) clearTimeout(timer);
    for (const thread of [...this.#idle.keys(), ...this.#busy]) thread.end(stopping());
    this.#idle.clear();
  }

  /** The thread that was used last, so that the others become old and end. */
  #take(): PasswordThread {
    const kept = [...this.#idle.keys()].findLast((thread) => thread.isUsable);
    if (kept !== undefined) {
      clearTimeout(this.#idle.get(kept));
      this.#idle.delete(kept);
    }
    const thread = kept ?? new PasswordThread();
    this.#busy.add(thread);
    return thread;
  }

  #keep(thread: PasswordThread): void {
    const end = (): void => {
      this.#idle.delete(thread);
      thread.end(stopping());
    };
    this.#idle.set(thread, setTimeout(end, keepMs).unref());
  }
}
