/**
 * Stores for the bindings of frameworks: a live query, a request, a change and the session, each with a state to look at and to
 * subscribe to. Equal queries of a client share a store.
 */
import type { User } from "@socle/protocol";
import type { SocleError } from "./error.ts";
import type { LiveQuery } from "./live-frames.ts";
import type { LiveOptions, LiveState, LiveStatus, LiveValue } from "./live-types.ts";
import { type Observable, Observed } from "./observable.ts";
import { idleStore, type Store, sharedStore } from "./open-store.ts";
import type { SessionUser } from "./session.ts";
import type { CallOptions } from "./transport.ts";

/** In the place of a query: nothing is asked, and the status is `idle`. */
export type Skipped = null | undefined | false;

/** A query or a call of a server query; `source` is the client's. */
interface Asking {
  asked(): LiveQuery;
  readonly source?: object;
}

/** The client of a query, by which stores are shared. */
export function sourceOf(query: Asking): object {
  return query.source ?? query;
}

/** A query that can be watched. */
export interface Watchable<State> {
  asked(): LiveQuery;
  live(listener: (state: State) => void, options?: LiveOptions): () => void;
}

/**
 * The state of a live query as a component shows the state. `idle`: there is no query; `initial`: the items are those that the server has
 * rendered, and the first result follows.
 */
export type Shown<State> = Omit<State, "status" | "error"> & {
  readonly status: LiveStatus | "initial" | "idle";
  readonly error?: SocleError;
  /** Asks anew after an error. */
  retry(): void;
};

/** The page of a list, as `await query` gives the page. */
interface InitialPage<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string | null;
  readonly total?: number;
}

/** The first answer, which a server has read: a page or the items of a list, or the value of a server query. */
export type InitialOf<State> =
  State extends LiveState<infer Item>
    ? InitialPage<Item> | readonly Item[]
    : State extends LiveValue<infer Value>
      ? Value
      : never;

export interface LiveStart<State> {
  /** The first answer, which a server has read: shown until the first result of the live query comes. */
  readonly initial?: InitialOf<State> | undefined;
}

/** The first answer in the form of a state. */
function initialParts(isList: boolean, initial: unknown): object {
  if (!isList) return { value: initial };
  const { items, nextCursor, total } = Array.isArray(initial) ? { items: initial } : (initial as InitialPage<unknown>);
  return { items, ...(nextCursor !== undefined && { nextCursor }), ...(total !== undefined && { total }) };
}

/** The state before an answer: what a server renders, and a page until the first result. */
export function startOf<State extends LiveState | LiveValue>(
  query: Watchable<State> | Skipped,
  { initial }: LiveStart<State>,
  retry: () => void = () => undefined,
): Shown<State> {
  const isSeeded = Boolean(query) && initial !== undefined;
  // A list has no items before the first result, and a server query no value.
  const parts = isSeeded && query ? initialParts("collection" in query.asked(), initial) : {};
  const status = isSeeded ? "initial" : query ? "loading" : "idle";
  // The parts are of the query's type: the types of `initial` and of the query say so.
  return { position: -1, items: [], ...parts, status, retry } as object as Shown<State>;
}

/** The compiler does not see that the spread of a `State` has the members of `Omit<State, …>`. */
function shownOf<State extends LiveState | LiveValue>(state: State, retry: () => void): Shown<State> {
  const shown: object = { ...state, retry };
  return shown as Shown<State>;
}

/** While the service cannot be reached, the items that the server has rendered stay. */
export function heldStart<State extends Pick<Shown<LiveState>, "status" | "error">>(
  start: State,
  { status, error }: State,
): State | null {
  if (start.status === "loading" || status !== "error" || error?.code !== "offline") return null;
  return { ...start, status: "offline", error };
}

const idle = startOf(null, {});

