/** Answers in flight: the bound on their bytes, the queue before it, and the end of those that no client takes. */
import { BoundedMap, FairGate, type LimitName, overloaded } from "../kernel/index.ts";
import { Room } from "./room.ts";

/** Smaller answers are not counted: the sockets of the system take them at once. */
export const countedBytes = 64 * 1024;
const defaultTiming = {
  /** How long a new answer waits for room. */
  patienceMs: 5_000,
  /** An answer of which the client takes nothing for so long is broken off when others wait for its bytes. */
  stalledMs: 4_000,
  /** How often it is looked for such answers. */
  lookMs: 500,
};
/** New answers that wait for room at a time. */
const maxWaiting = 1_000;
/** Large pieces that wait to be made at a time; of one caller, half of these. */
const maxWaitingTurns = 2_000;
/** Paths of large answers that are remembered. */
const maxPaths = 1_000;

const limit: LimitName = "answers";

/** The memory of an answer in flight. It counts until `release`, which may be called twice. */
export interface Hold {
  /** The client has taken all bytes so far; so many come next. */
  next(bytes: number): void;
  /** The client has taken a part. */
  progressed(): void;
  /** Called once when the answer has to end for the sake of others. */
  onCut: (() => void) | null;
  release(): void;
}

interface Counted {
  readonly caller: string;
  bytes: number;
  progressAt: number;
  readonly cut: () => void;
}

/** Thrown where an answer to a request that may be run again has no room: the request waits for it, and runs again. */
export class NoRoom extends Error {
  override readonly name = "NoRoom";
  readonly bytes: number;

  constructor(bytes: number) {
    super("The answer has no room yet");
    this.bytes = bytes;
  }
}

/**
 * Counts the bytes of answers from the moment they are read until the client has taken them. One caller has at most
 * half of the bound. An answer that is larger than the bound goes alone.
 */
