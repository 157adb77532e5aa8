import { AppError, Gate } from "../kernel/index.ts";
import { asUnavailable, stopping } from "./errors.ts";
import { ThreadConnection } from "./thread-connection.ts";
import type { Reader } from "./types.ts";

/** How often it is looked whether all reads have ended. */
const drainLookMs = 5;
/** How long a thread without work is kept. */
const keepMs = 30_000;

function tooMuch(): AppError {
  return new AppError("unavailable", "Too much is being looked at already; try again in a moment.");
}

function nobodyWaits(): AppError {
  return new AppError("bad_request", "Whoever asked for this has gone.");
}

/** Reads that would hold up the event loop, each on a thread and of one moment: two at a time, some others wait. */
export class ReaderThreads {
  readonly #path: string;
  readonly #limitMs: number;
  readonly #maxReads: number;
  readonly #gate = new Gate(2);
  readonly #busy = new Set<ThreadConnection>();
  readonly #idle = new Map<ThreadConnection, Timer>();
  /** For which somebody waits. */
  readonly #awaited = new Set<Promise<unknown>>();
  /** Also those that nobody waits for any more. */
  readonly #all = new Set<Promise<unknown>>();
  /** While the log must start over, nothing begins. */
  #pause: PromiseWithResolvers<void> | null = null;
  #isClosing = false;
  #isOutOfTime = false;

  /**
   * @param options `path` of the database file; `maxReads`, how many may run or wait; `limitMs`, how long a read may wait
   * for its turn, and how long it may run.
   */
  constructor(options: { path: string; maxReads: number; limitMs: number }) {
    this.#path = options.path;
    this.#maxReads = options.maxReads;
    this.#limitMs = options.limitMs;
  }

  /**
   * @param signal aborted when nobody waits for the answer any more.
   * @throws AppError `unavailable` when too many wait, it takes too long, or the disk cannot be read.
   */
  async run<T>(work: (reader: Reader) => Promise<T>, signal: AbortSignal): Promise<T> {
    if (signal.aborted) throw nobodyWaits();
    if (this.#awaited.size >= this.#maxReads) throw tooMuch();
    const end = new AbortController();
    const ended = Promise.withResolvers<never>();
    const giveUp = (reason: AppError): void => {
      ended.reject(reason);
      end.abort(reason);
    };
    const leave = (): void => giveUp(nobodyWaits());
    signal.addEventListener("abort", leave);
    let timer = this.#after(() => giveUp(tooMuch()));
    const reading = this.#gate.run(async () => {
      while (this.#pause !== null) await this.#pause.promise;
      clearTimeout(timer);
      timer = this.#after(() => giveUp(this.#tookTooLong()));
      return this.#read(work, end.signal);
    });
    this.#awaited.add(reading);
    this.#all.add(reading);
    reading.catch(() => undefined).finally(() => this.#all.delete(reading));
    try {
      // Who has gone makes room at once; what ran for them keeps its place until its thread has ended.
      return await Promise.race([reading, ended.promise]);
    } catch (thrown) {
      throw asUnavailable(thrown);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
      this.#awaited.delete(reading);
    }
  }

  /** Until `resume` nothing begins, so that the log can start over. Resolves once nothing runs. */
  async drain(): Promise<void> {
    this.#pause ??= Promise.withResolvers();
    while (this.#busy.size > 0 && !this.#isClosing) await new Promise((resolve) => setTimeout(resolve, drainLookMs));
  }

  resume(): void {
    this.#pause?.resolve();
    this.#pause = null;
  }

  /** From now on nothing begins; what runs is ended. */
  giveUp(): void {
    this.#isClosing = true;
    this.resume();
    this.#isOutOfTime = true;
    for (const thread of this.#busy) thread.abandon(stopping());
  }

  /** From now on nothing begins. Resolves once nothing runs. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.resume();
    await Promise.allSettled(this.#all);
    await Promise.all([...this.#idle.keys()].map((thread) => this.#discard(thread)));
  }

  #after(effect: () => void): Timer | undefined {
    return Number.isFinite(this.#limitMs) ? setTimeout(effect, this.#limitMs) : undefined;
  }

  #tookTooLong(): AppError {
    const seconds = this.#limitMs / 1_000;
    return new AppError("unavailable", `This takes longer than ${seconds} seconds to look up; narrow it down.`);
  }

  async #read<T>(work: (reader: Reader) => Promise<T>, signal: AbortSignal): Promise<T> {
    if (signal.aborted) throw signal.reason;
    if (this.#isClosing) throw stopping();
    const thread = this.#take();
    let isSpent = false;
    const abandon = (): void => {
      isSpent = true;
      thread.abandon(signal.reason);
    };
    signal.addEventListener("abort", abandon);
    try {
      await thread.run("BEGIN");
      const answer = await work(thread);
      await thread.run("COMMIT");
      return answer;
    } catch (thrown) {
      isSpent = true;
      throw thrown;
    } finally {
      signal.removeEventListener("abort", abandon);
      this.#busy.delete(thread);
      if (isSpent || this.#isClosing) {
        const closed = thread.close();
        // At the end nobody can wait for a statement that does not end.
        if (!this.#isOutOfTime) await closed;
      } else {
        this.#keep(thread);
      }
    }
  }

  #take(): ThreadConnection {
    const [kept] = this.#idle.keys();
    if (kept !== undefined) {
      clearTimeout(this.#idle.get(kept));
      this.#idle.delete(kept);
    }
    const thread = kept ?? new ThreadConnection(this.#path);
    this.#busy.add(thread);
    return thread;
  }

  #keep(thread: ThreadConnection): void {
    const timer = setTimeout(() => void this.#discard(thread), keepMs);
    timer.unref();
    this.#idle.set(thread, timer);
  }

  async #discard(thread: ThreadConnection): Promise<void> {
    clearTimeout(this.#idle.get(thread));
    this.#idle.delete(thread);
    await thread.close();
  }
}
