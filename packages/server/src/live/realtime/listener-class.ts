/**
 * Listener class: the live subscriptions of a collection that are decided together, and the changes that these
 * subscriptions are still to hear, in the order of the log. A class is all subscriptions without a filter, decided by
 * the read rule and the rules of fields, or the subscriptions that share a filter.
 *
 * A change is decided and told at once, in the turn of the event loop in which the change is on disk, if that is quick.
 * Otherwise the change waits in the queue of the class: no write waits for a filter. Changes that wait take turns with
 * realtime's other work, and a decision that is too long for the event loop is made on a reader thread.
 */

import type { LoggedEvent } from "../../store/events/index.ts";
import { type LiveListener, LiveListeners } from "./audience.ts";
import { type Filter, type FilterOptions, quickMs } from "./filter.ts";
import { Outdated, type PerListenerEvent } from "./per-listener-events.ts";
import { TooLate, TooSlow, type Verdicts, whenFree } from "./reader-table.ts";

/** A change that waits for so long, because its listeners have no processor time left, ends their subscriptions. */
const longestWaitMs = 10_000;
/** Characters of changes that may wait in a queue. */
const maxWaiting = 16 * 1024 ** 2;
/** Milliseconds that a read rule may take on a thread to decide about a change. */
const ruleMs = 10_000;

interface Waiting {
  readonly event: LoggedEvent;
  readonly size: number;
  readonly since: number;
}

export class ListenerClass {
  readonly live = new LiveListeners();
  readonly #filter: Filter | null;
  readonly #options: FilterOptions;
  #waiting: Waiting[] = [];
  #size = 0;
  /** Whether the last decision was too long for the event loop. */
  #isSlow = false;
  #isDraining = false;

  /** @param filter of all subscriptions of the class, or null. */
  constructor(filter: Filter | null, options: FilterOptions) {
    this.#filter = filter;
    this.#options = options;
  }

  /** The seq of the oldest change that was not told yet; null when nothing waits. */
  get nextSeq(): number | null {
    return this.#waiting[0]?.event.seq ?? null;
  }

  /** Tells a change now or later. */
  publish(telling: PerListenerEvent): void {
    const { turns } = this.#options;
    const isQuick = this.#waiting.length === 0 && !this.#isSlow && turns.hasTime && this.#payer().wait === 0;
    if (isQuick) {
      const start = performance.now();
      const isDone = this.#tryNow(telling);
      turns.count(performance.now() - start);
      if (isDone) return;
    }
    this.#wait(telling.event);
  }

  /** The last listener has gone. */
  clear(): void {
    this.#waiting = [];
    this.#size = 0;
  }

  /** The caller whose turn the work takes, with the milliseconds until then. A rule is the operator's: no caller pays. */
  #payer(): { caller: string; wait: number } {
    return this.#filter?.payer() ?? { caller: "", wait: 0 };
  }

  /** Decides on the event loop. Answers false if that is too long. */
  #tryNow(telling: PerListenerEvent): boolean {
    try {
      this.#tell(telling);
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
    const { collections, turns } = this.#options;
    const { caller, wait } = this.#payer();
    if (wait > 0) {
      if (performance.now() - next.since > longestWaitMs) throw new TooLate();
      return Bun.sleep(Math.min(wait, longestWaitMs));
    }
    const end = await turns.take(caller);
    const { epoch } = collections;
    try {
      // The listeners may have gone meanwhile.
      if (this.#waiting[0] !== next) return;
      const telling = this.live.size === 0 ? null : this.#options.telling(next.event);
      if (telling !== null && (this.#isSlow || !this.#tryNow(telling))) {
        end();
        this.#isSlow = (await whenFree(() => this.#tellFromThread(telling))) > quickMs;
      }
    } catch (thrown) {
      // A statement of former definitions: the change is decided anew.
      if (epoch === collections.epoch) throw thrown;
      return;
    } finally {
      end();
    }
    if (this.#waiting[0] !== next) return;
    this.#waiting.shift();
    this.#size -= next.size;
  }

  /**
   * Decides and sends on the event loop. Nothing is sent before everything is decided.
   * @throws TooSlow; FrameError `invalid_filter`.
   */
  #tell(telling: PerListenerEvent, answers: Verdicts | undefined = this.#filter?.answers()): void {
    const seen = answers === undefined ? null : (this.#filter?.decide(telling, answers) ?? null);
    const frames: [LiveListener, string][] = [];
    for (const subscription of this.live.among(telling.candidates(seen))) {
      const { id, listener } = subscription;
      const type = telling.typeFor(listener, seen);
      if (type !== null && subscription.hears(type, telling.event.seq))
        frames.push([subscription, telling.frame(type, listener, id)]);
    }
    for (const [subscription, text] of frames) subscription.send(text);
  }

  /**
   * Like `#tell`, with decisions of a reader thread. Answers the milliseconds that the thread took.
   * @throws TooSlow beyond the time that a decision may take; AppError `unavailable` when the threads have too much to do.
   */
  async #tellFromThread(telling: PerListenerEvent): Promise<number> {
    const { caller } = this.#payer();
    const answers = this.#filter?.answers();
    let took = 0;
    if (answers !== undefined && this.#filter !== null) {
      took = await this.#filter.learn(answers, [telling.before, telling.after], caller);
      // Rights are those of the moment in which the change is told.
      telling.refresh();
      try {
        this.#tell(telling, answers);
        return took;
      } catch (thrown) {
        if (!(thrown instanceof TooSlow)) throw thrown;
      }
    }
    this.#options.limits.reached("ruleTime", { collection: telling.collection.name });
    const charge = (ms: number): void => {
      took += ms;
    };
    await telling.learn({ caller, limitMs: ruleMs, charge });
    this.#tell(telling, answers);
    return took;
  }

  /** The queue cannot go on. */
  #fail(reason: unknown): void {
    const error = this.#filter?.errorOf(reason) ?? reason;
    // A subscription that goes on from the log looks at `nextSeq`.
    for (const subscription of [...this.live.among(null)])
      if (error instanceof Outdated) subscription.replay(error.seq - 1);
      else subscription.fail(error);
    this.clear();
  }
}
