/** `@socle/vue`: composables for live queries, queries, changes and the session. */
import type { LiveState, LiveValue } from "@socle/client";
import {
  isPage,
  type LiveStart,
  livePagesStore,
  liveStore,
  type MutationState,
  mutation,
  type PagedQuery,
  type PagesState,
  type Requestable,
  type RequestStart,
  type RequestState,
  requestStore,
  type SessionClient,
  type SessionStart,
  type SessionState,
  type Shown,
  type Skipped,
  type Store,
  sessionStart,
  sessionStore,
  type Watchable,
} from "@socle/client/store";
import {
  getCurrentInstance,
  type MaybeRefOrGetter,
  onMounted,
  onScopeDispose,
  type ShallowRef,
  shallowRef,
  toValue,
  watch,
} from "vue";

export { useRoom } from "./room.ts";

/** Follows a store, and another store when the query depends on something that changes. A server, which renders a page, follows nothing. */
function follow<State>(storeNow: () => Store<State>): Readonly<ShallowRef<State>> {
  const state = shallowRef(storeNow().get());
  if (!isPage()) return state;
  let stop = (): void => undefined;
  watch(
    storeNow,
    (store) => {
      stop();
      stop = store.subscribe((next) => {
        state.value = next;
      });
      state.value = store.get();
    },
    { immediate: true },
  );
  onScopeDispose(() => stop());
  return state;
}

/** The stores of a query that may change: what a server has read belongs to the first query. */
function storesOf<Query extends { asked(): unknown }, Start, State>(
  query: MaybeRefOrGetter<Query | Skipped>,
  start: Start | undefined,
  storeOf: (query: Query | Skipped, start?: Start) => Store<State>,
): () => Store<State> {
  const keyOf = (asked: Query | Skipped): string => (asked ? JSON.stringify(asked.asked()) : "");
  const first = keyOf(toValue(query));
  return () => {
    const asked = toValue(query);
    return keyOf(asked) === first ? storeOf(asked, start) : storeOf(asked);
  };
}

/**
 * The present result of a query, and of each change: `const tasks = useLive(() => socle.tasks.where({ list: props.list }))`. Equal
 * queries share a subscription. Null in the place of a query asks for nothing. With `initial`, the page or the value that a server has
 * read, the component begins with this answer.
 */
export function useLive<State extends LiveState | LiveValue>(
  query: MaybeRefOrGetter<Watchable<State> | Skipped>,
  options?: LiveStart<State>,
): Readonly<ShallowRef<Shown<State>>> {
  return follow(storesOf<Watchable<State>, LiveStart<State>, Shown<State>>(query, options, liveStore));
}

/**
 * A list that grows page by page, and is live as a whole: `const posts = useLivePages(() => socle.posts.limit(20))`, then
 * `posts.value.items`, `posts.value.hasNextPage` and `posts.value.fetchNextPage()`.
 */
export function useLivePages<Item>(
  query: MaybeRefOrGetter<PagedQuery<Item> | Skipped>,
  options?: LiveStart<LiveState<Item>>,
): Readonly<ShallowRef<PagesState<Item>>> {
  return follow(
    storesOf<PagedQuery<Item>, LiveStart<LiveState<Item>>, PagesState<Item>>(query, options, livePagesStore),
  );
}

/** The result of a query that is read once, and again with `reload`. With `initial`, a server has read the result. */
export function useQuery<Data>(
  query: MaybeRefOrGetter<Requestable<Data> | Skipped>,
  options?: RequestStart<Data>,
): {
  readonly state: Readonly<ShallowRef<RequestState<Data>>>;
  readonly reload: () => void;
} {
  const store = storesOf<Requestable<Data>, RequestStart<Data>, RequestState<Data>>(query, options, requestStore);
  return { state: follow(store), reload: () => store().reload() };
}

/** A change and the state of the last call: `const { run, state } = useMutation(socle.tasks.create)`. */
export function useMutation<Given extends readonly unknown[], Value>(
  send: (...given: Given) => Promise<Value>,
): { readonly run: (...given: Given) => Promise<Value>; readonly state: Readonly<ShallowRef<MutationState<Value>>> } {
  const change = mutation(send);
  const state = shallowRef(change.get());
  const stop = change.subscribe((next) => {
    state.value = next;
  });
  onScopeDispose(stop);
  return { run: change.run, state };
}

/**
 * The signed-in user of a client: `const session = useAuth(socle)`. With `initial`, a server knows the user. A component begins as a server has
 * rendered the component, which does not know the session of the page.
 */
export function useAuth(client: SessionClient, options: SessionStart = {}): Readonly<ShallowRef<SessionState>> {
  const state = shallowRef(sessionStart(options));
  if (!isPage()) return state;
  let stop = (): void => undefined;
  const begin = (): void => {
    const store = sessionStore(client, options);
    stop = store.subscribe((next) => {
      state.value = next;
    });
    state.value = store.get();
  };
  if (getCurrentInstance() === null) begin();
  else onMounted(begin);
  onScopeDispose(() => stop());
  return state;
}
