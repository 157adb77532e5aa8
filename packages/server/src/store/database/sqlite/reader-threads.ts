/**
 * Reader threads: reads that would block the event loop, each read on a thread and in one snapshot.
 *
 * A read begins as a short read. A read that runs longer than `shortMs` becomes a long read, and long reads may use all
 * threads but one. A read without a place among the long reads goes on until another read waits for a thread; then the
 * thread stops the read, and the read runs again from the beginning when a long read has ended. So a new read waits little
 * more than `shortMs`, whatever others read. A caller with a stopped read begins no other read before that read has ended.
 */
import { Admission, AppError, callerGone, overloaded, type Place } from "../../../base/kernel/index.ts";
import type { PausableReads, Waiter } from "../store.ts";
import { asUnavailable, stopping } from "./errors.ts";
import { ThreadConnection } from "./thread-connection.ts";

/** Long reads that run at the same time, of different callers. */
const longWidth = 2;
/** A read that runs for this time is a long read. */
const shortMs = 25;
/** Interval of the looks at a long read, and at whether all reads have ended. */
const lookMs = 5;
/** How long an idle thread is kept, and an idle thread that keeps what it has read. */
const [keepMs, keepReadMs] = [30_000, 600_000];

const tooMuch = "Too much is being looked at already; try again in a moment.";

export interface ReaderThreadsOptions {
  path: string;
  /** The module that the threads run; see `ThreadConnection`. */
  entry: string;
  /** The most reads that may wait, over all callers. */
  maxWaiting: number;
  /** The most reads of one caller that may wait. */
  waitingShare: number;
  /** How long a read may wait for a turn, and how long the read may run. */
  limitMs: number;
  /** Whether an additional thread is kept for short reads. Short reads may stop a long read, and `work` is then called again. */
  keepsShortThread?: boolean;
  /**
   * Whether all reads run on a single thread, which keeps in memory what tasks have read: a read that no caller waits for is stopped, and
   * the thread stays.
   */
  isSingle?: boolean;
}

export type ThreadWork<T> = (thread: ThreadConnection) => Promise<T>;
type OnLook = (thread: ThreadConnection) => void;

/** A read that asks for a thread. */
interface ThreadTurn {
  readonly caller: string;
  /** Aborted when no caller waits for the read any more, or the time of the read is over. */
  readonly signal: AbortSignal;
  /** From now on, the time limit applies to the wait for a thread. */
  waits(): void;
  /** From now on, the time limit applies to the run. */
  runs(): void;
}

/** Runs one read of each caller at a time; the caller that has recently used the least time comes next. */
export class ReaderThreads implements PausableReads {
  readonly #options: ReaderThreadsOptions;
  readonly #admission: Admission;
  /** The threads that may run long reads; null if no thread is kept for short reads. */
  readonly #long: Admission | null;
  /** Callers with a stopped read that has not run again. */
  readonly #stopped = new Set<string>();
  readonly #busy = new Set<ThreadConnection>();
  readonly #idle = new Map<ThreadConnection, Timer>();
  /** All reads, including reads that no caller waits for any more. */
  readonly #all = new Set<Promise<unknown>>();
  /** While the log must start over, no read begins. */
  #pause: PromiseWithResolvers<void> | null = null;
  #isClosing = false;
  #isOutOfTime = false;

  constructor(options: ReaderThreadsOptions) {
    this.#options = options;
    const { maxWaiting, waitingShare, keepsShortThread = false, isSingle = false } = options;
    const bounds = { limit: "queries", message: tooMuch, share: 1, maxWaiting, waitingShare } as const;
    const width = isSingle ? 1 : keepsShortThread ? longWidth + 1 : longWidth;
    this.#admission = new Admission({ ...bounds, width });
    this.#long = keepsShortThread ? new Admission({ ...bounds, width: longWidth }) : null;
  }

