/** The TypeScript client of Socle. */
export { type CollectionClient, type CollectionTypes, type NewRecord, SocleClient } from "./client.ts";
export { SocleError } from "./error.ts";
export { type FilterValue, filter } from "./filter.ts";
export type { Listener, SubscribeOptions } from "./realtime.ts";
export type { WebSocketConstructor, WebSocketLike } from "./socket.ts";
export type { StorageClient } from "./storage.ts";
export type { ClientOptions } from "./transport.ts";
