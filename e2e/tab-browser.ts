/**
 * A browser of several tabs in one process, in a time of its own: storage that other tabs see late, locks, and timers. A tab that sleeps
 * hears nothing, and goes on with everything when the tab awakes.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { SessionPage } from "../packages/client/src/session-stores.ts";

interface Task {
  readonly at: number;
  readonly number: number;
  readonly tab: Tab | null;
  readonly run: () => void;
  isOver: boolean;
}

type Listener = (event: { readonly key?: string | null }) => void;

/** A tab with its view of the storage. */
export class Tab {
  readonly name: string;
  readonly seen = new Map<string, string>();
  /** The changes of the tab that the browser has not confirmed, by key. */
  readonly pending = new Map<string, number>();
  readonly listeners: Listener[] = [];
  isAsleep = false;
  /** The error of the clock, in milliseconds. */
  clock = 0;
  /** The sign-ins that are under way. */
  logins = 0;
  /** The sign-outs that are under way: the number of sessions at the begin of each. */
  readonly logouts = new Set<{ readonly sessions: number }>();

  constructor(name: string) {
    this.name = name;
  }
}

export interface World {
  readonly random: () => number;
  readonly hasLocks: boolean;
  /** Called before a tab changes the storage. */
  changing(tab: Tab, before: string | null, after: string | null): void;
}

type Locks = NonNullable<NonNullable<SessionPage["navigator"]>["locks"]>;

/** A lock that a tab asks for. */
interface Asked {
  readonly name: string;
  readonly signal: AbortSignal | undefined;
  work(): Promise<void>;
}

const context = new AsyncLocalStorage<Tab>();
const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  now: Date.now,
  timeout: AbortSignal.timeout,
};

export class TabBrowser {
  now = 1_800_000_000_000;
  readonly tabs: Tab[] = [];
  readonly #world: World;
  readonly #stored = new Map<string, string>();
  #tasks: Task[] = [];
  #lastNumber = 0;
  readonly #locks = new Map<string, { tab: Tab; begin: () => Promise<void> }[]>();

  constructor(world: World) {
    this.#world = world;
    const later = (run: () => void, ms = 0): Task => this.after(ms, context.getStore() ?? null, run);
    const stop = (task: Task | undefined): void => {
      if (task !== undefined) task.isOver = true;
    };
    Object.assign(globalThis, { setTimeout: later, clearTimeout: stop });
    Date.now = () => this.now + (context.getStore()?.clock ?? 0);
    AbortSignal.timeout = (ms) => {
      const abort = new AbortController();
      later(() => abort.abort(new Error("no answer in time")), ms);
      return abort.signal;
    };
  }

  close(): void {
    Object.assign(globalThis, { setTimeout: real.setTimeout, clearTimeout: real.clearTimeout });
    Date.now = real.now;
    AbortSignal.timeout = real.timeout;
  }

  /** Runs the code of a tab. */
  in<T>(tab: Tab, run: () => T): T {
    return context.run(tab, run);
  }

  get tab(): Tab {
    const tab = context.getStore();
    if (tab === undefined) throw new Error("The code is of no tab");
    return tab;
  }

  after(ms: number, tab: Tab | null, run: () => void): Task {
    this.#lastNumber += 1;
    const task = { at: this.now + ms, number: this.#lastNumber, tab, run, isOver: false };
    this.#tasks.push(task);
    return task;
  }

  /** Lets time pass, and everything happen that is due. */
  async pass(ms: number): Promise<void> {
    const end = this.now + ms;
    await settled();
    for (let next = this.#next(end); next !== null; next = this.#next(end)) {
      next.isOver = true;
      this.now = Math.max(this.now, next.at);
      const { tab, run } = next;
      if (tab === null) run();
      else this.in(tab, run);
      await settled();
    }
    this.#tasks = this.#tasks.filter(({ isOver }) => !isOver);
    this.now = end;
  }

  #next(end: number): Task | null {
    const due = this.#tasks.filter(({ at, isOver, tab }) => !isOver && at <= end && tab?.isAsleep !== true);
    return due.reduce<Task | null>((first, each) => (first === null || isBefore(each, first) ? each : first), null);
  }

