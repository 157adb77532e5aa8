/**
 * Positions: after a write was answered, the sockets of the caller with live queries learn when their windows are past the write.
 * A client that shows the write before the windows do, knows then that the windows have the write.
 */
import type { LiveSubscriptions } from "./live-subscriptions.ts";

/** Milliseconds between two positions of a socket. */
const everyMs = 200;

export class Positions {
  /** The seq of the newest committed event. */
  readonly #seq: () => number;
  /** The sockets with live queries, by caller. */
  readonly sockets = new Map<string, Set<LiveSubscriptions>>();
  /** The sockets that are to be told, with the seq of the newest write. */
  readonly #due = new Map<LiveSubscriptions, number>();
  #timer: Timer | null = null;

  constructor(seq: () => number) {
    this.#seq = seq;
  }

  add(caller: string, socket: LiveSubscriptions): void {
    this.sockets.getOrInsertComputed(caller, () => new Set()).add(socket);
  }

  delete(caller: string, socket: LiveSubscriptions): void {
    const sockets = this.sockets.get(caller);
    sockets?.delete(socket);
    if (sockets?.size === 0) this.sockets.delete(caller);
    this.#due.delete(socket);
  }

  /**
   * A write of a caller was answered.
   * @param caller a user id or an address; null for writes of unknown callers.
   * @param seq the newest event on disk at the time of the answer; also an event that this process has not heard yet.
   */
  wrote(caller: string | null, seq = this.#seq()): void {
    const sockets =
      caller === null ? [...this.sockets.values()].flatMap((each) => [...each]) : this.sockets.get(caller);
    for (const socket of sockets ?? []) this.#due.set(socket, Math.max(seq, this.#due.get(socket) ?? 0));
    if (this.#due.size > 0) this.#timer ??= this.#next();
  }

  close(): void {
    clearTimeout(this.#timer ?? undefined);
    this.#due.clear();
    this.sockets.clear();
  }

  #next(): Timer {
    const tell = (): void => {
      for (const [socket, seq] of [...this.#due]) if (socket.tellPosition(seq)) this.#due.delete(socket);
      this.#timer = this.#due.size > 0 ? this.#next() : null;
    };
    return setTimeout(tell, everyMs).unref();
  }
}
