/** The admin API of a service, for users with the role admin; any other caller gets 403. Every method throws `SocleError`. */
import type {
  ApiKey,
  ChangedField,
  CollectionDefinition,
  CollectionEntry,
  ConfigEntry,
  Credentials,
  EffectiveConfig,
  EventEntry,
  FileUse,
  IndexDefinition,
  Invitation,
  JsonValue,
  Link,
  ListPlan,
  LogEntry,
  LogLevel,
  LogLevelState,
  MigrationPlan,
  Operation,
  Overview,
  Page,
  Permissions,
  ProviderSetup,
  ReadOnlyMode,
  Role,
  RuleEffects,
  RuleTrial,
  RuleTrialRequest,
  SavedView,
  SavedViewContent,
  Schema,
  ServiceStatus,
  SocketPage,
  SqlAnswer,
  StoredFile,
  Trace,
  User,
  UserEntry,
  UserFactors,
  Visibility,
} from "@socle/protocol";
import { BackupAdmin } from "./admin-backups.ts";
import { FailureAdmin } from "./admin-failures.ts";
import { MailAdmin } from "./admin-mails.ts";
import { ScriptAdmin } from "./admin-scripts.ts";
import { UndoAdmin } from "./admin-undo.ts";
import { KeysClient } from "./auth-keys.ts";
import type { PageQuery } from "./page-query.ts";
import { searchOf } from "./search.ts";
import { readServerEvents } from "./server-events.ts";
import type { CallOptions, Requests } from "./transport.ts";

export interface UserQuery extends PageQuery {
  /** A part of the email. */
  search?: string | undefined;
  role?: Role | undefined;
}

export interface FileQuery extends PageQuery {
  /** A part of the name, without regard to case. */
  search?: string | undefined;
  visibility?: Visibility | undefined;
  /** The id of the owner. */
  userId?: string | undefined;
}

export interface LogQuery extends PageQuery {
  /** Levels, separated by commas. */
  level?: string | undefined;
  /** A part of the message, the source, the request's id or a field, without regard to case. */
  search?: string | undefined;
}

export interface EventQuery extends PageQuery {
  /** Event types, separated by commas; a type may end with `*`. */
  type?: string | undefined;
  /** RFC 3339, both included. */
  from?: string | undefined;
  to?: string | undefined;
  /** The id of the user behind the event. */
  actor?: string | undefined;
  /** The id of the user whom the event is about: sign-ins, and changes of the account by admins. */
  about?: string | undefined;
}

export interface CollectionChange {
  /** Another name, beside the present name in `renamedFrom`. */
  name?: string;
  renamedFrom?: string;
  /** The SELECT of a view. */
  query?: string;
  fields?: ChangedField[];
  permissions?: Permissions | null;
  indexes?: IndexDefinition[] | null;
  search?: string[] | null;
}

export interface DefinitionTrial {
  definition: CollectionChange;
  /** The number of users without the role admin, from the oldest to the newest; 20 by default, 100 at most. */
  sample?: number;
  /** The id of a further user. */
  as?: string | null;
  /** By default, `read` and each operation with another rule. */
  operation?: Operation;
}

/** Collections and migrations. `plan…` changes nothing and answers the changes that would be made. */
export class CollectionAdmin {
  readonly #transport: Requests;

  constructor(transport: Requests) {
    this.#transport = transport;
  }

  list(query: PageQuery = {}): Promise<Page<CollectionEntry>> {
    return this.#transport.call("GET", `/api/admin/collections${searchOf(query)}`);
  }

  get(name: string): Promise<CollectionEntry> {
    return this.#transport.call("GET", path(name));
  }

  create(definition: CollectionDefinition): Promise<CollectionEntry> {
    return this.#transport.call("POST", "/api/admin/collections", { body: definition });
  }

  planCreate(definition: CollectionDefinition): Promise<MigrationPlan> {
    return this.#transport.call("POST", "/api/admin/collections?dryRun=true", { body: definition });
  }

  update(name: string, change: CollectionChange): Promise<CollectionEntry> {
    return this.#transport.call("PUT", path(name), { body: change });
  }

  planUpdate(name: string, change: CollectionChange): Promise<MigrationPlan> {
    return this.#transport.call("PUT", `${path(name)}?dryRun=true`, { body: change });
  }

