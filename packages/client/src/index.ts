/** The TypeScript client of Socle. */
export {
  type CollectionTypes,
  type ExpandedItem,
  type FilterValue,
  filter,
  type GroupItem,
  type Order,
  type SelectedItem,
  type Selection,
  type Where,
} from "@socle/protocol/query";
export type {
  AdminClient,
  CollectionAdmin,
  CollectionChange,
  EventQuery,
  FileQuery,
  LogQuery,
  UserAdmin,
  UserQuery,
} from "./admin.ts";
export type { BackupAdmin } from "./admin-backups.ts";
export type { FailureAdmin, FailureQuery } from "./admin-failures.ts";
export type { MailAdmin, MailQuery } from "./admin-mails.ts";
export type { QueueQuery, RunQuery, ScriptAdmin } from "./admin-scripts.ts";
export type { UndoAdmin, UndoSelection } from "./admin-undo.ts";
export type { AuthClient, SessionsClient } from "./auth.ts";
export type { TotpClient } from "./auth-factors.ts";
export type { KeysClient } from "./auth-keys.ts";
export type { PasskeySignIn, PasskeysClient } from "./auth-passkeys.ts";
export type { MailedProof, ProofsClient } from "./auth-proofs.ts";
export { type LinksClient, ProviderError, type ProviderVisit, type VisitOptions } from "./auth-providers.ts";
export type { Operation, RecordsOf } from "./batch.ts";
export {
  type AnyProject,
  ClientBase,
  type CreateOptions,
  createClient,
  type EndpointCall,
  type ProjectTypes,
  type Registration,
  type SearchHit,
  type SearchQuery,
  type Socle,
} from "./client.ts";
export type { ConnectionState } from "./connection.ts";
export type { AnyEndpoint, EndpointOptions, EndpointTree } from "./endpoints.ts";
export { SecondFactorRequired, SocleError, type SocleErrorCode } from "./error.ts";
export type { LiveFeature, LiveOptions, LiveState, LiveStatus, LiveValue } from "./live-types.ts";
export type { Observable } from "./observable.ts";
export type { PageQuery } from "./page-query.ts";
export { pageSession } from "./page-session.ts";
export type { GroupsQuery, QueryStart, RecordsQuery } from "./query-types.ts";
export type { Listener, SubscribeOptions } from "./realtime.ts";
export type {
  Changes,
  HistoryOf,
  HistoryOptions,
  NamedClient,
  NewRecord,
  RecordsClient,
  TrashOf,
  VersionOptions,
  WriteOptions,
} from "./records.ts";
export type { AnyRoom, JoinOptions, Member, MessageListener, Room, RoomClient, RoomStatus, RoomTypes } from "./room.ts";
export type { QueryCalls, ServerQuery } from "./server-queries.ts";
export type { SessionOption, SessionStore, SessionUser, Tokens } from "./session.ts";
export type { WebSocketConstructor, WebSocketLike } from "./socket.ts";
export { type CollectionClient, type RecordChange, SocleClient } from "./socle-client.ts";
export type { DeviceFile, StorageClient, UploadOptions } from "./storage.ts";
export type {
  CallOptions,
  ChangeOptions,
  ClientOptions,
  LogoutOptions,
  OnceOptions,
  SendOptions,
} from "./transport.ts";