  /** The parts of the browser that a client in the tab uses. */
  pageOf(tab: Tab): SessionPage {
    const put = (key: string, value: string | null): void => this.#put(tab, key, value);
    const storage = {
      getItem: (key: string) => tab.seen.get(key) ?? null,
      setItem: put,
      removeItem: (key: string) => put(key, null),
    };
    const locks: Locks = { request: (name, { signal }, work) => this.#request(tab, { name, signal, work }) };
    return {
      document: {},
      localStorage: storage,
      sessionStorage: storage,
      navigator: this.#world.hasLocks ? { locks } : {},
      addEventListener: (_type, listener) => tab.listeners.push(listener),
      dispatchEvent: (event) => {
        for (const listener of [...tab.listeners]) listener(event as { key?: string });
      },
    };
  }

  /** The storage of a new page: everything that was stored. */
  reload(tab: Tab): void {
    tab.listeners.splice(0);
    tab.seen.clear();
    tab.pending.clear();
    for (const [key, value] of this.#stored) tab.seen.set(key, value);
    // The code of the former page is over.
    for (const task of this.#tasks) if (task.tab === tab) task.isOver = true;
  }

  /**
   * A change reaches the browser, and then the other tabs, in one order for all. As in Chromium (`CachedStorageArea`), no change of another
   * tab replaces the own value of a tab before the browser has confirmed the own value.
   */
  #put(tab: Tab, key: string, value: string | null): void {
    if (!key.endsWith(" turn")) this.#world.changing(tab, tab.seen.get(key) ?? null, value);
    set(tab.seen, key, value);
    tab.pending.set(key, (tab.pending.get(key) ?? 0) + 1);
    this.after(1, null, () => {
      set(this.#stored, key, value);
      for (const other of this.tabs)
        if (other !== tab) this.after(this.#world.random() * 3, other, () => this.#hear(other, key));
        else this.after(3, other, () => this.#confirm(other, key));
    });
  }

  #hear(tab: Tab, key: string): void {
    if ((tab.pending.get(key) ?? 0) > 0) return;
    set(tab.seen, key, this.#stored.get(key) ?? null);
    for (const listener of [...tab.listeners]) listener({ key });
  }

  /** Another tab may have made a later change meanwhile. */
  #confirm(tab: Tab, key: string): void {
    tab.pending.set(key, (tab.pending.get(key) ?? 0) - 1);
    if (tab.seen.get(key) !== this.#stored.get(key)) this.#hear(tab, key);
  }

  #request(tab: Tab, { name, signal, work }: Asked): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = this.#locks.get(name) ?? [];
      this.#locks.set(name, waiting);
      const grant = (): void => {
        const [first] = waiting;
        if (first !== undefined) this.after(1, first.tab, () => void first.begin());
      };
      const entry = {
        tab,
        begin: async () => {
          if (waiting[0] !== entry) return;
          signal?.removeEventListener("abort", give);
          try {
            resolve(await work());
          } catch (thrown) {
            reject(thrown);
          }
          waiting.shift();
          grant();
        },
      };
      const give = (): void => {
        const place = waiting.indexOf(entry);
        waiting.splice(place, 1);
        reject(signal?.reason);
        if (place === 0) grant();
      };
      signal?.addEventListener("abort", give);
      waiting.push(entry);
      if (waiting.length === 1) grant();
    });
  }

  /** A page that is gone holds no lock. */
  leave(tab: Tab): void {
    for (const [name, waiting] of this.#locks) {
      const isFirst = waiting[0]?.tab === tab;
      const others = waiting.filter((each) => each.tab !== tab);
      waiting.splice(0, waiting.length, ...others);
      const [first] = waiting;
      if (isFirst && first !== undefined) this.after(1, first.tab, () => void first.begin());
      this.#locks.set(name, waiting);
    }
  }
}

function isBefore(one: Task, other: Task): boolean {
  return one.at < other.at || (one.at === other.at && one.number < other.number);
}

function set(map: Map<string, string>, key: string, value: string | null): void {
  if (value === null) map.delete(key);
  else map.set(key, value);
}

/** Resolves when no promise of the code is left that another has not settled. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
