/**
 * Live sources: the lists and the server queries that live queries read. A plan says what a window depends on: the plan of a list follows
 * from the parameters, the plan of a server query from the reads of the last run.
 */
import { Admission, identityOf } from "../../base/kernel/index.ts";
import {
  classOf,
  type LiveList,
  type LiveLists,
  type LivePage,
  type LiveParameters,
} from "../../data/queries/index.ts";
import type { Listener } from "./audience.ts";
import type { Budgets } from "./turns.ts";

/** The collection and the parameters of a list, or a server query with the arguments. */
export type LiveSource = { readonly collection: string; readonly parameters: LiveParameters } | NamedSource;

/** A server query by name. */
export interface NamedSource {
  readonly name: string;
  readonly args: { readonly [name: string]: unknown };
}

/** The name of a dependency that each change of anything changes: no collection has this name. */
export const anything = "*";

/** The data by which a window can become another window; see `Dependencies`. */
export type LiveDependencies = Pick<LiveList, "collections" | "onTime">;

/** A source as prepared for a class of callers, or for a caller. */
export interface LivePlan extends Omit<LiveList, "shape"> {
  readonly shape: LiveList["shape"] | "value";
}

/** The value of a run as JSON, and the data that the value depends on. */
export interface LiveValueRun extends LiveDependencies {
  readonly value: string;
  /** Milliseconds that the run took, without the waits for other runs. */
  readonly ms: number;
}

/** The server queries. */
export interface NamedQueries {
  /** @throws AppError `not_found`, `unauthorized`, `forbidden`, `internal_error`. */
  admit(name: string, caller: Listener): unknown;
  /** Whether the values may differ between callers, as far as the runs since the last load tell. */
  isPersonal(name: string): boolean;
  /** @throws AppError as `admit`, and of the run: with `retryAfter`, another run may have a value. */
  run(source: NamedSource, caller: Listener, signal: AbortSignal): Promise<LiveValueRun>;
  /** Calls the listener after each load of the user's code. */
  onLoad(listener: () => void): void;
}

/** The viewer that a window is read for. */
interface LiveReader {
  readonly listener: Listener;
  readonly caller: string;
  /** Aborted when nobody waits for the window any more. */
  readonly signal: AbortSignal;
}

/** A window as read, with the plan from now on. */
export interface LiveRead {
  readonly page: LivePage;
  readonly plan: LivePlan;
}

/** Runs of server queries at a time, and the runs of a caller: the runs share the processes of endpoints. */
const maxRuns = 8;
const maxRunsOfCaller = 2;

/** Characters of arguments that count as an item, because the arguments stay in memory. */
const charactersPerItem = 64;

interface LiveSourcesOptions {
  readonly lists: LiveLists;
  readonly named: NamedQueries;
  readonly budgets: Budgets;
}

export class LiveSources {
  readonly #options: LiveSourcesOptions;
  /** Windows that need a reader thread are read one after the other, so that other queries have the other threads. */
  readonly #onThread = new Admission({ width: 1 });
  readonly #runs = new Admission({ width: maxRuns, share: maxRunsOfCaller });

  constructor(options: LiveSourcesOptions) {
    this.#options = options;
  }

  /** @throws AppError as `LiveLists.prepare` and `NamedQueries.admit`. */
  prepare(source: LiveSource, listener: Listener): LivePlan {
    const { lists, named } = this.#options;
    if (!("name" in source)) return lists.prepare(source.collection, source.parameters, listener);
    named.admit(source.name, listener);
    const onCaller = named.isPersonal(source.name);
    const limit = Math.max(1, Math.ceil(JSON.stringify(source.args).length / charactersPerItem));
    return { collections: new Map(), onCaller, onTime: false, shape: "value", limit };
  }

  /** A text that equal windows have in common, and no others. */
  keyOf(source: LiveSource, { onCaller }: LivePlan, listener: Listener): string {
    const audience = onCaller ? `${identityOf(listener) ?? ""} ${listener?.role ?? ""}` : "";
    if ("name" in source)
      return JSON.stringify([source.name, Object.entries(source.args).toSorted(byName), audience, 0]);
    return JSON.stringify([source.collection, ...[...source.parameters].toSorted(), classOf(listener), audience]);
  }

  /** Whether a window that was shared turns out to differ between callers. */
  isDivided(source: LiveSource, { onCaller }: LivePlan): boolean {
    return "name" in source && !onCaller && this.#options.named.isPersonal(source.name);
  }

  /** Reads a window. Null if the caller has no processor time left after the wait for a turn. @throws AppError. */
  read(source: LiveSource, plan: LivePlan, reader: LiveReader): Promise<LiveRead | null> {
    const { caller, listener, signal } = reader;
    if ("name" in source) return this.#runs.run(() => this.#run(source, plan, reader), { caller, signal });
    const { collection, parameters } = source;
    // A list is read to the end, so that the cost is known.
    const forEver = new AbortController().signal;
    const inTurn = <T>(onThread: () => Promise<T>): Promise<T> => this.#onThread.run(onThread, {});
    const as = { principal: listener, caller: () => caller, signal: () => forEver, inTurn };
    return this.#options.lists.read(collection, parameters, as).then((page) => ({ page, plan }));
  }

  async #run(source: NamedSource, plan: LivePlan, reader: LiveReader): Promise<LiveRead | null> {
    const { named, budgets } = this.#options;
    const { listener, caller, signal } = reader;
    if (budgets.waitOf(caller) > 0) return null;
    const start = performance.now();
    try {
      const { value, ms, ...dependencies } = await named.run(source, listener, signal);
      return { page: { ...noPage, json: value, ms }, plan: { ...plan, ...dependencies } };
    } catch (thrown) {
      // A run without a value has a cost, too.
      budgets.charge(caller, performance.now() - start);
      throw thrown;
    }
  }
}

const noPage = { total: null, nextKey: "", cursorFor: () => null } as const;

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1;
}
