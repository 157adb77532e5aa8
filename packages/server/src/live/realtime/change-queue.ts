/**
 * Change queue: the changes for a class of listeners, in the order of the log. The class is that of a read rule, or of
 * a filter.
 *
 * A change is decided and told at once, in the turn of the event loop in which the change is on disk, if that is quick.
 * Otherwise the change waits in the queue: no write waits for a filter. Changes that wait take turns with realtime's
 * other work, and a decision that is too long for the event loop is made on a reader thread.
 */

import { AppError } from "../../base/kernel/index.ts";
import type { LoggedEvent } from "../../store/events/index.ts";
import { TooSlow } from "./reader-table.ts";
import type { Telling } from "./tellings.ts";
import type { Turns } from "./turns.ts";

/** The listeners of a queue, and their decisions. */
export interface ListenerClass {
  /** The caller whose turn the work takes; "" for the service. */
  readonly caller: string;
  /** Changes with the definitions. */
  readonly epoch: number;
  /** Milliseconds until the listeners may use processor time again; 0 for now. */
  wait(): number;
  /**
   * A change by the definitions and rules of this moment; null if no listener of the class is to hear of the change.
   * @throws Outdated.
   */
  telling(event: LoggedEvent): Telling | null;
  /** Decides and sends, within some milliseconds. Nothing is sent before everything is decided. @throws TooSlow. */
  tell(telling: Telling): void;
  /**
   * Like `tell`, with decisions of a reader thread. Answers the milliseconds that the thread took.
   * @throws TooSlow beyond the time that a decision may take; AppError `unavailable` when the threads have too much to do.
   */
  tellFromThread(telling: Telling): Promise<number>;
  /** The queue cannot go on. */
  fail(reason: unknown): void;
}

/** The changes in a queue are too many, or wait for too long. */
export class TooLate extends Error {
  override readonly name = "TooLate";
}

/** The definitions have changed since a change: its text has fields that are gone. The log tells the change as a replay does. */
export class Outdated extends Error {
  override readonly name = "Outdated";
  readonly seq: number;

  constructor(seq: number) {
    super();
    this.seq = seq;
  }
}

/** A change that waits for so long, because its listeners have no processor time left, ends their subscriptions. */
const longestWaitMs = 10_000;
/** Characters of changes that may wait in a queue. */
const maxWaiting = 16 * 1024 ** 2;
/** A decision of a thread that takes less is for the event loop again. */
export const quickMs = 2;
/** Milliseconds that a read rule may take on a thread to decide about a change. */
export const ruleMs = 10_000;
/** Milliseconds before busy threads are asked again. */
const retryMs = 100;

/** Asks reader threads until a thread is free. @throws the errors of `ask`, other than `unavailable`. */
export async function whenFree<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.code !== "unavailable") throw thrown;
  }
  await Bun.sleep(retryMs);
  return whenFree(ask);
}

interface Waiting {
  readonly event: LoggedEvent;
  readonly size: number;
  readonly since: number;
}

export class ChangeQueue {
  readonly #class: ListenerClass;
  readonly #turns: Turns;
  #waiting: Waiting[] = [];
  #size = 0;
  /** Whether the last decision was too long for the event loop. */
  #isSlow = false;
  #isDraining = false;

  constructor(listeners: ListenerClass, turns: Turns) {
    this.#class = listeners;
    this.#turns = turns;
  }

  /** The seq of the oldest change that was not told yet; null when nothing waits. */
  get nextSeq(): number | null {
    return this.#waiting[0]?.event.seq ?? null;
  }

  /** Tells a change now or later. */
  publish(telling: Telling): void {
    const isQuick = this.#waiting.length === 0 && !this.#isSlow && this.#turns.hasTime && this.#class.wait() === 0;
    if (isQuick) {
      const start = performance.now();
      const isDone = this.#tryNow(telling);
      this.#turns.count(performance.now() - start);
      if (isDone) return;
    }
    this.#wait(telling.event);
  }

  /** The last listener has gone. */
  clear(): void {
    this.#waiting = [];
    this.#size = 0;
  }

  /** Decides on the event loop. Answers false if that is too long. */
  #tryNow(telling: Telling): boolean {
    try {
      this.#class.tell(telling);
    } catch (thrown) {
      if (thrown instanceof TooSlow) this.#isSlow = true;
      else this.#fail(thrown);
    }
    return !this.#isSlow;
  }

  #wait(event: LoggedEvent): void {
    // The record before the change is kept beside its text.
    const size = event.toText().length * 2;
    this.#waiting.push({ event, size, since: performance.now() });
    this.#size += size;
    if (this.#size > maxWaiting && this.#waiting.length > 1) this.#fail(new TooLate());
    else if (!this.#isDraining) void this.#drain();
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    try {
      for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) await this.#step(next);
    } catch (thrown) {
      this.#fail(thrown);
    } finally {
      this.#isDraining = false;
    }
  }

  /** Tells the oldest change, or waits. */
  async #step(next: Waiting): Promise<void> {
    const wait = this.#class.wait();
    if (wait > 0) {
      if (performance.now() - next.since > longestWaitMs) throw new TooLate();
      return Bun.sleep(Math.min(wait, longestWaitMs));
    }
    const end = await this.#turns.take(this.#class.caller);
    const { epoch } = this.#class;
    try {
      // The listeners may have gone meanwhile.
      if (this.#waiting[0] !== next) return;
      const telling = this.#class.telling(next.event);
      if (telling !== null && (this.#isSlow || !this.#tryNow(telling))) {
        end();
        this.#isSlow = (await whenFree(() => this.#class.tellFromThread(telling))) > quickMs;
      }
    } catch (thrown) {
      // A statement of former definitions: the change is decided anew.
      if (epoch === this.#class.epoch) throw thrown;
      return;
    } finally {
      end();
    }
    this.#told(next);
  }

  #told(change: Waiting): void {
    if (this.#waiting[0] !== change) return;
    this.#waiting.shift();
    this.#size -= change.size;
  }

  #fail(reason: unknown): void {
    // A subscription that goes on from the log looks at `nextSeq`.
    this.#class.fail(reason);
    this.clear();
  }
}
