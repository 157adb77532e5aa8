/** Stores: a state to look at and to subscribe to. A store is open while somebody is subscribed, and equal queries of a client share a store. */
import { tell } from "./observable.ts";

export interface Store<State> {
  get(): State;
  /** Calls back at each change. Answers the function that ends the subscription. */
  subscribe(listener: (state: State) => void): () => void;
  /** Resolves when there is something to show: no longer `loading`. Without a subscription, the store waits a few seconds. */
  ready(): Promise<State>;
  /** Asks anew; a live query without an error needs no asking. */
  reload(): void;
  /** Forgets the state when nobody is subscribed: who looks at the query next asks anew. */
  forget(): void;
}

/** The part of a state by which a store knows whether there is something to show. */
interface Stated {
  readonly status: string;
}

/** How a store gets its states. */
export interface Opening<State, Initial> {
  /**
   * The state before anything was asked.
   * @param initial the answer that a server has read; undefined without such an answer.
   * @param reload of the store.
   */
  start(initial: Initial | undefined, reload: () => void): State;
  /** Begins to set states. Answers the function that ends this. */
  open(set: (state: State) => void, reload: () => void): () => void;
  /** Whether a start needs no asking. */
  isAnswered?(start: State): boolean;
  /** The state to show while no answer has come; null when an answer has come, or the start is for nobody any more. */
  held?(start: State, state: State): State | null;
}

/** How long a store outlives the last subscription: a component that comes back at once finds the result. */
const lingerMs = 5_000;

/** The stores of a client by the key of the query. */
type Stores = Map<string, unknown>;

/**
 * Whether this is a page, or an app on a device. On a server, nothing is opened for a rendered page, and no store is shared: a store could have the data of
 * another user.
 */
export const isPage: () => boolean = () => "window" in globalThis;

class OpenStore<State extends Stated, Initial> implements Store<State> {
  readonly #key: string;
  readonly #stores: Stores;
  readonly #opening: Opening<State, Initial>;
  readonly #listeners = new Set<(state: State) => void>();
  #state: State;
  /** The state before the first answer; null after the answer. */
  #start: State | null;
  #stop: (() => void) | null = null;
  /** Whether `reload` was called. */
  #isAsked = false;
  #lingering: ReturnType<typeof setTimeout> | undefined;

  constructor(
    { key, stores, initial }: { readonly key: string; readonly stores: Stores; readonly initial: Initial | undefined },
    opening: Opening<State, Initial>,
  ) {
    this.#key = key;
    this.#stores = stores;
    this.#opening = opening;
    this.#state = opening.start(initial, this.reload);
    this.#start = this.#state;
  }

  /** Shares the store. A component that is never shown leaves no store. */
  share(): void {
    if (!this.#stores.has(this.#key)) this.#stores.set(this.#key, this);
    this.#linger(lingerMs);
  }

  /** Begins with an answer that a server has read. Nobody is told: a component that shows the state compares the state by itself. */
  seed(initial: Initial): void {
    // An answer that has come is newer, and each component seeds: the state stays the same object.
    if (this.#start === null || this.#state.status !== "loading") return;
    this.#state = this.#opening.start(initial, this.reload);
    this.#start = this.#state;
  }

  readonly get = (): State => this.#state;

  readonly subscribe = (listener: (state: State) => void): (() => void) => {
    const stop = this.#listen(listener);
    return () => {
      stop();
      // The next component asks anew, and does not find an old error.
      this.#linger(this.#state.status === "error" ? 0 : lingerMs);
    };
  };

  readonly ready = (): Promise<State> =>
    new Promise((resolve) => {
      let stop: (() => void) | null = null;
      const look = (): void => {
        const state = this.get();
        // Before `stop` is there, the store tells the state with which the store opens.
        if (state.status === "loading" || stop === null) return;
        stop();
        this.#linger(lingerMs);
        resolve(state);
      };
      stop = this.#listen(look);
      look();
    });

  readonly reload = (): void => {
    this.#isAsked = true;
    this.#stop?.();
    this.#stop = null;
    this.#begin();
    this.#linger(lingerMs);
  };

  readonly forget = (): void => this.#linger(0);

  /** A listener may be there twice, and each subscription is one. */
  #listen(listener: (state: State) => void): () => void {
    const own = (state: State): void => listener(state);
    this.#listeners.add(own);
    this.#begin();
    return () => this.#listeners.delete(own);
  }

  #begin(): void {
    clearTimeout(this.#lingering);
    if (this.#stop !== null) return;
    // A store that was forgotten meanwhile is shared again.
    if (!this.#stores.has(this.#key)) this.#stores.set(this.#key, this);
    if (!this.#isAsked && this.#opening.isAnswered?.(this.#state)) return;
    let [isStarting, isOver] = [true, false];
    const set = (state: State): void => {
      // A source without an answer begins with `loading`, and the start shows as much or more.
      if (!isOver && !(isStarting && this.#start !== null && state.status === "loading")) this.#take(state);
    };
    const stop = this.#opening.open(set, this.reload);
    isStarting = false;
    this.#stop = () => {
      isOver = true;
      stop();
    };
  }

  #take(state: State): void {
    const held = this.#start === null ? null : (this.#opening.held?.(this.#start, state) ?? null);
    if (held === null) this.#start = null;
    this.#state = held ?? state;
    tell(this.#listeners, this.#state);
  }

  #linger(ms: number): void {
    if (this.#listeners.size > 0) return;
    clearTimeout(this.#lingering);
    this.#lingering = setTimeout(() => {
      this.#stop?.();
      this.#stop = null;
      if (this.#stores.get(this.#key) === this) this.#stores.delete(this.#key);
    }, ms);
  }
}

const storesOf = new WeakMap<object, Stores>();

/**
 * The store of a key. Equal keys stand for stores of equal types, because a key has the whole query.
 * @param make is called for a new store.
 */
export function sharedStore<State extends Stated, Initial>(
  place: { readonly client: object; readonly key: string; readonly initial: Initial | undefined },
  make: () => Opening<State, Initial>,
): Store<State> {
  const { client, key, initial } = place;
  const stores: Stores = storesOf.get(client) ?? new Map();
  storesOf.set(client, stores);
  const known = stores.get(key) as OpenStore<State, Initial> | undefined;
  if (known !== undefined) {
    if (initial !== undefined) known.seed(initial);
    return known;
  }
  const store = new OpenStore({ key, stores, initial }, make());
  if (isPage()) store.share();
  return store;
}

/** A store that asks for nothing. */
export function idleStore<State>(state: State): Store<State> {
  return {
    get: () => state,
    subscribe: () => () => undefined,
    ready: () => Promise.resolve(state),
    reload: () => undefined,
    forget: () => undefined,
  };
}