export class Answers {
  readonly #limit: number;
  readonly #room: Room;
  readonly #onLimit: (caller: string) => void;
  readonly #timing: typeof defaultTiming;
  /** In the order of their last progress. */
  readonly #holds = new Set<Counted>();
  /** Paths of large answers, and the sizes of such answers by their URL: another query may have a small one. */
  readonly #large = new BoundedMap<string, true>(maxPaths);
  readonly #sizes = new BoundedMap<string, number>(maxPaths);
  readonly #turns = new FairGate({
    limit,
    message: "Too many large answers are being made; try again in a moment.",
    width: 1,
    share: 1,
    maxWaiting: maxWaitingTurns,
    waitingShare: maxWaitingTurns / 2,
  });
  #new = 0;
  #timer: Timer | null = null;

  /** @param options `limit` in bytes; `onLimit` is told whose answer was broken off. */
  constructor(options: { limit: number; onLimit: (caller: string) => void; timing?: typeof defaultTiming }) {
    this.#limit = options.limit;
    this.#room = new Room(() => options.limit);
    this.#onLimit = options.onLimit;
    this.#timing = options.timing ?? defaultTiming;
  }

  /** Bytes of answers in flight. */
  get bytes(): number {
    return this.#room.bytes;
  }

  /** Remembers that the answer to a URL was large, and so was one at its path. */
  note(url: string, path: string, bytes: number): void {
    this.#large.set(path, true);
    this.#sizes.set(url, bytes);
  }

  /**
   * Whether there is little room by now: a request whose answer is probably large waits before anything is read for it.
   */
  get isFilling(): boolean {
    return this.#room.bytes >= this.#limit / 4;
  }

  /** The size of the last answer to a URL, if it was large; else null. */
  expected(url: string): number | null {
    return this.#sizes.get(url) ?? null;
  }

  /** Whether any answer was large so far. */
  get hasLarge(): boolean {
    return this.#large.size > 0;
  }

  /** Whether the answer of a path was large before. */
  isLarge(path: string): boolean {
    return this.#large.get(path) === true;
  }

  /**
   * Starts to make a large answer, or a piece of one, in a turn of the event loop of its own: between two of them other
   * requests are served, and many large answers at once do not hold up small ones. Work that goes on later, on a
   * thread, keeps no turn.
   * @throws AppError `unavailable` when too many wait.
   */
  async inTurn<T>(caller: string, make: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const release = await this.#turns.take(caller, signal);
    setImmediate(release);
    return make();
  }

  hasRoom(caller: string, bytes: number): boolean {
    return this.#room.has({ caller, bytes });
  }

  /** Counts an answer, also beyond the bound. */
  hold(caller: string, bytes: number): Hold {
    const hold: Hold = {
      onCut: null,
      next: (more) => this.#count(counted, more),
      progressed: () => this.#progressed(counted),
      release: () => {
        hold.onCut = null;
        if (this.#holds.delete(counted)) this.#room.add({ caller, bytes: -counted.bytes });
        this.#room.serve();
      },
    };
    const counted: Counted = {
      caller,
      bytes: 0,
      progressAt: 0,
      cut: () => {
        const { onCut } = hold;
        hold.release();
        onCut?.();
      },
    };
    this.#holds.add(counted);
    this.#count(counted, bytes);
    return hold;
  }

  /**
   * Waits for room for a new answer, and takes it.
   * @throws AppError `unavailable` after some seconds, or when too many wait.
   */
  async take(caller: string, bytes: number, signal: AbortSignal): Promise<Hold> {
    if (!this.hasRoom(caller, bytes)) {
      if (this.#new >= maxWaiting) throw tooMany();
      this.#new += 1;
      try {
        return await this.#wait({ caller, bytes, signal }, this.#timing.patienceMs);
      } finally {
        this.#new -= 1;
      }
    }
    return this.hold(caller, bytes);
  }

  /**
   * Waits until an answer that has begun may go on with so many bytes, however long that takes: the server closes a
   * connection on which nothing moves. Answers the hold that takes the place of the one before.
   */
  goOn(caller: string, bytes: number, signal: AbortSignal): Promise<Hold> {
    return this.#wait({ caller, bytes, signal }, null);
  }

  #wait(wanted: { caller: string; bytes: number; signal: AbortSignal }, patienceMs: number | null): Promise<Hold> {
    this.#timer ??= setInterval(() => this.#cutStalled(), this.#timing.lookMs).unref();
    const patience = patienceMs === null ? null : { ms: patienceMs, error: tooMany };
    return this.#room.wait(wanted, () => this.hold(wanted.caller, wanted.bytes), patience);
  }

  #cutStalled(): void {
    const { waiting } = this.#room;
    if (waiting.length === 0) {
      if (this.#timer !== null) clearInterval(this.#timer);
      this.#timer = null;
      return;
    }
    const now = performance.now();
    const callers = new Set(waiting.map(({ caller }) => caller));
    const isFull = waiting.some(({ bytes }) => !this.#room.fits(bytes));
    for (const counted of [...this.#holds]) {
      if (now - counted.progressAt < this.#timing.stalledMs) break;
      if (counted.bytes === 0 || !(isFull || callers.has(counted.caller))) continue;
      this.#onLimit(counted.caller);
      counted.cut();
    }
  }

  #count(counted: Counted, bytes: number): void {
    if (!this.#holds.has(counted)) return;
    const hasFreed = bytes < counted.bytes;
    this.#room.add({ caller: counted.caller, bytes: bytes - counted.bytes });
    counted.bytes = bytes;
    this.#progressed(counted);
    if (hasFreed) this.#room.serve();
  }

  #progressed(counted: Counted): void {
    if (!this.#holds.delete(counted)) return;
    counted.progressAt = performance.now();
    this.#holds.add(counted);
  }
}

function tooMany(): Error {
  return overloaded(limit, "Too many large answers are on their way. Try again in a moment.");
}