/** The store of a live query, or of a live server query. */
export function liveStore<State extends LiveState | LiveValue>(
  query: Watchable<State> | Skipped,
  { initial }: LiveStart<State> = {},
): Store<Shown<State>> {
  if (!query) return idleStore(idle as Shown<State>);
  const place = { client: sourceOf(query), key: `live ${JSON.stringify(query.asked())}`, initial };
  return sharedStore<Shown<State>, InitialOf<State>>(place, () => ({
    start: (first, retry) => startOf(query, { initial: first }, retry),
    open: (set, retry) => query.live((state) => set(shownOf(state, retry))),
    held: heldStart,
  }));
}

/** The state of a request: the data of the last answer, which stay while the request is sent again. */
export interface RequestState<Data> {
  /** `idle`: there is no query. */
  readonly status: "idle" | "loading" | "done" | "error";
  readonly data?: Data;
  readonly error?: unknown;
}

/** A query or a call that can be awaited. */
export interface Requestable<Data> extends PromiseLike<Data> {
  asked(): LiveQuery;
}

export interface RequestStart<Data> {
  /** The answer, which a server has read: nothing is asked before `reload`. */
  readonly initial?: Data | undefined;
}

/** The state of a request before an answer. */
export function requestStart<Data>(
  query: Requestable<Data> | Skipped,
  { initial }: RequestStart<Data>,
): RequestState<Data> {
  if (!query) return { status: "idle" };
  return initial === undefined ? { status: "loading" } : { status: "done", data: initial };
}

/** The store of a query that is read once, and again with `reload`. */
export function requestStore<Data>(
  query: Requestable<Data> | Skipped,
  { initial }: RequestStart<Data> = {},
): Store<RequestState<Data>> {
  if (!query) return idleStore(requestStart<Data>(null, {}));
  const place = { client: sourceOf(query), key: `request ${JSON.stringify(query.asked())}`, initial };
  return sharedStore<RequestState<Data>, Data>(place, () => {
    let last = requestStart<Data>(query, {});
    return {
      start(first) {
        last = requestStart(query, { initial: first });
        return last;
      },
      open(set) {
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
      },
      isAnswered: ({ status }) => status === "done",
    };
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
    run(...given) {
      state.set({ status: "pending", fields: {} });
      // An async function, so that `send` may throw, too. The promise itself is answered: a rejection that only the state tells is handled.
      const sent = (async () => send(...given))();
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
  readonly $source: object;
  readonly session: Observable<SessionUser | null | undefined>;
  me(options?: CallOptions): Promise<User>;
}

export interface SessionStart {
  /** The user for whom a server has rendered the page; null for nobody. */
  readonly initial?: User | null | undefined;
}

/** The state of a session before an answer. A server does not know the session of a page. */
export function sessionStart({ initial }: SessionStart): SessionState {
  return initial === undefined ? { status: "loading", user: null } : { status: "done", user: initial };
}

/** The store of the session: the signed-in user. */
export function sessionStore(client: SessionClient, { initial }: SessionStart = {}): Store<SessionState> {
  const { session } = client;
  let known: User | null | undefined;
  return sharedStore<SessionState, User | null>({ client: client.$source, key: "session", initial }, () => ({
    start(first) {
      known = first;
      return sessionStart({ initial: first === undefined && session.get() === null ? null : first });
    },
    open(set) {
      const ask = (): void => {
        const asked = session.get();
        // The user for whom a server has rendered the page stays, until the service says more of the user.
        const isKnown = asked && known && asked.userId === known.id;
        if (!isKnown) set(sessionStart({ initial: asked === null ? null : undefined }));
        // An answer for an earlier user comes too late.
        const tell = (state: SessionState): void => void (session.get() === asked && set(state));
        if (asked)
          client.me().then(
            (user) => tell({ status: "done", user }),
            (error: unknown) => tell({ status: "error", user: null, error }),
          );
      };
      ask();
      return session.subscribe(ask);
    },
  }));
}
