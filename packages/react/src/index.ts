/** `@socle/react`: hooks for live queries, queries, changes and the session. */
import type { LiveState, LiveValue } from "@socle/client";
import {
  type InitialOf,
  type LiveStart,
  livePagesStore,
  liveStore,
  type MutationState,
  mutation,
  type PagedQuery,
  type PagesState,
  pagesStart,
  type Requestable,
  type RequestStart,
  type RequestState,
  requestStart,
  requestStore,
  type SessionClient,
  type SessionStart,
  type SessionState,
  type Shown,
  type Skipped,
  type Store,
  sessionStart,
  sessionStore,
  startOf,
  type Watchable,
} from "@socle/client/store";
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";

export { useRoom } from "./room.ts";

export interface HookOptions {
  /** Suspends the component until there is something to show, and throws errors to the next error boundary. */
  suspense?: boolean;
  /** Throws errors to the next error boundary. When the boundary shows the component again, the query is asked anew. */
  throwOnError?: boolean;
}

/** A store, and the state that a server renders and that a page begins with. */
interface Source<State> {
  readonly store: Store<State>;
  readonly start: () => State;
  /** Whether a server has read the first answer. */
  readonly isSeeded: boolean;
}

function useStore<State extends { readonly status: string; readonly error?: unknown }>(
  { store, start, isSeeded }: Source<State>,
  { suspense = false, throwOnError = suspense }: HookOptions,
): State {
  // A suspended component has waited for the state of the store, on a server, too.
  const [first] = useState(suspense && !isSeeded ? store.get : start);
  const state = useSyncExternalStore(store.subscribe, store.get, () => first);
  if (suspense && state.status === "loading") throw store.ready();
  // With a next page that has failed, the status is another.
  if (throwOnError && state.status === "error") {
    store.forget();
    throw state.error;
  }
  return state;
}

/** The part of a first answer that stays the same object: the page itself may be a new object in each rendering. */
function identityOf(initial: unknown): unknown {
  return typeof initial === "object" && initial !== null && "items" in initial ? initial.items : initial;
}

/** The first answer, for the query with which the answer came: when the query changes later, the answer is for no query. */
function useInitial<Initial>(
  query: { asked(): unknown } | Skipped,
  initial: Initial | undefined,
): { readonly initial: Initial | undefined } {
  const key = query ? JSON.stringify(query.asked()) : "";
  const identity = identityOf(initial);
  const given = useRef({ key, identity });
  if (given.current.identity !== identity) given.current = { key, identity };
  return { initial: given.current.key === key ? initial : undefined };
}

/**
 * The present result of a query, and of each change: `useLive(socle.tasks.where({ done: false }))`. Equal queries share a
 * subscription, so the query may be written in the component. `useLive(null)` asks for nothing. With `initial`, the page or the value that a server
 * has read, the component begins with this answer.
 */
export function useLive<State extends LiveState | LiveValue>(
  query: Watchable<State> | Skipped,
  options: HookOptions & LiveStart<State> = {},
): Shown<State> {
  const first = useInitial<InitialOf<State>>(query, options.initial);
  const isSeeded = first.initial !== undefined;
  return useStore({ store: liveStore(query, first), start: () => startOf(query, first), isSeeded }, options);
}

/**
 * A list that grows page by page, and is live as a whole: `useLivePages(socle.posts.orderBy("-createdAt").limit(20))`. The state has
 * `hasNextPage`, `isFetchingNextPage` and `fetchNextPage`.
 */
export function useLivePages<Item>(
  query: PagedQuery<Item> | Skipped,
  options: HookOptions & LiveStart<LiveState<Item>> = {},
): PagesState<Item> {
  const first = useInitial<InitialOf<LiveState<Item>>>(query, options.initial);
  const isSeeded = first.initial !== undefined;
  return useStore({ store: livePagesStore(query, first), start: () => pagesStart(query, first), isSeeded }, options);
}

/** The result of a query that is read once, and again with `reload`. With `initial`, a server has read the result. */
export function useQuery<Data>(
  query: Requestable<Data> | Skipped,
  options: HookOptions & RequestStart<Data> = {},
): RequestState<Data> & { readonly reload: () => void } {
  const first = useInitial(query, options.initial);
  const isSeeded = first.initial !== undefined;
  const store = requestStore(query, first);
  return { ...useStore({ store, start: () => requestStart(query, first), isSeeded }, options), reload: store.reload };
}

/**
 * A change and the state of the last call: `const [create, { status, fields }] = useMutation(socle.tasks.create)`. The function stays
 * the same for the life of the component.
 */
export function useMutation<Given extends readonly unknown[], Value>(
  send: (...given: Given) => Promise<Value>,
): readonly [run: (...given: Given) => Promise<Value>, state: MutationState<Value>] {
  const latest = useRef(send);
  useEffect(() => {
    latest.current = send;
  });
  const change = useMemo(() => mutation((...given: Given) => latest.current(...given)), []);
  return [change.run, useSyncExternalStore(change.subscribe, change.get, change.get)];
}

/** The signed-in user of a client: `const { user, status } = useAuth(socle)`. With `initial`, a server knows the user. */
export function useAuth(client: SessionClient, options: HookOptions & SessionStart = {}): SessionState {
  const { initial } = options;
  const start = (): SessionState => sessionStart({ initial });
  return useStore({ store: sessionStore(client, { initial }), start, isSeeded: initial !== undefined }, options);
}
