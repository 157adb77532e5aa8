/** `@socle/client/store`: stores for the bindings of frameworks. */
export { livePagesStore, type PagedQuery, type PagesState, pagesStart } from "../live-pages.ts";
export { isPage, type Store } from "../open-store.ts";
export { type RoomStore, type RoomView, roomStore } from "../room-store.ts";
export {
  type InitialOf,
  type LiveStart,
  liveStore,
  type Mutation,
  type MutationState,
  mutation,
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
  sessionStart,
  sessionStore,
  startOf,
  type Watchable,
} from "../store.ts";
