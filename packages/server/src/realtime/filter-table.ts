/**
 * The filter table: the filters of all sockets, each once for a collection, a text and a class of callers, and the subscriptions that
 * are live through them. A change of a record goes through the filters of its collection; sockets without a filter are not looked at.
 */
import type { LimitMeter } from "../logging/index.ts";
import type { Listener } from "./audience.ts";
import { classOf, Filter, type FilterOptions, type FilterSource, type Held, isHeld } from "./filter.ts";
import { FrameError } from "./frames.ts";
import { type Telling, toldType } from "./tellings.ts";

/** A subscription that is live through a filter. */
export interface FilterListener {
  readonly listener: Listener;
  /** Sends a change as one of a type, if the subscription hears that. */
  tell(type: string, telling: Telling): void;
  /** The filter cannot be asked any more: the subscription ends. */
  refuse(error: FrameError): void;
}

interface Entry {
  readonly key: string;
  readonly filter: Filter;
  readonly cost: number;
  readonly live: Set<FilterListener>;
  /** Subscriptions, live or not. */
  subscriptions: number;
}

/** A subscription's hold on its filter. */
export interface FilterHold {
  readonly filter: Filter;
  goLive(listener: FilterListener): void;
  pause(listener: FilterListener): void;
  /** To be called once; the listener is the one that it was made for. */
  release(): void;
}

export interface FilterTableOptions extends FilterOptions {
  /** Units of filters that one collection may have; those of collections that are not there have as many together. */
  readonly capacity: number;
  readonly limits: LimitMeter;
}

/** The budget that filters of all collections that are not there share. */
const unknown = "";

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

  /** @throws FrameError `invalid_filter`, `filter_limit`. */
  hold(source: FilterSource): FilterHold {
    const { collection, listener } = source;
    const entries = this.#entries.get(collection) ?? new Map<string, Entry>();
    const key = `${classOf(listener)} ${source.text}`;
    const entry = entries.get(key) ?? this.#make(key, source);
    entry.subscriptions += 1;
    entry.filter.listeners.add(listener);
    entries.set(key, entry);
    this.#entries.set(collection, entries);
    return {
      filter: entry.filter,
      goLive: (subscription) => entry.live.add(subscription),
      pause: (subscription) => entry.live.delete(subscription),
      release: () => {
        entry.filter.listeners.remove(listener);
        entry.subscriptions -= 1;
        if (entry.subscriptions > 0) return;
        entry.filter.listeners.dissolve();
        entries.delete(key);
        if (entries.size === 0) this.#entries.delete(collection);
      },
    };
  }

  /** Tells a change to the subscriptions whose filter the record fulfilled before it, or fulfils after it. */
  publish(telling: Telling): void {
    for (const entry of [...(this.#entries.get(telling.collection.name)?.values() ?? [])]) {
      if (entry.live.size === 0) continue;
      try {
        tell(telling, entry);
      } catch (thrown) {
        if (!(thrown instanceof FrameError)) throw thrown;
        for (const subscription of [...entry.live]) subscription.refuse(thrown);
      }
    }
  }

  #make(key: string, source: FilterSource): Entry {
    const filter = new Filter(source, this.#options);
    try {
      const cost = filter.cost();
      const held = this.#costOf(source.collection);
      if (held + cost > this.#options.capacity) {
        this.#options.limits.reached("filters", { collection: source.collection });
        const message = `The subscriptions to "${source.collection}" have as many filters as this service allows. Use @user.id in place of the id of a user, so that many share a filter.`;
        throw new FrameError("filter_limit", message);
      }
      return { key, filter, cost, live: new Set(), subscriptions: 0 };
    } catch (thrown) {
      filter.listeners.dissolve();
      throw thrown;
    }
  }

  /** The units that the filters of a collection take. */
  #costOf(collection: string): number {
    const budget = this.#budgetOf(collection);
    let sum = 0;
    for (const [name, entries] of this.#entries)
      if (name === collection || (budget === unknown && this.#budgetOf(name) === unknown))
        for (const { cost } of entries.values()) sum += cost;
    return sum;
  }

  #budgetOf(collection: string): string {
    return this.#options.collection(collection) === undefined ? unknown : collection;
  }
}

function tell(telling: Telling, { filter, live }: Entry): void {
  const before: Held = filter.held(telling.before);
  const after: Held = filter.held(telling.after);
  if (before === false && after === false) return;
  for (const subscription of [...live]) {
    const { listener } = subscription;
    const type = toldType(telling.collection.name, {
      before: isHeld(before, listener) && telling.couldRead(listener),
      after: isHeld(after, listener) && telling.canRead(listener),
    });
    if (type !== null) subscription.tell(type, telling);
  }
}
