/**
 * The filter table: the filters of all sockets, each once for a collection, a text and a class of callers, with the
 * live subscriptions of each filter. A change of a record goes through the filters of its collection; sockets without a
 * filter are not looked at.
 */
import type { LimitMeter } from "../../base/logging/index.ts";
import type { Listener } from "./audience.ts";
import type { Budgets } from "./budgets.ts";
import { ChangeQueue, type ListenerClass, Outdated, quickMs, ruleMs, TooLate, whenFree } from "./change-queue.ts";
import { classOf, Filter, type FilterOptions, type FilterSource, type Held, isHeld } from "./filter.ts";
import { FrameError } from "./frames.ts";
import { type OwnedState, type Question, TooSlow } from "./reader-table.ts";
import { type Telling, toldType } from "./tellings.ts";
import type { Turns } from "./turns.ts";
import { Verdicts } from "./verdicts.ts";

/** The listener for whom a replay asks a filter, and the caller who pays. */
interface OneListener {
  readonly listener: Listener;
  readonly caller: string;
}

/** Does work outside of a turn, and takes another turn after that. */
export type Outside = <T>(work: () => Promise<T>) => Promise<T>;

/** A subscription that is live through a filter. */
export interface FilterListener {
  readonly listener: Listener;
  /** Whether the subscription hears a change of a type at a seq. */
  hears(type: string, seq: number): boolean;
  /** The subscription's own id in its frames. */
  readonly id: string | null;
  send(text: string): void;
  /** The subscription ends, or its socket. */
  fail(reason: unknown): void;
  /** The subscription hears the events after a seq from the log. */
  replay(after: number): void;
}

/** A subscription's hold on its filter. */
export interface FilterHold {
  readonly filter: Filter;
  /** See `Entry.holds`. */
  holds: Entry["holds"];
  /** The seq of the oldest change that waits for the live subscriptions of the filter; null if no change waits. */
  readonly nextSeq: number | null;
  goLive(listener: FilterListener): void;
  pause(listener: FilterListener): void;
  /** To be called once. */
  release(): void;
}

export interface FilterTableOptions extends FilterOptions {
  /** Units of filters that a collection may have. Collections that do not exist share the same number. */
  readonly capacity: number;
  readonly limits: LimitMeter;
  readonly turns: Turns;
  readonly budgets: Budgets;
  /** A change of a record by the definitions of this moment; null if the collection is gone. */
  telling(event: Telling["event"]): Telling | null;
}

/** The part of a collection's units that a caller may hold. */
const share = 4;
/** Milliseconds that a decision may take on the event loop. */
const loopMs = 4;
/** Milliseconds of processor time that a filter may use for each of its callers before the callers are charged. */
const chargeMs = 0.1;

/** The budget of the filters of all collections that do not exist. */
const unknown = "";

/** The cost of a filter, and the remedy, as its callers are told. */
function tooExpensive(cost: string, options: FilterTableOptions): FrameError {
  const remedy = `Narrow the filter down so that it looks at fewer and shorter records, or use fewer filters. One caller's filters may take ${options.budgets.perSecond} ms of processor time a second.`;
  return new FrameError("filter_too_expensive", `The filter ${cost}, and its subscription has ended. ${remedy}`);
}

/** A filter, with its queue, its live subscriptions and its callers. */
class Entry implements ListenerClass {
  readonly key: string;
  readonly filter: Filter;
  readonly cost: number;
  readonly live = new Set<FilterListener>();
  readonly queue: ChangeQueue;
  /** Subscriptions, live or not, by caller. */
  readonly callers = new Map<string, number>();
  readonly #options: FilterTableOptions;
  /** Milliseconds that the callers are still to be charged with. */
  #owed = 0;
  /** Whether the last decision of a replay was too long for the event loop. */
  #isSlow = false;

  constructor(key: string, filter: Filter, options: FilterTableOptions) {
    this.key = key;
    this.filter = filter;
    this.cost = filter.cost();
    this.#options = options;
    this.queue = new ChangeQueue(this, options.turns);
  }

  get caller(): string {
    return this.#payer().caller;
  }

  get epoch(): number {
    return this.#options.epoch;
  }

  wait(): number {
    return this.#payer().wait;
  }

  telling(event: Telling["event"]): Telling | null {
    return this.live.size === 0 ? null : this.#options.telling(event);
  }

  tell(telling: Telling): void {
    this.#tell(telling, this.#answers(this.filter.listeners));
  }

