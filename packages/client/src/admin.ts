/** The admin API of a service, for users with the role admin; any other caller gets 403. Every method throws `SocleError`. */
import type {
  ChangedField,
  CollectionDefinition,
  CollectionEntry,
  Credentials,
  EffectiveConfig,
  EndpointEntry,
  EventEntry,
  FileUse,
  FunctionEntry,
  FunctionRun,
  IndexDefinition,
  JobEntry,
  JobRun,
  LogEntry,
  LogLevel,
  MigrationPlan,
  NewQueueRun,
  Overview,
  Page,
  Permissions,
  QueueRun,
  QueueRunDetail,
  Role,
  RuleTrial,
  RuleTrialRequest,
  Schema,
  ScriptFileEntry,
  SourceExcerpt,
  StoredFile,
  User,
  UserEntry,
  Visibility,
} from "@socle/protocol";
import { searchOf } from "./search.ts";
import { readServerEvents } from "./server-events.ts";
import type { Transport } from "./transport.ts";

/** A part of a list. */
export interface PageQuery {
  /** 50 unless said otherwise, 1,000 at most. */
  limit?: number | undefined;
  /** Counts from 0. */
  offset?: number | undefined;
}

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

export interface RunQuery extends PageQuery {
  status?: FunctionRun["status"] | undefined;
  /** A file of functions: `functions/posts/notify.ts`. */
  filePath?: string | undefined;
}

export interface QueueQuery extends PageQuery {
  /** Absent: runs that wait and runs that run. */
  status?: QueueRun["status"] | undefined;
}

export interface CollectionChange {
  /** Another name, beside the present name in `renamedFrom`. */
  name?: string;
  renamedFrom?: string;
  fields?: ChangedField[];
  permissions?: Permissions | null;
  indexes?: IndexDefinition[] | null;
  search?: string[] | null;
}

/** Collections and migrations. `plan…` changes nothing and answers the changes that would be made. */
export class CollectionAdmin {
  readonly #transport: Transport;

  constructor(transport: Transport) {
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

  planDelete(name: string): Promise<MigrationPlan> {
    return this.#transport.call("DELETE", `${path(name)}?dryRun=true`);
  }

  /**
   * Tries an operation as a user or as an anonymous caller: the answer, and the rules that decide the answer. Changes nothing.
   */
  try(name: string, trial: RuleTrialRequest): Promise<RuleTrial> {
    return this.#transport.call("POST", `${path(name)}/try`, { body: trial });
  }

  /** All definitions. */
  schema(): Promise<Schema> {
    return this.#transport.call("GET", "/api/admin/schema.json");
  }
}

/** Users, roles, passwords and sessions. */
export class UserAdmin {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: UserQuery = {}): Promise<Page<User>> {
    return this.#transport.call("GET", `/api/admin/users${searchOf(query)}`);
  }

  get(id: string): Promise<UserEntry> {
    return this.#transport.call("GET", userPath(id));
  }

  create(user: Credentials & { role?: Role }): Promise<User> {
    return this.#transport.call("POST", "/api/admin/users", { body: user });
  }

  setRole(id: string, role: Role): Promise<User> {
    return this.#transport.call("PATCH", userPath(id), { body: { role } });
  }

  /** Ends every session of the user but the caller's own. */
  setPassword(id: string, password: string): Promise<User> {
    return this.#transport.call("POST", `${userPath(id)}/password`, { body: { password } });
  }

  async endSession(id: string, sessionId: string): Promise<void> {
    await this.#transport.fetch("DELETE", `${userPath(id)}/sessions/${encodeURIComponent(sessionId)}`);
  }

  async delete(id: string): Promise<void> {
    await this.#transport.fetch("DELETE", userPath(id));
  }
}

/** Functions and jobs: files, runs, and running a run again. */
export class ScriptAdmin {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The files of functions and jobs, with the result of the last load. */
  files(query: PageQuery = {}): Promise<Page<ScriptFileEntry>> {
    return this.#transport.call("GET", `/api/admin/scripts${searchOf(query)}`);
  }

