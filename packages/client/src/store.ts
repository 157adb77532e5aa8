/**
 * Stores for the bindings of frameworks: a live query, a request, a change and the session, each with a state to look at and to
 * subscribe to. Equal queries of a client share a store.
 */
import type { User } from "@socle/protocol";
import type { SocleError } from "./error.ts";
import type { LiveQuery } from "./live-frames.ts";
import type { LiveOptions, LiveState, LiveStatus, LiveValue } from "./live-types.ts";
import { Observed } from "./observable.ts";
import type { CallOptions, Transport } from "./transport.ts";

export interface Store<State> {
  get(): State;
  /** Calls back at each change. Answers the function that ends the subscription. */
  subscribe(listener: (state: State) => void): () => void;
  /** Resolves when there is something to show: no longer `loading`. Without a subscription, the store waits a few seconds. */
  ready(): Promise<State>;
  /** Asks anew; a live query needs no asking. */
  reload(): void;
}

type Status = LiveStatus | "done" | "idle" | "pending";

/** How long a store outlives the last subscription: a component that comes back at once finds the result. */
const lingerMs = 5_000;

/** A store that is open while somebody is subscribed. */
class OpenStore<State extends { readonly status: Status }> implements Store<State> {
  readonly #state: Observed<State>;
  readonly #open: (set: (state: State) => void) => () => void;
  readonly #forget: () => void;
  #subscriptions = 0;
  #stop: (() => void) | null = null;
  #lingering: ReturnType<typeof setTimeout> | undefined;

  /** @param open begins to set states. @param forget is called when the store has closed. */
  constructor(initial: State, open: (set: (state: State) => void) => () => void, forget: () => void) {
    this.#state = new Observed(initial);
    this.#open = open;
    this.#forget = forget;
  }

  readonly get = (): State => this.#state.get();

  readonly subscribe = (listener: (state: State) => void): (() => void) => {
    this.#subscriptions += 1;
    const stop = this.#state.subscribe(listener);
    this.#begin();
    return () => {
      stop();
      this.#subscriptions -= 1;
      this.#linger();
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
        resolve(state);
      };
      stop = this.subscribe(look);
      look();
    });

  readonly reload = (): void => {
    this.#stop?.();
    this.#stop = null;
    this.#begin();
    this.#linger();
  };

  #begin(): void {
    clearTimeout(this.#lingering);
    this.#stop ??= this.#open((state) => this.#state.set(state));
  }

  #linger(): void {
    if (this.#subscriptions > 0) return;
    clearTimeout(this.#lingering);
    this.#lingering = setTimeout(() => {
      this.#stop?.();
      this.#stop = null;
      this.#forget();
    }, lingerMs);
  }
}

/** The stores of each client, by the key of the query. */
const stores = new WeakMap<object, Map<string, unknown>>();

/** The store of a key. Equal keys stand for stores of equal types, because a key has the whole query. */
function shared<State>(client: object, key: string, make: (forget: () => void) => Store<State>): Store<State> {
  const known = stores.get(client) ?? new Map<string, unknown>();
  stores.set(client, known);
  const store = known.get(key) ?? make(() => known.delete(key));
  known.set(key, store);
  return store as Store<State>;
}

/** A query or a call of a server query; `source` is the client's. */
interface Asking {
  asked(): LiveQuery;
  readonly source?: object;
}

/** A query that can be watched. */
export interface Watchable<State> {
  asked(): LiveQuery;
  live(listener: (state: State) => void, options?: LiveOptions): () => void;
}

/** The store of a live query, or of a live server query. */
export function liveStore<State extends LiveState | LiveValue>(query: Watchable<State>): Store<State> {
  const { source = query }: Asking = query;
  // A list has no items before the first result, and a server query no value.
  const initial = { status: "loading", position: -1, items: [] } as LiveState & LiveValue;
  return shared(source, `live ${JSON.stringify(query.asked())}`, (forget) => {
    const open = (set: (state: State) => void): (() => void) => query.live(set);
    return new OpenStore(initial as State, open, forget);
  });
}

