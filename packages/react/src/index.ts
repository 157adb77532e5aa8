/** `@socle/react`: hooks for live queries, queries, changes and the session. */
import type { LiveState, LiveValue } from "@socle/client";
import {
  liveStore,
  type MutationState,
  mutation,
  type Requestable,
  type RequestState,
  requestStore,
  type SessionClient,
  type SessionState,
  type Store,
  sessionStore,
  type Watchable,
} from "@socle/client/store";
import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";

export interface HookOptions {
  /** Suspends the component until there is something to show, and throws errors to the next error boundary. */
  suspense?: boolean;
}

function useStore<State extends { readonly status: string; readonly error?: unknown }>(
  store: Store<State>,
  { suspense }: HookOptions = {},
): State {
  const state = useSyncExternalStore(store.subscribe, store.get, store.get);
  if (suspense === true && state.status === "loading") throw store.ready();
  if (suspense === true && state.status === "error") throw state.error;
  return state;
}

/**
 * The present result of a query, and of each change: `useLive(socle.tasks.where({ done: false }))`. Equal queries share a
 * subscription, so the query may be written in the component.
 */
export function useLive<State extends LiveState | LiveValue>(query: Watchable<State>, options?: HookOptions): State {
  return useStore(liveStore(query), options);
}

/** The result of a query that is read once, and again with `reload`. */
export function useQuery<Data>(
  query: Requestable<Data>,
  options?: HookOptions,
): RequestState<Data> & { readonly reload: () => void } {
  const store = requestStore(query);
  return { ...useStore(store, options), reload: store.reload };
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

/** The signed-in user of a client: `const { user, status } = useAuth(socle)`. */
export function useAuth(client: SessionClient, options?: HookOptions): SessionState {
  return useStore(sessionStore(client), options);
}
