/** `@socle/svelte`: stores by the contract of Svelte, for live queries, queries, changes and the session. */
import type { LiveState, LiveValue } from "@socle/client";
import {
  liveStore,
  type MutationState,
  mutation as mutationOf,
  type Requestable,
  type RequestState,
  requestStore,
  type SessionClient,
  type SessionState,
  type Store,
  sessionStore,
  type Watchable,
} from "@socle/client/store";
import type { Readable } from "svelte/store";

/** A store of Svelte tells the present value at once. */
function readable<State>({ get, subscribe }: Pick<Store<State>, "get" | "subscribe">): Readable<State> {
  return {
    subscribe(listener) {
      // A store may have another state once it is open.
      const stop = subscribe(listener);
      listener(get());
      return stop;
    },
  };
}

/** The present result of a query, and of each change: `const tasks = live(socle.tasks.where({ done: false }))`, then `$tasks.items`. */
export function live<State extends LiveState | LiveValue>(query: Watchable<State>): Readable<State> {
  return readable(liveStore(query));
}

/** The result of a query that is read once, and again with `reload`. */
export function query<Data>(asked: Requestable<Data>): Readable<RequestState<Data>> & { readonly reload: () => void } {
  const store = requestStore(asked);
  return { ...readable(store), reload: store.reload };
}

/** A change and the state of the last call: `const create = mutation(socle.tasks.create)`, then `create.run({ … })` and `$create.fields`. */
export function mutation<Given extends readonly unknown[], Value>(
  send: (...given: Given) => Promise<Value>,
): Readable<MutationState<Value>> & { readonly run: (...given: Given) => Promise<Value> } {
  const change = mutationOf(send);
  return { ...readable(change), run: change.run };
}

/** The signed-in user of a client: `const session = auth(socle)`, then `$session.user`. */
export function auth(client: SessionClient): Readable<SessionState> {
  return readable(sessionStore(client));
}