  async delete(name: string): Promise<void> {
    await this.#transport.fetch("DELETE", path(name));
  }

  /** Removes the deleted records of a collection for good. Answers the number. */
  emptyTrash(name: string): Promise<{ removed: number }> {
    return this.#transport.call("DELETE", `${path(name)}/trash`);
  }

  planDelete(name: string): Promise<MigrationPlan> {
    return this.#transport.call("DELETE", `${path(name)}?dryRun=true`);
  }

  /**
   * Tries an operation as a user or as an anonymous caller: the answer, and the rules that decide the answer. Changes nothing.
   */
  try(name: string, trial: RuleTrialRequest): Promise<RuleTrial> {
    return this.#transport.call("POST", `${path(name)}/try`, { body: trial });
  }

  /** Reads a list or a record as a user or as an anonymous caller; the look is in the audit. Changes no record. */
  viewAs<Answer = JsonValue>(
    name: string,
    look: Pick<RuleTrialRequest, "as" | "id" | "query">,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<RuleTrial<Answer>> {
    return this.#transport.call("POST", `${path(name)}/view-as`, { body: look, signal });
  }

  /** The records that users gain and lose by a definition that is not saved. Changes nothing. */
  tryDefinition(name: string, trial: DefinitionTrial): Promise<RuleEffects> {
    return this.#transport.call("POST", `${path(name)}/try`, { body: trial });
  }

  /** The saved views of a collection, by name: the filters, sorts and columns that admins share. */
  async savedViews(name: string): Promise<SavedView[]> {
    return (await this.#transport.call<{ items: SavedView[] }>("GET", `${path(name)}/saved-views`)).items;
  }

  /** Makes a saved view, or replaces the view of the name. */
  saveView(name: string, view: string, content: SavedViewContent): Promise<SavedView> {
    return this.#transport.call("PUT", `${path(name)}/saved-views/${encodeURIComponent(view)}`, { body: content });
  }

  async deleteView(name: string, view: string): Promise<void> {
    await this.#transport.fetch("DELETE", `${path(name)}/saved-views/${encodeURIComponent(view)}`);
  }

  /** Runs the first page of a list, and answers SQLite's plan and the index that would help. */
  explain(name: string, query: { [parameter: string]: string | undefined }): Promise<ListPlan> {
    return this.#transport.call("GET", `${path(name)}/explain${searchOf(query)}`);
  }

  /** All definitions. */
  schema(): Promise<Schema> {
    return this.#transport.call("GET", "/api/admin/schema.json");
  }
}

/** Users, roles, passwords and sessions. */
export class UserAdmin {
  readonly #transport: Requests;

  constructor(transport: Requests) {
    this.#transport = transport;
  }

  list(query: UserQuery = {}): Promise<Page<User>> {
    return this.#transport.call("GET", `/api/admin/users${searchOf(query)}`);
  }

  get(id: string): Promise<UserEntry> {
    return this.#transport.call("GET", userPath(id));
  }

  /** The user may have the fields that the project defines for users. */
  create(user: Credentials & { role?: Role; [field: string]: unknown }): Promise<User> {
    return this.#transport.call("POST", "/api/admin/users", { body: user });
  }

  /** Mails an invitation. `data` has fields of the future user. */
  invite(invitation: { email: string; role?: Role; data?: object }): Promise<Invitation> {
    return this.#transport.call("POST", "/api/admin/invitations", { body: invitation });
  }

  setRole(id: string, role: Role): Promise<User> {
    return this.#transport.call("PATCH", userPath(id), { body: { role } });
  }

  /** Ends every session of the user but the caller's own. */
  setPassword(id: string, password: string): Promise<User> {
    return this.#transport.call("POST", `${userPath(id)}/password`, { body: { password } });
  }

  /** Mails the user a link that sets a new password. */
  async sendReset(id: string): Promise<void> {
    await this.#transport.fetch("POST", `${userPath(id)}/reset`);
  }

  /** Mails the user a link that proves the address. */
  async sendVerification(id: string): Promise<void> {
    await this.#transport.fetch("POST", `${userPath(id)}/verification`);
  }

  factors(id: string): Promise<UserFactors> {
    return this.#transport.call("GET", `${userPath(id)}/factors`);
  }

  /** Removes every second factor of a user who has lost the factors. */
  async removeFactors(id: string): Promise<void> {
    await this.#transport.fetch("DELETE", `${userPath(id)}/factors`);
  }

  /** Removes a second factor of a user. @param factor `totp`, or the id of a passkey. */
  async removeFactor(id: string, factor: string): Promise<void> {
    await this.#transport.fetch("DELETE", `${userPath(id)}/factors/${encodeURIComponent(factor)}`);
  }

  /** The accounts at providers by which a user can sign in. */
  async links(id: string): Promise<Link[]> {
    return (await this.#transport.call<{ items: Link[] }>("GET", `${userPath(id)}/links`)).items;
  }

  /** Removes a link of a user, also the last way to sign in. */
  async removeLink(id: string, provider: string): Promise<void> {
    await this.#transport.fetch("DELETE", `${userPath(id)}/links/${encodeURIComponent(provider)}`);
  }

  /** The API keys of a user. */
  keys(id: string, query: PageQuery = {}): Promise<Page<ApiKey>> {
    return this.#transport.call("GET", `${userPath(id)}/keys${searchOf(query)}`);
  }

  async deleteKey(id: string, keyId: string): Promise<void> {
    await this.#transport.fetch("DELETE", `${userPath(id)}/keys/${encodeURIComponent(keyId)}`);
  }

  async endSession(id: string, sessionId: string): Promise<void> {
    await this.#transport.fetch("DELETE", `${userPath(id)}/sessions/${encodeURIComponent(sessionId)}`);
  }

  async delete(id: string): Promise<void> {
    await this.#transport.fetch("DELETE", userPath(id));
  }
}

export class AdminClient {
  readonly collections: CollectionAdmin;
  readonly users: UserAdmin;
  readonly scripts: ScriptAdmin;
  readonly mails: MailAdmin;
  readonly failures: FailureAdmin;
  readonly undo: UndoAdmin;
  readonly backups: BackupAdmin;
  /** The service keys. */
  readonly keys: KeysClient;
  readonly #transport: Requests;

  constructor(transport: Requests) {
    this.#transport = transport;
    this.collections = new CollectionAdmin(transport);
    this.users = new UserAdmin(transport);
    this.scripts = new ScriptAdmin(transport);
    this.mails = new MailAdmin(transport);
    this.failures = new FailureAdmin(transport);
    this.undo = new UndoAdmin(transport);
    this.backups = new BackupAdmin(transport);
    this.keys = new KeysClient(transport, "/api/admin/keys");
  }

  /** The open sockets of all instances, with the channels and live queries of each. */
  sockets(query: PageQuery & { user?: string | undefined } = {}): Promise<SocketPage> {
    return this.#transport.call("GET", `/api/admin/sockets${searchOf(query)}`);
  }

  overview(): Promise<Overview> {
    return this.#transport.call("GET", "/api/admin/overview");
  }

  /** The conditions of the service that are not well, the worst first, each with the remedy. */
  status(): Promise<ServiceStatus> {
    return this.#transport.call("GET", "/api/admin/status");
  }

  /** Runs a SELECT, and answers the first 1,000 rows with the plan. 409 while another statement of the admin runs; an abort ends the statement. */
  sql(sql: string, options: CallOptions = {}): Promise<SqlAnswer> {
    return this.#transport.call("POST", "/api/admin/sql", { body: { sql }, ...options });
  }

  /** The plan of a SELECT, which does not run. */
  sqlPlan(sql: string): Promise<SqlAnswer> {
    return this.#transport.call("POST", "/api/admin/sql?dryRun=true", { body: { sql } });
  }

  /** Whether the service refuses changes. */
  readOnly(): Promise<ReadOnlyMode> {
    return this.#transport.call("GET", "/api/admin/read-only");
  }

  /** Refuses changes from now on, or takes changes again. */
  setReadOnly(on: boolean): Promise<ReadOnlyMode> {
    return this.#transport.call("PUT", "/api/admin/read-only", { body: { on } });
  }

  /** The lowest level that is logged. */
  logLevel(): Promise<LogLevelState> {
    return this.#transport.call("GET", "/api/admin/logs/level");
  }

  /** Logs from another level on, until the next start. */
  setLogLevel(level: LogLevelState["level"]): Promise<LogLevelState> {
    return this.#transport.call("PUT", "/api/admin/logs/level", { body: { level } });
  }

  /** The configuration in force, and the source of each value. Secrets are left out. */
  config(): Promise<EffectiveConfig> {
    return this.#transport.call("GET", "/api/admin/config");
  }

  /** Loads functions, jobs, endpoints, texts of mails and rooms again; the log tells the outcome. */
  async reloadCode(): Promise<void> {
    await this.#transport.fetch("POST", "/api/admin/scripts/reload");
  }

  /** Changes a live setting, at once and for the next starts: `setSetting("mail.keep", "7d")`. Null for the default. */
  setSetting(key: string, value: JsonValue): Promise<ConfigEntry> {
    return this.#transport.call("PUT", `/api/admin/config/${encodeURIComponent(key)}`, { body: { value } });
  }

  /** The providers of the configuration, and the presets that the configuration does not name; without secrets. */
  async providers(): Promise<ProviderSetup[]> {
    return (await this.#transport.call<Page<ProviderSetup>>("GET", "/api/admin/providers?limit=1000")).items;
  }

  /** The OpenAPI document of the service. */
  openApi(): Promise<object> {
    return this.#transport.call("GET", "/api/openapi.json");
  }

  /** Metadata of stored files, newest first. */
  files(query: FileQuery = {}): Promise<Page<StoredFile>> {
    return this.#transport.call("GET", `/api/admin/storage${searchOf(query)}`);
  }

  file(id: string): Promise<StoredFile> {
    return this.#transport.call("GET", `/api/admin/storage/${encodeURIComponent(id)}`);
  }

  setVisibility(id: string, visibility: Visibility): Promise<StoredFile> {
    return this.#transport.call("PATCH", `/api/admin/storage/${encodeURIComponent(id)}`, { body: { visibility } });
  }

  /** The records that hold the id of a file. */
  fileUses(id: string, query: PageQuery = {}): Promise<Page<FileUse>> {
    return this.#transport.call("GET", `/api/admin/storage/${encodeURIComponent(id)}/records${searchOf(query)}`);
  }

  /** The newest entries of the log, oldest first. */
  logs(query: LogQuery = {}): Promise<Page<LogEntry>> {
    return this.#transport.call("GET", `/api/admin/logs${searchOf(query)}`);
  }

  /**
   * The entries of the log from now on, until the signal aborts. Resolves when the service ends the stream: at a restart,
   * or when the access token expires. The method can be called again then.
   */
  tailLogs(
    listener: (entry: LogEntry) => void,
    options: TailOptions & { levels?: readonly LogLevel[] },
  ): Promise<void> {
    const level = options.levels?.join(",");
    return this.#tail(`/api/admin/logs/stream${searchOf({ level })}`, listener, options);
  }

  /** The event log, newest first. */
  events(query: EventQuery = {}): Promise<Page<EventEntry>> {
    return this.#transport.call("GET", `/api/admin/events${searchOf(query)}`);
  }

  /** All that followed from a first cause. @param id of any part: a request, an event, a run, an import, an undo or a mail. */
  trace(id: string): Promise<Trace> {
    return this.#transport.call("GET", `/api/admin/trace/${encodeURIComponent(id)}`);
  }

  /** The events from now on, with the audit, as `tailLogs` gives the entries of the log. */
  tailEvents(listener: (event: EventEntry) => void, options: TailOptions): Promise<void> {
    return this.#tail("/api/admin/events/stream", listener, options);
  }

  async #tail<T>(address: string, listener: (item: T) => void, { signal, onOpen }: TailOptions): Promise<void> {
    const response = await this.#transport.fetch("GET", address, { signal });
    onOpen?.();
    await readServerEvents(response, (data) => listener(JSON.parse(data) as T));
  }
}

export interface TailOptions {
  signal: AbortSignal;
  /** Called when the stream is open: everything that happens from here on is heard. */
  onOpen?: () => void;
}

function path(name: string): string {
  return `/api/admin/collections/${encodeURIComponent(name)}`;
}

function userPath(id: string): string {
  return `/api/admin/users/${encodeURIComponent(id)}`;
}
