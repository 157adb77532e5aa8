/**
 * The shares of callers in realtime's work: the turns in which frames, steps of replays and late decisions of all
 * sockets are done, the frames that wait for a turn, and the processor time that filters may take.
 */

/** Milliseconds of realtime's work between two turns of the event loop. */
const sliceMs = 4;

/** Ends a turn. A second call does nothing. */
export type EndTurn = () => void;

/** Realtime's share of the event loop: callers take turns, and HTTP is served after a few milliseconds of work. */
export class Turns {
  /** The work that waits, by caller. The caller whose last turn is longest ago stands first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isTaken = false;
  /** Milliseconds that were used since the event loop turned. */
  #spent = 0;
  #isCounted = false;

  /** Whether the slice of this turn of the event loop has time left. */
  get hasTime(): boolean {
    return this.#spent < sliceMs;
  }

  /**
   * Waits for the caller's turn, and answers how to end the turn. The work of a turn waits for nothing but reads of the database.
   * @param caller a user id or an address; "" for the service itself.
   */
  take(caller: string): Promise<EndTurn> {
    return new Promise((resolve) => {
      this.#waiting.getOrInsertComputed(caller, () => []).push(() => resolve(this.#begin()));
      this.#next();
    });
  }

  /** Counts work that was done beside the turns, in milliseconds. */
  count(ms: number): void {
    this.#spent += ms;
    if (this.#isCounted) return;
    this.#isCounted = true;
    setImmediate(() => {
      this.#isCounted = false;
      this.#spent = 0;
      this.#next();
    });
  }

  #begin(): EndTurn {
    this.#isTaken = true;
    const start = performance.now();
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#isTaken = false;
      this.count(performance.now() - start);
      this.#next();
    };
  }

  #next(): void {
    if (this.#isTaken || !this.hasTime) return;
    for (const [caller, work] of this.#waiting) {
      const start = work.shift();
      this.#waiting.delete(caller);
      if (work.length > 0) this.#waiting.set(caller, work);
      start?.();
      return;
    }
  }
}

/** Bytes of frames that may wait in a socket. */
const perSocket = 256 * 1024;

/** Bytes of frames that may wait in all sockets. */
const inAll = 32 * 1024 ** 2;

/** Bytes that a frame takes in memory beside its text, about. */
const frameBytes = 64;

/** The inboxes of all sockets, and the sum of their bytes. */
export class Inboxes {
  readonly #capacity: number;
  /** The inboxes with frames. */
  readonly #waiting = new Set<Inbox>();
  #bytes = 0;

  constructor(capacity = inAll) {
    this.#capacity = capacity;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** An inbox has grown or shrunk by some bytes. */
  count(inbox: Inbox, change: number): void {
    this.#bytes += change;
    if (inbox.bytes > 0) this.#waiting.add(inbox);
    else this.#waiting.delete(inbox);
  }

  /** Ends the sockets with the fullest inboxes until the rest is within the bound; never that of `spared`. */
  shrink(spared: Inbox | null): void {
    while (this.#bytes > this.#capacity) {
      let fullest: Inbox | null = null;
      for (const inbox of this.#waiting)
        if (inbox !== spared && (fullest === null || inbox.bytes > fullest.bytes)) fullest = inbox;
      if (fullest === null) return;
      fullest.overflow();
    }
  }
}

/** The frames of a socket that wait for their turn, bounded in bytes, for each socket and for all sockets. */
export class Inbox {
  readonly #all: Inboxes;
  readonly #onOverflow: () => void;
  readonly #frames: string[] = [];
  #bytes = 0;

  /** @param onOverflow is to end the socket: more has come than may wait. */
  constructor(all: Inboxes, onOverflow: () => void) {
    this.#all = all;
    this.#onOverflow = onOverflow;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes a frame. An empty inbox always has room; the fullest inbox ends instead, so that a flood closes no other socket. */
  put(frame: string): void {
    const bytes = frame.length + frameBytes;
    const isFirst = this.#frames.length === 0;
    if (!isFirst && this.#bytes + bytes > perSocket) {
      this.overflow();
      return;
    }
    this.#frames.push(frame);
    this.#count(bytes);
    this.#all.shrink(isFirst ? this : null);
  }

  take(): string | undefined {
    const frame = this.#frames.shift();
    if (frame !== undefined) this.#count(-frame.length - frameBytes);
    return frame;
  }

  overflow(): void {
    this.clear();
    this.#onOverflow();
  }

  clear(): void {
    this.#frames.length = 0;
    this.#count(-this.#bytes);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#all.count(this, bytes);
  }
}

/** Seconds of a budget that a caller may use at once. */
const burstSeconds = 10;

/** Seconds of a budget that a decision about a change may take. */
const decisionSeconds = 4;

/** With more callers than these, callers with a whole budget are forgotten. */
const manyCallers = 1_000;

interface TimeAccount {
  /** Milliseconds, as of `at`; below zero the caller's filters wait. */
  left: number;
  at: number;
}

/** The processor time that the filters of a caller may take, live and in replays (`limits.filterTime`). */
export class Budgets {
  readonly perSecond: number;
  /** Milliseconds that a decision about a change may take. */
  readonly decisionMs: number;
  readonly #most: number;
  readonly #now: () => number;
  readonly #accounts = new Map<string, TimeAccount>();
  #manyCallers = manyCallers;

  /** @param perSecond milliseconds of processor time in a second. @param now milliseconds that never run backwards. */
  constructor(perSecond: number, now: () => number = () => performance.now()) {
    this.perSecond = perSecond;
    this.decisionMs = perSecond * decisionSeconds;
    this.#most = perSecond * burstSeconds;
    this.#now = now;
  }

  charge(caller: string, ms: number): void {
    this.#accounts.set(caller, { left: Math.max(this.#leftOf(caller) - ms, -this.#most), at: this.#now() });
    if (this.#accounts.size <= this.#manyCallers) return;
    for (const each of this.#accounts.keys()) if (this.#leftOf(each) === this.#most) this.#accounts.delete(each);
    this.#manyCallers = Math.max(manyCallers, this.#accounts.size * 2);
  }

  /** Milliseconds until a caller has processor time left; 0 for now. */
  waitOf(caller: string): number {
    return Math.max(0, (-this.#leftOf(caller) / this.perSecond) * 1_000);
  }

  #leftOf(caller: string): number {
    const account = this.#accounts.get(caller);
    if (account === undefined) return this.#most;
    return Math.min(this.#most, account.left + ((this.#now() - account.at) / 1_000) * this.perSecond);
  }
}