/** The state of a request: the data of the last answer, which stay while the request is sent again. */
export interface RequestState<Data> {
  readonly status: "loading" | "done" | "error";
  readonly data?: Data;
  readonly error?: unknown;
}

/** A query or a call that can be awaited. */
export interface Requestable<Data> extends PromiseLike<Data> {
  asked(): LiveQuery;
}

/** The store of a query that is read once, and again with `reload`. */
export function requestStore<Data>(query: Requestable<Data>): Store<RequestState<Data>> {
  const { source = query }: Asking = query;
  return shared(source, `request ${JSON.stringify(query.asked())}`, (forget) => {
    let last: RequestState<Data> = { status: "loading" };
    const open = (set: (state: RequestState<Data>) => void): (() => void) => {
      let isOver = false;
      const take = (state: RequestState<Data>): void => {
        if (isOver) return;
        last = state;
        set(state);
      };
      query.then(
        (data) => take({ status: "done", data }),
        (error: unknown) => take({ ...last, status: "error", error }),
      );
      return () => {
        isOver = true;
      };
    };
    return new OpenStore(last, open, forget);
  });
}

/** The state of a change. */
export interface MutationState<Value> {
  readonly status: "idle" | "pending" | "done" | "error";
  readonly value?: Value;
  readonly error?: unknown;
  /** The messages of a `validation_error` by field. */
  readonly fields: { readonly [field: string]: string };
}

export interface Mutation<Given extends readonly unknown[], Value>
  extends Pick<Store<MutationState<Value>>, "get" | "subscribe"> {
  /** Sends the change; rejects as the change does. */
  run(...given: Given): Promise<Value>;
}

/** A change with a state: of the last call that was made. */
export function mutation<Given extends readonly unknown[], Value>(
  send: (...given: Given) => Promise<Value>,
): Mutation<Given, Value> {
  const state = new Observed<MutationState<Value>>({ status: "idle", fields: {} });
  let last: Promise<Value> | null = null;
  return {
    get: () => state.get(),
    subscribe: (listener) => state.subscribe(listener),
    async run(...given) {
      state.set({ status: "pending", fields: {} });
      const sent = send(...given);
      last = sent;
      const tell = (next: MutationState<Value>): void => {
        if (last === sent) state.set(next);
      };
      sent.then(
        (value) => tell({ status: "done", value, fields: {} }),
        (error: unknown) => tell({ status: "error", error, fields: fieldsOf(error) }),
      );
      return sent;
    },
  };
}

/** The error may be of another copy of the client. */
function fieldsOf(error: unknown): MutationState<unknown>["fields"] {
  return (error as Partial<SocleError> | null)?.fields ?? {};
}

/** The session of a client. */
export interface SessionState {
  /** `loading`: the client has tokens, and asks for the user. */
  readonly status: "loading" | "done" | "error";
  /** Null for a client that is not signed in. */
  readonly user: User | null;
  readonly error?: unknown;
}

/** A client of any project, also of another copy of the module. */
export interface SessionClient {
  readonly $source: { readonly transport: Pick<Transport, "onSignIn"> };
  readonly accessToken: string | null;
  me(options?: CallOptions): Promise<User>;
}

/** The store of the session: the signed-in user. */
export function sessionStore(client: SessionClient): Store<SessionState> {
  const source = client.$source;
  return shared(source, "session", () => {
    const ask = (set: (state: SessionState) => void): void => {
      const token = client.accessToken;
      if (token === null) {
        set({ status: "done", user: null });
        return;
      }
      set({ status: "loading", user: null });
      client.me().then(
        (user) => set({ status: "done", user }),
        (error: unknown) => {
          // The refusal of the tokens of an ended session has ended the session here, too.
          if (client.accessToken === token) set({ status: "error", user: null, error });
        },
      );
    };
    const initial: SessionState = { status: client.accessToken === null ? "done" : "loading", user: null };
    const open = (set: (state: SessionState) => void): (() => void) => {
      ask(set);
      return source.transport.onSignIn(() => ask(set));
    };
    return new OpenStore(initial, open, () => undefined);
  });
}
