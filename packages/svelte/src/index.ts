/** `@socle/svelte`: stores by the contract of Svelte, for live queries, queries, changes and the session. */
import type { LiveState, LiveValue } from "@socle/client";
import {
  isPage,
  type LiveStart,
  livePagesStore,
  liveStore,
  type MutationState,
  mutation as mutationOf,
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
import type { Readable } from "svelte/store";

export { room } from "./room.ts";

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

/** A store that asks the service: in a page, not for a page that a server renders. */
function asking<State>({ get, subscribe }: Store<State>): Readable<State> {
  return readable({ get, subscribe: isPage() ? subscribe : () => () => undefined });
}

/**
 * The present result of a query, and of each change: `const tasks = live(socle.tasks.where({ done: false }))`, then `$tasks.items`.
 * `live(null)` asks for nothing. With `initial`, the page or the value that a server has read, the store begins with this answer.
 */
export function live<State extends LiveState | LiveValue>(
  query: Watchable<State> | Skipped,
  options?: LiveStart<State>,
): Readable<Shown<State>> {
  return asking(liveStore(query, options));
}

/**
 * A list that grows page by page, and is live as a whole: `const posts = livePages(socle.posts.limit(20))`, then `$posts.items`,
 * `$posts.hasNextPage` and `$posts.fetchNextPage()`.
 */
export function livePages<Item>(
  query: PagedQuery<Item> | Skipped,
  options?: LiveStart<LiveState<Item>>,
): Readable<PagesState<Item>> {
  return asking(livePagesStore(query, options));
}

/** The result of a query that is read once, and again with `reload`. With `initial`, a server has read the result. */
export function query<Data>(
  asked: Requestable<Data> | Skipped,
  options?: RequestStart<Data>,
): Readable<RequestState<Data>> & { readonly reload: () => void } {
  const store = requestStore(asked, options);
  return { ...asking(store), reload: store.reload };
}

/** A change and the state of the last call: `const create = mutation(socle.tasks.create)`, then `create.run({ … })` and `$create.fields`. */
export function mutation<Given extends readonly unknown[], Value>(
  send: (...given: Given) => Promise<Value>,
): Readable<MutationState<Value>> & { readonly run: (...given: Given) => Promise<Value> } {
  const change = mutationOf(send);
  return { ...readable(change), run: change.run };
}

/**
 * The signed-in user of a client: `const session = auth(socle)`, then `$session.user`. With `initial`, a server knows the user. A component begins as
 * a server has rendered the component, which does not know the session of the page.
 */
export function auth(client: SessionClient, options: SessionStart = {}): Readable<SessionState> {
  return {
    subscribe(listener) {
      listener(sessionStart(options));
      let stop = (): void => undefined;
      let isOver = !isPage();
      queueMicrotask(() => {
        if (!isOver) stop = readable(sessionStore(client, options)).subscribe(listener);
      });
      return () => {
        isOver = true;
        stop();
      };
    },
  };
}
