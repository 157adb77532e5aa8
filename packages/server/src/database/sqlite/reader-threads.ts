/** Reader threads: reads that would hold up the event loop, each on a thread and of one moment. */
import { AppError, callerGone, FairGate, overloaded } from "../../kernel/index.ts";
import type { PausableReads, Waiter } from "../store.ts";
import { asUnavailable, stopping } from "./errors.ts";
import { ThreadConnection } from "./thread-connection.ts";

/** Threads; one caller has half of them at most, so that there is always one for the others. */
const width = 2;
/** How often it is looked whether all reads have ended. */
const drainLookMs = 5;
/** How long a thread without work is kept. */
const keepMs = 30_000;

const tooMuch = "Too much is being looked at already; try again in a moment.";

export interface ReaderThreadsOptions {
  /** Of the database file. */
  path: string;
  /** The module that the threads run; see `ThreadConnection`. */
  entry: string;
  /** Reads that wait, of all callers. */
  maxWaiting: number;
  /** Of these, at most so many of one caller. */
  waitingShare: number;
  /** How long a read may wait for its turn, and how long it may run. */
  limitMs: number;
}

/** Two reads run at a time, one of each caller; the caller who has used the least time of late comes next. */
export class ReaderThreads implements PausableReads {
  readonly #path: string;
  readonly #entry: string;
  readonly #limitMs: number;
  readonly #gate: FairGate;
  readonly #busy = new Set<ThreadConnection>();
  readonly #idle = new Map<ThreadConnection, Timer>();
  /** Also those that nobody waits for any more. */
  readonly #all = new Set<Promise<unknown>>();
  /** While the log must start over, nothing begins. */
  #pause: PromiseWithResolvers<void> | null = null;
  #isClosing = false;
  #isOutOfTime = false;

  constructor({ path, entry, limitMs, maxWaiting, waitingShare }: ReaderThreadsOptions) {
    this.#path = path;
    this.#entry = entry;
    this.#limitMs = limitMs;
    const share = width / 2;
    this.#gate = new FairGate({ limit: "queries", message: tooMuch, width, share, maxWaiting, waitingShare });
  }

  /**
   * @throws AppError `unavailable` when too many wait, it takes too long, the log needs room, or the disk cannot be
   * read.
   */
  async run<T>(
    work: (thread: ThreadConnection) => Promise<T>,
    { caller, signal }: Pick<Waiter, "caller" | "signal">,
  ): Promise<T> {
    if (signal.aborted) throw callerGone();
    const end = new AbortController();
    const ended = Promise.withResolvers<never>();
    const giveUp = (reason: AppError): void => {
      ended.reject(reason);
      end.abort(reason);
    };
    const leave = (): void => giveUp(callerGone());
    signal.addEventListener("abort", leave);
    let timer = this.#after(() => giveUp(overloaded("queries", tooMuch)));
    const begin = async (): Promise<T> => {
      while (this.#pause !== null) await this.#pause.promise;
      clearTimeout(timer);
      timer = this.#after(() => giveUp(this.#tookTooLong()));
      return this.#read(work, end.signal);
    };
    const reading = this.#gate.run(caller, begin, end.signal);
    this.#all.add(reading);
    reading.catch(() => undefined).finally(() => this.#all.delete(reading));
    try {
      // When the caller has gone, its place in the queue is free at once; a read that runs keeps its thread until the
      // thread has ended.
      return await Promise.race([reading, ended.promise]);
    } catch (thrown) {
      throw asUnavailable(thrown);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
    }
  }

  async drain(): Promise<void> {
    this.#pause ??= Promise.withResolvers();
    while (this.#busy.size > 0 && !this.#isClosing) await new Promise((resolve) => setTimeout(resolve, drainLookMs));
  }

  resume(): void {
    this.#pause?.resolve();
    this.#pause = null;
  }

  cutOff(reason: AppError): void {
    for (const thread of this.#busy) thread.abandon(reason);
  }

  /** From now on nothing begins; running reads are ended. */
  giveUp(): void {
    this.#isClosing = true;
    this.resume();
    this.#isOutOfTime = true;
    this.cutOff(stopping());
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
    const message = `This takes longer than ${seconds} seconds to look up; narrow it down.`;
    return new AppError("unavailable", message, { limit: "queries" });
  }

  async #read<T>(work: (thread: ThreadConnection) => Promise<T>, signal: AbortSignal): Promise<T> {
    if (signal.aborted) throw signal.reason;
    if (this.#isClosing) throw stopping();
    const thread = this.#take();
    const abandon = (): void => thread.abandon(signal.reason);
    signal.addEventListener("abort", abandon);
    try {
      return await work(thread);
    } finally {
      signal.removeEventListener("abort", abandon);
      if (!thread.isUsable || this.#isClosing) {
        const closed = thread.close();
        // At the end nobody can wait for a statement that does not end.
        if (!this.#isOutOfTime) await closed;
        // A statement that was given up reads until it ends, so the thread is busy until then.
        this.#busy.delete(thread);
      } else {
        this.#busy.delete(thread);
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
    const thread = kept ?? new ThreadConnection(this.#path, this.#entry);
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
