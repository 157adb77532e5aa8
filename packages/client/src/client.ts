/**
 * Client of a Socle service: the session of one user, and the types and methods of collections. The other APIs hang
 * from it.
 */
import {
  type Credentials,
  type Event,
  type GroupPage,
  type GroupQuery,
  type Health,
  type RecordList,
  type RecordPage,
  type RecordQuery,
  type RecordSelection,
  type SetupInvitation,
  type StoredRecord,
  type SystemFields,
  type User,
  versionOf,
} from "@socle/protocol";
import { AdminClient } from "./admin.ts";
import { type Operation, type RecordsOf, sendBatch } from "./batch.ts";
import { type Listener, Realtime, type SubscribeOptions } from "./realtime.ts";
import { searchOf } from "./search.ts";
import { StorageClient } from "./storage.ts";
import { type ClientOptions, type Tokens, Transport } from "./transport.ts";

/** The names of the fields that are never null: those that a definition requires. */
type RequiredField<T> = {
  [Name in keyof T]-?: null extends T[Name] ? never : undefined extends T[Name] ? never : Name;
}[keyof T];

/** The values of a record to create: what is never null in a record has to be there, everything else may. */
export type NewRecord<T> = Partial<Omit<T, keyof SystemFields>> &
  Pick<T, Exclude<RequiredField<T>, keyof SystemFields>>;

/** The types of a collection, as `socle dev` and `socle types` write them into `.socle/types.d.ts`. */
export interface CollectionTypes {
  record: SystemFields;
  create: object;
  update: object;
  /** The field that shows the owner, which the service fills; never where there is none. */
  owner: PropertyKey;
}

/** The values of a record to create. The owner is the user who is signed in. */
export type CreateOf<Types extends CollectionTypes> = Omit<Types["create"], Types["owner"]> &
  Partial<Pick<Types["create"], Types["owner"] & keyof Types["create"]>>;

/** The records of one collection. Every method throws `SocleError`. */
export interface CollectionClient<T extends SystemFields, Create = NewRecord<T>, Update = Partial<T>> {
  /** All of them, newest first. */
  list(): Promise<T[]>;
  /** A page of what matches. With `fields` or `expand`, `R` is what a record then looks like. */
  page<R = T>(query?: RecordQuery, options?: { signal?: AbortSignal }): Promise<RecordPage<R>>;
  /** A page of groups, with counts and sums over them. */
  groups<R = GroupPage["items"][number]>(query: GroupQuery, options?: { signal?: AbortSignal }): Promise<GroupPage<R>>;
  get<R = T>(id: string, selection?: RecordSelection): Promise<R>;
  create(values: Create): Promise<T>;
  /** Only the fields that are given change; null clears one. */
  update(id: string, values: Update, options?: VersionOptions): Promise<T>;
  delete(id: string, options?: VersionOptions): Promise<void>;
  /**
   * Hears the changes of its records, with `filter` those of the records that fulfil it. See `SocleClient.subscribe`.
   * @throws Error where the runtime has no WebSocket and none was passed.
   */
  subscribe(listener: (change: RecordChange<T>) => void, options?: SubscribeOptions): () => void;
}

export interface VersionOptions {
  /** The record as it was read, or its `ETag`: a record of another version stays as it is, and `SocleError` has the status 412. */
  ifMatch?: string | Pick<SystemFields, "id" | "updatedAt">;
}

function versionHeaders({ ifMatch }: VersionOptions): { [name: string]: string } {
  if (ifMatch === undefined) return {};
  return { "If-Match": typeof ifMatch === "string" ? ifMatch : versionOf(ifMatch) };
}