  async tellFromThread(telling: Telling): Promise<number> {
    const answers = this.#answers(this.filter.listeners);
    const took = await this.#learn(answers, [telling.before, telling.after], this.caller);
    // Rights are those of the moment in which the change is told.
    telling.refresh();
    try {
      this.#tell(telling, answers);
    } catch (thrown) {
      if (!(thrown instanceof TooSlow)) throw thrown;
      await telling.learn({ caller: this.caller, limitMs: ruleMs, charge: () => undefined });
      this.#tell(telling, answers);
    }
    return took;
  }

  /**
   * Whether the filter holds for a listener, in a replay. @param outside waits outside of the replay's turn.
   * @throws FrameError `invalid_filter`, `filter_too_expensive`.
   */
  async holds(state: OwnedState, one: OneListener, outside: Outside): Promise<boolean> {
    const { caller, listener } = one;
    const { budgets } = this.#options;
    for (let wait = budgets.waitOf(caller); wait > 0; wait = budgets.waitOf(caller))
      await outside(() => Bun.sleep(wait));
    const { epoch } = this;
    const answers = this.#answers(listener);
    const decide = (): boolean => isHeld(this.filter.held(state, answers.of), listener);
    const start = performance.now();
    try {
      if (!this.#isSlow) return decide();
    } catch (thrown) {
      if (!(thrown instanceof TooSlow)) throw thrown;
    } finally {
      budgets.charge(caller, performance.now() - start);
    }
    try {
      this.#isSlow = (await outside(() => whenFree(() => this.#learn(answers, [state], caller)))) > quickMs;
      return decide();
    } catch (thrown) {
      // A statement of former definitions is made anew.
      if (epoch !== this.epoch) return this.holds(state, one, outside);
      throw this.#errorOf(thrown);
    }
  }

  fail(reason: unknown): void {
    const error = this.#errorOf(reason);
    for (const subscription of [...this.live])
      if (error instanceof Outdated) subscription.replay(error.seq - 1);
      else subscription.fail(error);
  }

  /** Has a thread decide. Answers the milliseconds that the thread took. */
  async #learn(answers: Verdicts, states: readonly (OwnedState | null)[], caller: string): Promise<number> {
    let took = 0;
    const charge = (ms: number): void => {
      took += ms;
      this.#charge(ms);
    };
    const use = { caller, limitMs: this.#options.budgets.decisionMs, charge };
    await answers.learn((answer) => {
      for (const state of states) this.filter.held(state, answer);
    }, use);
    return took;
  }

  #errorOf(reason: unknown): unknown {
    const { budgets, limits } = this.#options;
    if (!(reason instanceof TooSlow || reason instanceof TooLate)) return reason;
    limits.reached("filterTime", { collection: this.filter.source.collection });
    const cost =
      reason instanceof TooSlow
        ? `takes more than ${budgets.decisionMs} ms to decide about one change`
        : "waits for processor time, which the filters of its callers have used up";
    return tooExpensive(cost, this.#options);
  }

  #answers(among: Question["among"]): Verdicts {
    return new Verdicts(this.#options.readers, { among, ms: loopMs });
  }

  /** The caller with processor time left, or with the shortest wait: a filter of many callers waits only if all callers wait. */
  #payer(): { caller: string; wait: number } {
    let first = { caller: "", wait: 0 };
    for (const caller of this.callers.keys()) {
      const wait = this.#options.budgets.waitOf(caller);
      if (first.caller === "" || wait < first.wait) first = { caller, wait };
      if (wait === 0) break;
    }
    return first;
  }

  /** The listeners for whom the filter holds before and after a change. The callers pay for the decision, not for the frames. */
  #decide(telling: Telling, answers: Verdicts): [Held, Held] {
    const start = performance.now();
    try {
      return [this.filter.held(telling.before, answers.of), this.filter.held(telling.after, answers.of)];
    } finally {
      this.#charge(performance.now() - start);
    }
  }

  #charge(ms: number): void {
    this.#owed += ms;
    const part = this.#owed / Math.max(1, this.callers.size);
    if (part < chargeMs) return;
    this.#owed = 0;
    for (const caller of this.callers.keys()) this.#options.budgets.charge(caller, part);
  }

  #tell(telling: Telling, answers: Verdicts): void {
    const [before, after] = this.#decide(telling, answers);
    if (before === false && after === false) return;
    const frames: [FilterListener, string][] = [];
    for (const subscription of this.live) {
      const { listener } = subscription;
      const type = toldType(telling.collection.name, {
        before: isHeld(before, listener) && telling.couldRead(listener),
        after: isHeld(after, listener) && telling.canRead(listener),
      });
      if (type !== null && subscription.hears(type, telling.event.seq))
        frames.push([subscription, telling.frame(type, listener, subscription.id)]);
    }
    for (const [subscription, text] of frames) subscription.send(text);
  }
}

