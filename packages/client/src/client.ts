/**
 * Client of a Socle service: the session of a user, and the types and methods of collections. The other APIs are
 * properties of the client.
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
  type SetupStatus,
  type StoredRecord,
  type SystemFields,
  type USERS,
  type User,
  versionOf,
} from "@socle/protocol";
import { AdminClient } from "./admin.ts";
import { AuthClient } from "./auth.ts";
import { type Operation, type RecordsOf, sendBatch } from "./batch.ts";
import type { OnceOptions } from "./once.ts";
import { type Listener, Realtime, type SubscribeOptions } from "./realtime.ts";
import { searchOf } from "./search.ts";
import { StorageClient } from "./storage.ts";
import { type ClientOptions, type Tokens, Transport } from "./transport.ts";

/** The names of the fields that are never null: the required fields of the definition. */
type RequiredField<T> = {
  [Name in keyof T]-?: null extends T[Name] ? never : undefined extends T[Name] ? never : Name;
}[keyof T];

/** The values of a record to create: required fields must be present, every other field may. */
export type NewRecord<T> = Partial<Omit<T, keyof SystemFields>> &
  Pick<T, Exclude<RequiredField<T>, keyof SystemFields>>;

/** The operators of an update that a value of the type takes: the new value starts from the present value. */
type OperatorsOf<Value> = [Value] extends [number]
  ? { $increment: number }
  : [Value] extends [readonly string[]]
    ? { $add?: Value; $remove?: Value }
    : never;

/** The values of an update, or operators in their place: `{ stock: { $increment: -1 } }`. */
export type Changes<T> = { [Name in keyof T]?: T[Name] | OperatorsOf<NonNullable<T[Name]>> };

/** The types of a collection, as `socle dev` and `socle types` write `.socle/types.d.ts`. */
export interface CollectionTypes {
  record: SystemFields;
  create: object;
  update: object;
  /** The field that shows the owner, which the service fills; never for a collection without an owner field. */
  owner: PropertyKey;
}

/** The values of a record to create. The owner is the signed-in user. */
export type CreateOf<Types extends CollectionTypes> = Omit<Types["create"], Types["owner"]> &
  Partial<Pick<Types["create"], Types["owner"] & keyof Types["create"]>>;

/** The values of a registration: the credentials, and the fields of users that the project defines. */
export type Registration<Collections> = Credentials &
  (Collections extends { users: { create: infer Fields } }
    ? Fields
    : [keyof Collections] extends [never]
      ? { [field: string]: unknown }
      : unknown);

type ClientOf<Types extends CollectionTypes> = CollectionClient<Types["record"], CreateOf<Types>, Types["update"]>;

/** A collection of a project. Users are created by a registration, and deleted as accounts. */
export type NamedClient<Name, Types extends CollectionTypes> = Name extends typeof USERS
  ? Omit<ClientOf<Types>, "create" | "delete">
  : ClientOf<Types>;

/** The records of a collection. Every method throws `SocleError`. */
export interface CollectionClient<T extends SystemFields, Create = NewRecord<T>, Update = Changes<T>> {
  /** All records, newest first. */
  list(): Promise<T[]>;
  /** A page of the records that match. With `fields` or `expand`, `R` is the resulting shape of a record. */
  page<R = T>(query?: RecordQuery, options?: { signal?: AbortSignal }): Promise<RecordPage<R>>;
  /** A page of groups, with counts and sums over each group. */
  groups<R = GroupPage["items"][number]>(query: GroupQuery, options?: { signal?: AbortSignal }): Promise<GroupPage<R>>;
  get<R = T>(id: string, selection?: RecordSelection): Promise<R>;
  /** Creates a record, a single time also if the answer is lost: see `ClientOptions.retries`. */
  create(values: Create, options?: OnceOptions): Promise<T>;
  /**
   * Changes only the given fields; null clears a field. Operators start from the present value: `{ $increment: 1 }` for a
   * number, `{ $add: ["x"], $remove: ["y"] }` for a multiple field.
   */
  update(id: string, values: Update, options?: VersionOptions): Promise<T>;
  delete(id: string, options?: VersionOptions): Promise<void>;
  /**
   * Hears the changes of the collection's records; with `filter`, of the records that match. See `SocleClient.subscribe`.
   * @throws Error if the runtime has no WebSocket and no implementation was passed.
   */
  subscribe(listener: (change: RecordChange<T>) => void, options?: SubscribeOptions): () => void;
}

export interface VersionOptions {
  /** The record as read, or the `ETag`. A record of another version is not changed: `SocleError` with the status 412. */
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

/** A change of a record, as a listener gets the change. */
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
 * Talks to a Socle service as a user, or anonymously until `register` or `login`.
 *
 * `new SocleClient<Collections>(…)` knows the collections of a project, with the `Collections` of the project's
 * `.socle/types.d.ts`.
 */
export class SocleClient<Collections extends { [name in keyof Collections]: CollectionTypes } = object> {
  /** The files of the service. */
  readonly storage: StorageClient;
  /** The account of the signed-in user. */
  readonly auth: AuthClient;
  /** The admin API, for users with the role admin. */
  readonly admin: AdminClient;
  readonly #transport: Transport;
  readonly #realtime: Realtime;
  readonly #endpointsPrefix: string;

