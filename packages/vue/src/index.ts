/** `@socle/vue`: composables for live queries, queries, changes and the session. */
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
import { type MaybeRefOrGetter, onScopeDispose, type ShallowRef, shallowRef, toValue, watch } from "vue";

/** Follows a store, and another store when the query depends on something that changes. */
function follow<State>(storeNow: () => Store<State>): Readonly<ShallowRef<State>> {
  const state = shallowRef(storeNow().get());
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

/**
 * The present result of a query, and of each change: `const tasks = useLive(() => socle.tasks.where({ list: props.list }))`. Equal
 * queries share a subscription.
 */
export function useLive<State extends LiveState | LiveValue>(
  query: MaybeRefOrGetter<Watchable<State>>,
): Readonly<ShallowRef<State>> {
  return follow(() => liveStore(toValue(query)));
}

/** The result of a query that is read once, and again with `reload`. */
export function useQuery<Data>(query: MaybeRefOrGetter<Requestable<Data>>): {
  readonly state: Readonly<ShallowRef<RequestState<Data>>>;
  readonly reload: () => void;
} {
  const store = (): Store<RequestState<Data>> => requestStore(toValue(query));
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

/** The signed-in user of a client: `const session = useAuth(socle)`. */
export function useAuth(client: SessionClient): Readonly<ShallowRef<SessionState>> {
  return follow(() => sessionStore(client));
}