export class FilterTable {
  readonly #options: FilterTableOptions;
  readonly #entries = new Map<string, Map<string, Entry>>();

  constructor(options: FilterTableOptions) {
    this.#options = options;
  }

  /** Whether some subscription hears the changes of a collection through a filter. */
  has(collection: string): boolean {
    const entries = this.#entries.get(collection);
    if (entries === undefined) return false;
    for (const { live } of entries.values()) if (live.size > 0) return true;
    return false;
  }

  /**
   * @param caller a user id or an address.
   * @throws FrameError `invalid_filter`, `filter_limit`.
   */
  hold(source: FilterSource, caller: string): FilterHold {
    const { collection, listener } = source;
    const entries = this.#entries.get(collection) ?? new Map<string, Entry>();
    const key = `${classOf(listener)} ${source.text}`;
    const entry = entries.get(key) ?? this.#make(key, source);
    try {
      if (!entry.callers.has(caller)) this.#admit(entry, caller, entries.get(key) === undefined);
    } catch (thrown) {
      if (entry.callers.size === 0) entry.filter.listeners.dissolve();
      throw thrown;
    }
    entry.callers.set(caller, (entry.callers.get(caller) ?? 0) + 1);
    entry.filter.listeners.add(listener);
    entries.set(key, entry);
    this.#entries.set(collection, entries);
    return {
      filter: entry.filter,
      holds: (state, one, outside) => entry.holds(state, one, outside),
      get nextSeq() {
        return entry.queue.nextSeq;
      },
      goLive: (subscription) => entry.live.add(subscription),
      pause: (subscription) => entry.live.delete(subscription),
      release: () => {
        entry.filter.listeners.remove(listener);
        const left = (entry.callers.get(caller) ?? 0) - 1;
        if (left > 0) entry.callers.set(caller, left);
        else entry.callers.delete(caller);
        if (entry.callers.size > 0) return;
        entry.queue.clear();
        entry.filter.listeners.dissolve();
        entries.delete(key);
        if (entries.size === 0) this.#entries.delete(collection);
      },
    };
  }

  /** Tells a change to the subscriptions whose filter the record fulfilled before it, or fulfils after it. */
  publish(telling: Telling): void {
    for (const entry of [...(this.#entries.get(telling.collection.name)?.values() ?? [])])
      if (entry.live.size > 0) entry.queue.publish(telling);
  }

  #make(key: string, source: FilterSource): Entry {
    const filter = new Filter(source, this.#options);
    try {
      return new Entry(key, filter, this.#options);
    } catch (thrown) {
      filter.listeners.dissolve();
      throw thrown;
    }
  }

  /** @throws FrameError `filter_limit` for a filter beyond the bound, of all callers or of this caller. */
  #admit({ cost, filter }: Entry, caller: string, isNew: boolean): void {
    const { collection } = filter.source;
    const { capacity, limits } = this.#options;
    let [all, own] = [isNew ? cost : 0, cost];
    for (const entry of this.#besides(collection)) {
      all += entry.cost;
      if (entry.callers.has(caller)) own += entry.cost;
    }
    const subject = `"${collection}"`;
    const refuse = (message: string): never => {
      limits.reached("filters", { collection });
      throw new FrameError("filter_limit", message);
    };
    if (own > Math.max(cost, capacity / share))
      refuse(`Your subscriptions to ${subject} have as many filters as one caller may. Unsubscribe from some first.`);
    if (all > capacity)
      refuse(
        `The subscriptions to ${subject} have as many filters as this service allows. Use @user.id in place of the id of a user, so that many share a filter.`,
      );
  }

  /** The filters that share their units with those of a collection. */
  *#besides(collection: string): Iterable<Entry> {
    const budget = this.#budgetOf(collection);
    for (const [name, entries] of this.#entries)
      if (name === collection || (budget === unknown && this.#budgetOf(name) === unknown)) yield* entries.values();
  }

  #budgetOf(collection: string): string {
    return this.#options.collection(collection) === undefined ? unknown : collection;
  }
}
