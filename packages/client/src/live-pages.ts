/**
 * The store of a list that grows page by page and stays live: a window of the first records of a query. The next page makes the window
 * larger; the window before stays until the larger window has a result.
 */
import type { SocleError } from "./error.ts";
import type { LiveState } from "./live-types.ts";
import { idleStore, type Store, sharedStore } from "./open-store.ts";
import {
  heldStart,
  type InitialOf,
  type LiveStart,
  type Shown,
  type Skipped,
  sourceOf,
  startOf,
  type Watchable,
} from "./store.ts";

/** A query with pages: `limit` is the number of items of a page; 50 without a limit. */
export interface PagedQuery<Item> extends Watchable<LiveState<Item>> {
  limit(items: number): Watchable<LiveState<Item>>;
}

/** The state of a list that grows page by page. `error` without the status `error` is that of the next page. */
export interface PagesState<Item> extends Shown<LiveState<Item>> {
  /** False at the end of the list, and for 1,000 items: a live window has no more. */
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  /** Adds a page. Resolves when the page is there, or has failed; does nothing without a next page. Never rejects. */
  fetchNextPage(): Promise<void>;
}

const usualSize = 50;
/** Items of a live window, at most. */
const mostItems = 1_000;

/** A subscription of a number of items. */
interface Window {
  readonly limit: number;
  readonly end: AbortController;
}

class Pages<Item> {
  readonly #query: PagedQuery<Item>;
  readonly #size: number;
  /** The items of all pages that are shown. */
  #limit: number;
  #set: (state: PagesState<Item>) => void = () => undefined;
  #reload: () => void = () => undefined;
  #shown: Shown<LiveState<Item>>;
  /** The window that is shown. */
  #window: Window | null = null;
  /** The window with the next page. */
  #larger: Window | null = null;
  /** The error of the next page. */
  #error: SocleError | undefined;
  #waiting: (() => void)[] = [];

  constructor(query: PagedQuery<Item>) {
    this.#query = query;
    const asked = query.asked();
    this.#size = ("limit" in asked ? asked.limit : undefined) ?? usualSize;
    this.#limit = this.#size;
    this.#shown = startOf(query, {}, this.retry);
  }

  readonly retry = (): void => {
    if (this.#error !== undefined && this.#shown.status !== "error") void this.fetchNextPage();
    else this.#reload();
  };

  readonly fetchNextPage = async (): Promise<void> => {
    if (this.#window === null || !this.#hasNext) return;
    const arrival = new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#larger === null) {
      this.#error = undefined;
      this.#larger = { limit: Math.min(this.#limit + this.#size, mostItems), end: new AbortController() };
      this.#tell();
      this.#watch(this.#larger);
    }
    await arrival;
  };

  /** The state with the first pages, as a server has read the pages. */
  start(options: LiveStart<LiveState<Item>>, reload: () => void): PagesState<Item> {
    this.#reload = reload;
    this.#shown = startOf(this.#query, options, this.retry);
    const pages = Math.ceil(this.#shown.items.length / this.#size);
    if (this.#window === null && pages > 1) this.#limit = Math.min(pages * this.#size, mostItems);
    return this.#state;
  }

  open(set: (state: PagesState<Item>) => void): () => void {
    this.#set = set;
    this.#window = { limit: this.#limit, end: new AbortController() };
    this.#watch(this.#window);
    return () => {
      this.#window?.end.abort();
      this.#window = null;
      this.#endLarger();
    };
  }

  get #hasNext(): boolean {
    return typeof this.#shown.nextCursor === "string" && this.#limit < mostItems;
  }

  get #state(): PagesState<Item> {
    const { fetchNextPage } = this;
    const error = this.#shown.error ?? this.#error;
    const isFetchingNextPage = this.#larger !== null;
    return { ...this.#shown, ...(error && { error }), hasNextPage: this.#hasNext, isFetchingNextPage, fetchNextPage };
  }

  #watch(window: Window): void {
    const { signal } = window.end;
    let isStarting = true;
    this.#query.limit(window.limit).live(
      (state) => {
        if (signal.aborted) return;
        if (window === this.#larger) this.#takeLarger(window, state);
        else this.#take(state, isStarting);
      },
      { signal },
    );
    isStarting = false;
  }

  #take(state: LiveState<Item>, isStarting: boolean): void {
    const before = this.#shown;
    // The pages of a server stay until an answer comes.
    const isHeld = before.status === "initial" || (before.status === "offline" && before.position < 0);
    if (isHeld && isStarting && state.status === "loading") return;
    const next = { ...state, retry: this.retry };
    this.#shown = (isHeld && heldStart(before, next)) || next;
    // The list is over, or for another caller.
    if (state.status === "loading" || state.status === "error") this.#endLarger();
    this.#tell();
  }

  #takeLarger(window: Window, state: LiveState<Item>): void {
    if (state.status === "error" && state.error?.code !== "offline") {
      this.#error = state.error;
      this.#endLarger();
      this.#tell();
      return;
    }
    // A larger window with an older result would show old items for a moment.
    if (state.status !== "live" || state.position < this.#shown.position) return;
    this.#window?.end.abort();
    this.#window = window;
    this.#limit = window.limit;
    this.#larger = null;
    this.#shown = { ...state, retry: this.retry };
    this.#tell();
    this.#arrive();
  }

  #endLarger(): void {
    this.#larger?.end.abort();
    this.#larger = null;
    this.#arrive();
  }

  #arrive(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #tell(): void {
    this.#set(this.#state);
  }
}

/** The state before an answer: what a server renders, and a page until the first result. */
export function pagesStart<Item>(
  query: PagedQuery<Item> | Skipped,
  options: LiveStart<LiveState<Item>>,
): PagesState<Item> {
  if (query) return new Pages(query).start(options, () => undefined);
  const fetchNextPage = (): Promise<void> => Promise.resolve();
  return { ...startOf<LiveState<Item>>(null, {}), hasNextPage: false, isFetchingNextPage: false, fetchNextPage };
}

/** The store of the pages of a query. Another query begins with the first page. */
export function livePagesStore<Item>(
  query: PagedQuery<Item> | Skipped,
  { initial }: LiveStart<LiveState<Item>> = {},
): Store<PagesState<Item>> {
  if (!query) return idleStore(pagesStart<Item>(null, {}));
  const place = { client: sourceOf(query), key: `pages ${JSON.stringify(query.asked())}`, initial };
  return sharedStore<PagesState<Item>, InitialOf<LiveState<Item>>>(place, () => {
    const pages = new Pages(query);
    return {
      start: (first, reload) => pages.start({ initial: first }, reload),
      open: (set) => pages.open(set),
      held: heldStart,
    };
  });
}