  constructor(options: ClientOptions) {
    this.#endpointsPrefix = (options.endpointsPrefix ?? "/api/function").replace(/\/$/, "");
    this.#transport = new Transport(options);
    this.#realtime = new Realtime(this.#transport, options.webSocket);
    this.storage = new StorageClient(this.#transport);
    this.auth = new AuthClient(this.#transport, {
      signIn: (route, proof) => this.#signIn(route, proof),
      signOut: (...request) => this.#signOut(...request),
    });
    this.admin = new AdminClient(this.#transport);
  }

  get accessToken(): string | null {
    return this.#transport.tokens?.accessToken ?? null;
  }

  /**
   * Goes on with the tokens of another client, for example of a second tab that has renewed the tokens: a refresh token works
   * a single time. `onTokens` is not called. The realtime connection stays if the client had tokens before.
   */
  adoptTokens(tokens: Tokens | null): void {
    const wasSignedIn = this.#transport.tokens !== null;
    this.#transport.adopt(tokens);
    if (wasSignedIn !== (tokens !== null)) this.#realtime.reconnect();
  }

  /**
   * Calls an endpoint of the user's code: `client.function("orders/7?full=1")`. The default method is GET, or POST with a
   * body. A form is sent as a form, any other body as JSON.
   * @throws SocleError for an answer with a status of 400 or more.
   */
  function(path: string, options: EndpointCall = {}): Promise<Response> {
    const { method = options.body === undefined ? "GET" : "POST", ...others } = options;
    return this.#transport.fetch(method, `${this.#endpointsPrefix}/${path.replace(/^\/+/, "")}`, others);
  }

  health(): Promise<Health> {
    return this.#transport.call("GET", "/health");
  }

  /**
   * Makes a user, with the fields of users that the project defines, and signs in. Null if the service wants a proof of the
   * address first (`auth.requireVerified`): a mail is under way, also for an address that is known already.
   */
  async register(values: Registration<Collections>): Promise<User | null> {
    const user = await this.#transport.register(values);
    if (user !== null) this.#realtime.reconnect();
    return user;
  }

  /** @throws SecondFactorRequired for a user with a second factor: `client.auth.secondFactor` goes on. */
  login(credentials: Credentials): Promise<User> {
    return this.#signIn("login", credentials);
  }

  /** Whether the service waits for the first admin. */
  setupStatus(): Promise<SetupStatus> {
    return this.#transport.call("GET", "/api/auth/setup");
  }

  /** The expiry of the token of the set-up link. Rejects with 404 after the set-up, with 401 for another token. */
  invitation(token: string): Promise<SetupInvitation> {
    return this.#transport.call("GET", `/api/auth/setup${searchOf({ token })}`);
  }

  /** Makes the first admin with the token of the set-up link, and signs in as this admin. */
  setUp(token: string, credentials: Credentials): Promise<User> {
    return this.#signIn("setup", { ...credentials, token });
  }

  logout(): Promise<void> {
    return this.#signOut("POST", "/api/auth/logout", {});
  }

  async me(): Promise<User> {
    const { user } = await this.#transport.call<{ user: User }>("GET", "/api/auth/me");
    return user;
  }

  /** A collection that the types of the project know. */
  collection<Name extends keyof Collections & string>(name: Name): NamedClient<Name, Collections[Name]>;
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
      create: (values, options) => transport.callOnce(path, values, options),
      update: (id, values, options = {}) =>
        transport.call("PUT", recordPath(id), { body: values, headers: versionHeaders(options) }),
      delete: async (id, options = {}) => {
        await transport.fetch("DELETE", recordPath(id), { headers: versionHeaders(options) });
      },
      subscribe: (listener, options) => this.subscribe(`${name}.*`, (event) => listener(changeOf<T>(event)), options),
    };
  }

  /**
   * Makes up to 1,000 changes of any collections in a transaction: all or no change. `{ $ref: 0 }` stands for the id of the record of
   * the first operation, in later operations. Answers the records in the order of the operations; null for a delete. The batch is
   * made a single time also if the answer is lost: see `ClientOptions.retries`.
   * @throws SocleError of the operation that failed; `details` has the number as `operation`.
   */
  batch<const Operations extends readonly Operation<Collections>[]>(
    operations: Operations,
    options?: OnceOptions,
  ): Promise<RecordsOf<Collections, Operations>> {
    return sendBatch(this.#transport, operations, options);
  }

  /**
   * Hears the events of a channel: `posts.created`, `posts.*`, `auth.login`, … After a lost connection, the client
   * connects again and gets the missed events. Answers the function that ends the subscription.
   * @throws Error if the runtime has no WebSocket and no implementation was passed.
   */
  subscribe(channel: string, listener: Listener, options: SubscribeOptions = {}): () => void {
    return this.#realtime.subscribe(channel, listener, options);
  }

  /** Ends the realtime connection and all subscriptions. */
  close(): void {
    this.#realtime.close();
  }

  async #signOut(method: string, path: string, body: object): Promise<void> {
    await this.#transport.signOut(method, path, body);
    this.#realtime.reconnect();
  }

  async #signIn(route: string, proof: object): Promise<User> {
    const user = await this.#transport.signIn(route, proof);
    this.#realtime.reconnect();
    return user;
  }
}