/** A call of an endpoint. */
export interface EndpointCall {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  body?: object;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

/** A change of a record, as a listener hears it. */
export type RecordChange<T> =
  | { readonly type: "created" | "updated"; readonly id: string; readonly record: T; readonly event: Event }
  | { readonly type: "deleted"; readonly id: string; readonly record: null; readonly event: Event };

/** The record of a change is of the type that the caller of `collection` has said. */
function changeOf<T extends SystemFields>(event: Event): RecordChange<T> {
  const type = event.type.slice(event.type.lastIndexOf(".") + 1);
  const id = String(event.payload["id"]);
  if (type === "deleted") return { type, id, record: null, event };
  return { type: type === "created" ? type : "updated", id, record: event.payload as unknown as T, event };
}

/**
 * Talks to one Socle service as one user, or as nobody until `register` or `login`.
 *
 * `new SocleClient<Collections>(…)` knows the collections of a project, with the `Collections` of its `.socle/types.d.ts`.
 */
export class SocleClient<Collections extends { [name in keyof Collections]: CollectionTypes } = object> {
  /** The files of the service. */
  readonly storage: StorageClient;
  /** The admin API, for users whose role is admin. */
  readonly admin: AdminClient;
  readonly #transport: Transport;
  readonly #realtime: Realtime;

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
    this.#realtime = new Realtime(this.#transport, options.webSocket);
    this.storage = new StorageClient(this.#transport);
    this.admin = new AdminClient(this.#transport);
  }

  get accessToken(): string | null {
    return this.#transport.tokens?.accessToken ?? null;
  }

  /**
   * Goes on with the tokens of another client, such as that of a second tab that has renewed them: a refresh token works
   * once. `onTokens` is not called. The realtime connection stays while there were tokens before.
   */
  adoptTokens(tokens: Tokens | null): void {
    const wasSignedIn = this.#transport.tokens !== null;
    this.#transport.adopt(tokens);
    if (wasSignedIn !== (tokens !== null)) this.#realtime.reconnect();
  }

  /**
   * Calls an endpoint of the user's code: `client.function("orders/7?full=1")`. Without a method it is GET, or POST with a
   * body, which goes as JSON (a form as it is).
   * @throws SocleError for an answer with a status of 400 or more.
   */
  function(path: string, options: EndpointCall = {}): Promise<Response> {
    const { method = options.body === undefined ? "GET" : "POST", ...others } = options;
    return this.#transport.fetch(method, `/api/function/${path.replace(/^\/+/, "")}`, others);
  }

  health(): Promise<Health> {
    return this.#transport.call("GET", "/health");
  }

  async register(credentials: Credentials): Promise<User> {
    const user = await this.#transport.signIn("register", credentials);
    this.#realtime.reconnect();
    return user;
  }

  async login(credentials: Credentials): Promise<User> {
    const user = await this.#transport.signIn("login", credentials);
    this.#realtime.reconnect();
    return user;
  }

  /** Until when the token of the set-up link works. Rejects with 404 when it is over, with 401 when it is another. */
  invitation(token: string): Promise<SetupInvitation> {
    return this.#transport.call("GET", `/api/auth/setup${searchOf({ token })}`);
  }

  /** Makes the first admin with the token of the set-up link, and signs in as it. */
  async setUp(token: string, credentials: Credentials): Promise<User> {
    const user = await this.#transport.signIn("setup", { ...credentials, token });
    this.#realtime.reconnect();
    return user;
  }

  async logout(): Promise<void> {
    await this.#transport.signOut();
    this.#realtime.reconnect();
  }

  async me(): Promise<User> {
    const { user } = await this.#transport.call<{ user: User }>("GET", "/api/auth/me");
    return user;
  }

  /** A collection that the types of the project know. */
  collection<Name extends keyof Collections & string>(
    name: Name,
  ): CollectionClient<Collections[Name]["record"], CreateOf<Collections[Name]>, Collections[Name]["update"]>;
  /** A collection with records of a type that the caller says: `collection<Post>("posts")`. */
  collection<T extends SystemFields = StoredRecord>(
    name: [keyof Collections] extends [never] ? string : keyof Collections & string,
  ): CollectionClient<T>;
  collection<T extends SystemFields>(name: string): CollectionClient<T> {
    const transport = this.#transport;
    const path = `/api/${encodeURIComponent(name)}`;
    const recordPath = (id: string): string => `${path}/${encodeURIComponent(id)}`;
    return {
      list: async () => (await transport.call<RecordList<T>>("GET", path)).items,
      page: ({ limit = 1_000, ...query } = {}, { signal } = {}) =>
        transport.call("GET", `${path}${searchOf({ limit, ...query })}`, { signal }),
      groups: (query, { signal } = {}) => transport.call("GET", `${path}${searchOf({ ...query })}`, { signal }),
      get: (id, selection = {}) => transport.call("GET", `${recordPath(id)}${searchOf(selection)}`),
      create: (values) => transport.call("POST", path, { body: values }),
      update: (id, values, options = {}) =>
        transport.call("PUT", recordPath(id), { body: values, headers: versionHeaders(options) }),
      delete: async (id, options = {}) => {
        await transport.fetch("DELETE", recordPath(id), { headers: versionHeaders(options) });
      },
      subscribe: (listener, options) => this.subscribe(`${name}.*`, (event) => listener(changeOf<T>(event)), options),
    };
  }

  /**
   * Does up to 1,000 changes of any collections in one transaction, all or none. `{ $ref: 0 }` stands for the id of the record of
   * the first operation, in the operations behind it. Answers the records in the same order; null for a delete.
   * @throws SocleError of the operation that failed; `details` has its number as `operation`.
   */
  batch<const Operations extends readonly Operation<Collections>[]>(
    operations: Operations,
  ): Promise<RecordsOf<Collections, Operations>> {
    return sendBatch(this.#transport, operations);
  }

  /**
   * Hears the events of a channel: `posts.created`, `posts.*`, `auth.login`, … The connection is kept: after a break it
   * comes back and brings what was missed. Answers how to stop.
   * @throws Error where the runtime has no WebSocket and none was passed.
   */
  subscribe(channel: string, listener: Listener, options: SubscribeOptions = {}): () => void {
    return this.#realtime.subscribe(channel, listener, options);
  }

  /** Ends the realtime connection and all subscriptions. */
  close(): void {
    this.#realtime.close();
  }
}
