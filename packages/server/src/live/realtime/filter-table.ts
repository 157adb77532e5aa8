/**
 * The filter table: the filters of all sockets, each once for a collection, a text and a class of callers, with the
 * listener class of the filter. A change of a record goes through the filters of its collection; sockets without a
 * filter are not looked at.
 */
import { classOf } from "../../data/queries/index.ts";
import { Filter, type FilterOptions, type FilterSource } from "./filter.ts";
import { FrameError } from "./frames.ts";
import { ListenerClass } from "./listener-class.ts";
import type { PerListenerEvent } from "./per-listener-events.ts";

interface Entry {
  readonly filter: Filter;
  readonly listeners: ListenerClass;
}

/** A subscription's hold on its filter. `release` is to be called once. */
export interface FilterHold extends Entry {
  release(): void;
}

/** The part of a collection's units that a caller may hold. */
const share = 4;

export class FilterTable {
  readonly #options: FilterOptions;
  readonly #entries = new Map<string, Map<string, Entry>>();

  constructor(options: FilterOptions) {
    this.#options = options;
  }

  /** Whether some subscription hears the changes of a collection through a filter. */
  has(collection: string): boolean {
    for (const { listeners } of this.#entries.get(collection)?.values() ?? []) if (listeners.live.size > 0) return true;
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
    let entry = entries.get(key);
    if (entry?.filter.callers.has(caller) !== true) {
      const filter = entry?.filter ?? new Filter(source, this.#options);
      this.#admit(filter, caller, entry === undefined);
      entry ??= { filter, listeners: new ListenerClass(filter, this.#options) };
    }
    const { filter, listeners } = entry;
    filter.add({ listener, caller });
    entries.set(key, entry);
    this.#entries.set(collection, entries);
    const release = (): void => {
      filter.remove({ listener, caller });
      if (filter.callers.size > 0) return;
      listeners.clear();
      entries.delete(key);
      if (entries.size === 0) this.#entries.delete(collection);
    };
    return { filter, listeners, release };
  }

  /** Tells a change to the subscriptions whose filter the record fulfilled before the change, or fulfils after the change. */
  publish(telling: PerListenerEvent): void {
    for (const { listeners } of [...(this.#entries.get(telling.collection.name)?.values() ?? [])])
      if (listeners.live.size > 0) listeners.publish(telling);
  }

  /** @throws FrameError `filter_limit` for a filter beyond the bound, of all callers or of this caller. */
  #admit({ cost, source }: Filter, caller: string, isNew: boolean): void {
    const { collection } = source;
    const { capacity, limits } = this.#options;
    let [all, own] = [isNew ? cost : 0, cost];
    for (const { filter } of this.#besides(collection)) {
      all += filter.cost;
      if (filter.callers.has(caller)) own += filter.cost;
    }
    const subject = `"${collection}"`;
    const refuse = (message: string): never => {
      limits.reached("filters", { collection });
      throw new FrameError("filter_limit", message);
    };
    if (own > Math.max(cost, capacity / share))
      refuse(`Your subscriptions to ${subject} have the most filters of a caller. Unsubscribe from some first.`);
    if (all > capacity)
      refuse(
        `The subscriptions to ${subject} have as many filters as this service allows. Use @user.id in place of the id of a user, so that many share a filter.`,
      );
  }

  /** The filters that share their units with those of a collection: the collection's own, or those of all collections that do not exist. */
  *#besides(collection: string): Iterable<Entry> {
    const exists = (name: string): boolean => this.#options.collections.get(name) !== undefined;
    const isKnown = exists(collection);
    for (const [name, entries] of this.#entries)
      if (name === collection || (!isKnown && !exists(name))) yield* entries.values();
  }
}
