/** `@socle/client/store`: stores for the bindings of frameworks. */
export {
  liveStore,
  type Mutation,
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
} from "../store.ts";