  /** @throws AppError `unavailable` when too many reads wait, the read takes too long, the log needs room, or the disk fails. */
  async run<T>(work: ThreadWork<T>, { caller, signal }: Pick<Waiter, "caller" | "signal">): Promise<T> {
    if (signal.aborted) throw callerGone();
    const { limitMs } = this.#options;
    const end = new AbortController();
    const ended = Promise.withResolvers<never>();
    const giveUp = (reason: AppError): void => {
      ended.reject(reason);
      end.abort(reason);
    };
    const leave = (): void => giveUp(callerGone());
    signal.addEventListener("abort", leave);
    let timer: Timer | undefined;
    const limit = (reason: () => AppError): void => {
      clearTimeout(timer);
      timer = Number.isFinite(limitMs) ? setTimeout(() => giveUp(reason()), limitMs) : undefined;
    };
    const waits = (): void => limit(() => overloaded("queries", tooMuch));
    const runs = (): void => limit(() => this.#tookTooLong());
    waits();
    const reading = this.#inTurn(work, { caller, signal: end.signal, waits, runs });
    this.#all.add(reading);
    reading.catch(() => undefined).finally(() => this.#all.delete(reading));
    try {
      // When the caller has gone, the caller's place in the queue is free at once; a running read keeps its thread until
      // the thread has ended.
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
    while (this.#busy.size > 0 && !this.#isClosing) await Bun.sleep(lookMs);
  }

  resume(): void {
    this.#pause?.resolve();
    this.#pause = null;
  }

  cutOff(reason: AppError): void {
    for (const thread of this.#busy) thread.abandon(reason);
  }

  /** From now on no read begins; running reads are ended. */
  giveUp(): void {
    this.#isClosing = true;
    this.resume();
    this.#isOutOfTime = true;
    this.cutOff(stopping());
  }

  /** From now on no read begins. Resolves when no read runs. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.resume();
    await Promise.allSettled(this.#all);
    await Promise.all([...this.#idle.keys()].map((thread) => this.#discard(thread)));
  }

  #tookTooLong(): AppError {
    const seconds = this.#options.limitMs / 1_000;
    const message = `This takes longer than ${seconds} seconds to look up; narrow it down.`;
    return new AppError("unavailable", message, { limit: "queries" });
  }

  async #inTurn<T>(work: ThreadWork<T>, turn: ThreadTurn): Promise<T> {
    const long = this.#long;
    const read = (): Promise<T> => this.#admission.run(() => this.#read(work, turn, null), turn);
    if (long === null) return read();
    const first = await this.#admission.run(() => this.#asShort(work, turn, long), turn);
    if (first !== null) return first.outcome;
    this.#stopped.add(turn.caller);
    turn.waits();
    try {
      return await long.run(read, turn);
    } finally {
      this.#stopped.delete(turn.caller);
    }
  }

  /** Answers null when the read was stopped, or did not begin because another read of the caller was stopped. */
  async #asShort<T>(work: ThreadWork<T>, turn: ThreadTurn, long: Admission): Promise<{ readonly outcome: T } | null> {
    if (this.#stopped.has(turn.caller)) return null;
    const end = new AbortController();
    /** The place of the read among the long reads. */
    const granted: Place[] = [];
    let isAsked = false;
    let isStopped = false;
    const onLook: OnLook = (thread) => {
      if (!isAsked) {
        isAsked = true;
        long.take({ caller: turn.caller, signal: end.signal }).then(
          (place) => (end.signal.aborted ? place.release() : granted.push(place)),
          // The queue is full: the read goes on without a place.
          () => undefined,
        );
      } else if (granted.length === 0 && this.#admission.isWanted) {
        isStopped = true;
        thread.stop();
      }
    };
    try {
      return { outcome: await this.#read(work, turn, onLook) };
    } catch (thrown) {
      if (!isStopped || turn.signal.aborted || this.#isClosing) throw thrown;
      return null;
    } finally {
      end.abort();
      for (const place of granted) place.release();
    }
  }

  /** @param onLook is called every few milliseconds after the read has become a long read. */
  async #read<T>(work: ThreadWork<T>, { signal, runs }: ThreadTurn, onLook: OnLook | null): Promise<T> {
    while (this.#pause !== null) await this.#pause.promise;
    runs();
    if (signal.aborted) throw signal.reason;
    if (this.#isClosing) throw stopping();
    const thread = this.#take();
    const { isSingle = false } = this.#options;
    const abandon = (): void => (isSingle ? thread.stop() : thread.abandon(signal.reason));
    signal.addEventListener("abort", abandon);
    const longFrom = performance.now() + shortMs;
    const look = (): void => {
      if (performance.now() >= longFrom) onLook?.(thread);
    };
    const looking = onLook === null ? undefined : setInterval(look, lookMs);
    try {
      return await work(thread);
    } finally {
      clearInterval(looking);
      signal.removeEventListener("abort", abandon);
      await this.#giveBack(thread);
    }
  }

  async #giveBack(thread: ThreadConnection): Promise<void> {
    if (!thread.isUsable || this.#isClosing) {
      const closed = thread.close();
      // At the end, no caller can wait for a statement that does not end.
      if (!this.#isOutOfTime) await closed;
    }
    // An abandoned statement reads until the end, so the thread stays busy until then.
    this.#busy.delete(thread);
    if (!thread.isUsable || this.#isClosing) return;
    thread.resume();
    this.#idle.set(
      thread,
      setTimeout(() => void this.#discard(thread), this.#options.isSingle ? keepReadMs : keepMs).unref(),
    );
  }

  #take(): ThreadConnection {
    // The thread of an idle connection may have ended.
    const kept = this.#idle.keys().find(({ isUsable }) => isUsable);
    if (kept !== undefined) {
      clearTimeout(this.#idle.get(kept));
      this.#idle.delete(kept);
    }
    const thread = kept ?? new ThreadConnection(this.#options.path, this.#options.entry);
    this.#busy.add(thread);
    return thread;
  }

  async #discard(thread: ThreadConnection): Promise<void> {
    clearTimeout(this.#idle.get(thread));
    this.#idle.delete(thread);
    await thread.close();
  }
}
