/** The TypeScript client of Socle. */
export type {
  AdminClient,
  CollectionAdmin,
  CollectionChange,
  EventQuery,
  FileQuery,
  LogQuery,
  PageQuery,
  QueueQuery,
  RunQuery,
  ScriptAdmin,
  UserAdmin,
  UserQuery,
} from "./admin.ts";
export type { Operation, RecordsOf } from "./batch.ts";
export {
  type Changes,
  type CollectionClient,
  type CollectionTypes,
  type EndpointCall,
  type NewRecord,
  type RecordChange,
  SocleClient,
  type VersionOptions,
} from "./client.ts";
export { SocleError } from "./error.ts";
export { type FilterValue, filter } from "./filter.ts";
export type { OnceOptions } from "./once.ts";
export type { Listener, SubscribeOptions } from "./realtime.ts";
export type { WebSocketConstructor, WebSocketLike } from "./socket.ts";
export type { StorageClient, UploadOptions } from "./storage.ts";
export type { ClientOptions, SendOptions, Tokens } from "./transport.ts";