  functions(query: PageQuery = {}): Promise<Page<FunctionEntry>> {
    return this.#transport.call("GET", `/api/admin/functions${searchOf(query)}`);
  }

  endpoints(query: PageQuery = {}): Promise<Page<EndpointEntry>> {
    return this.#transport.call("GET", `/api/admin/endpoints${searchOf(query)}`);
  }

  functionRuns(query: RunQuery = {}): Promise<Page<FunctionRun>> {
    return this.#transport.call("GET", `/api/admin/functions/runs${searchOf(query)}`);
  }

  /** Runs a run again that has failed for good. */
  retryFunction(runId: string): Promise<{ runId: string }> {
    return this.#transport.call("POST", `/api/admin/functions/runs/${encodeURIComponent(runId)}/retry`);
  }

  /** The lines around the place of the last error of a run, of a function or a job; null without a place. */
  runSource(runId: string): Promise<{ source: SourceExcerpt | null }> {
    return this.#transport.call("GET", `/api/admin/runs/${encodeURIComponent(runId)}/source`);
  }

  jobs(query: PageQuery = {}): Promise<Page<JobEntry>> {
    return this.#transport.call("GET", `/api/admin/jobs${searchOf(query)}`);
  }

  /** Attempts, newest first. */
  jobRuns(name: string, query: PageQuery = {}): Promise<Page<JobRun>> {
    return this.#transport.call("GET", `/api/admin/jobs/${encodeURIComponent(name)}/runs${searchOf(query)}`);
  }

  /** Starts a job now, once. */
  runJob(name: string): Promise<{ runId: string }> {
    return this.#transport.call("POST", `/api/admin/jobs/${encodeURIComponent(name)}/run`);
  }

  /** Adds a run to the queue of a job. Answers the waiting run with the same key, if the queue has that run. */
  enqueue(name: string, run: NewQueueRun = {}): Promise<{ runId: string }> {
    return this.#transport.call("POST", `/api/admin/jobs/${encodeURIComponent(name)}/enqueue`, { body: run });
  }

  /** Runs of a queue that are not over; with `status: "failed"`, runs that have failed for good. */
  queue(name: string, query: QueueQuery = {}): Promise<Page<QueueRun>> {
    return this.#transport.call("GET", `/api/admin/jobs/${encodeURIComponent(name)}/queue${searchOf(query)}`);
  }

  /** A run of a queue, with the payload. */
  queueRun(name: string, runId: string): Promise<QueueRunDetail> {
    return this.#transport.call("GET", queuePath(name, runId));
  }

  /** Deletes a run of a queue that waits, or has failed for good. */
  async deleteQueued(name: string, runId: string): Promise<void> {
    await this.#transport.fetch("DELETE", queuePath(name, runId));
  }

  /** Runs a run of a queue again that has failed for good. */
  retryQueued(name: string, runId: string): Promise<{ runId: string }> {
    return this.#transport.call("POST", `${queuePath(name, runId)}/retry`);
  }
}

function queuePath(name: string, runId: string): string {
  return `/api/admin/jobs/${encodeURIComponent(name)}/queue/${encodeURIComponent(runId)}`;
}

export class AdminClient {
  readonly collections: CollectionAdmin;
  readonly users: UserAdmin;
  readonly scripts: ScriptAdmin;
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
    this.collections = new CollectionAdmin(transport);
    this.users = new UserAdmin(transport);
    this.scripts = new ScriptAdmin(transport);
  }

  overview(): Promise<Overview> {
    return this.#transport.call("GET", "/api/admin/overview");
  }

  /** The configuration in force, and the source of each value. Secrets are left out. */
  config(): Promise<EffectiveConfig> {
    return this.#transport.call("GET", "/api/admin/config");
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
