/** The TypeScript client of Socle. */
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
export type { MailAdmin, MailQuery } from "./admin-mails.ts";
export type { QueueQuery, RunQuery, ScriptAdmin } from "./admin-scripts.ts";
export type { AuthClient, SessionsClient } from "./auth.ts";
export type { TotpClient } from "./auth-factors.ts";
export type { KeysClient } from "./auth-keys.ts";
export type { PasskeySignIn, PasskeysClient } from "./auth-passkeys.ts";
export type { MailedProof, ProofsClient } from "./auth-proofs.ts";
export { type LinksClient, ProviderError, type ProviderVisit, type VisitOptions } from "./auth-providers.ts";
export type { Operation, RecordsOf } from "./batch.ts";
export {
  type Changes,
  type CollectionClient,
  type CollectionTypes,
  type EndpointCall,
  type NamedClient,
  type NewRecord,
  type RecordChange,
  type Registration,
  SocleClient,
  type VersionOptions,
} from "./client.ts";
export { SecondFactorRequired, SocleError } from "./error.ts";
export { type FilterValue, filter } from "./filter.ts";
export type { OnceOptions } from "./once.ts";
export type { PageQuery } from "./page-query.ts";
export type { Listener, SubscribeOptions } from "./realtime.ts";
export type { WebSocketConstructor, WebSocketLike } from "./socket.ts";
export type { StorageClient, UploadOptions } from "./storage.ts";
export type { ClientOptions, SendOptions, Tokens } from "./transport.ts";
