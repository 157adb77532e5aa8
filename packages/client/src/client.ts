/**
 * Client of a Socle service: the session of a user, the collections, the endpoints and the server queries. The other APIs are
 * entry points of their own.
 */

import type { Credentials, StoredRecord, User } from "@socle/protocol";
import type { AnyCollections, CollectionTypes } from "@socle/protocol/query";
import { type Operation, type RecordsOf, sendBatch } from "./batch.ts";
import type { ConnectionState } from "./connection.ts";
import { type AnyEndpoint, type EndpointTree, endpointsAt } from "./endpoints.ts";
import type { Live, LiveFeature } from "./live-types.ts";
import type { Observable } from "./observable.ts";
import type { Listener, SubscribeOptions } from "./realtime.ts";
import { type NamedClient, Records } from "./records.ts";
import type { AnyRoom, JoinOptions, Room, RoomClient, RoomTypes } from "./room.ts";
import { type QueryCalls, queriesOf } from "./server-queries.ts";
import type { SessionUser, Tokens } from "./session.ts";
import { type Source, sourceOf } from "./source.ts";
import { type CallOptions, type ClientOptions, type LogoutOptions, type OnceOptions, Transport } from "./transport.ts";

/** The types of a project, as `socle client` writes the types. */
export interface ProjectTypes {
  collections: object;
  /** By method and path: `POST /orders/[id]/pay`. */
  endpoints: object;
  queries: object;
  rooms?: object;
}

type RoomsOf<P extends ProjectTypes> = P["rooms"] extends object ? P["rooms"] : { [name: string]: AnyRoom };
type RoomOf<P extends ProjectTypes, Name extends keyof RoomsOf<P>> = RoomsOf<P>[Name] extends RoomTypes
  ? RoomsOf<P>[Name]
  : AnyRoom;

type CollectionsOf<P extends ProjectTypes> = P["collections"] extends {
  [name in keyof P["collections"]]: CollectionTypes;
}
  ? P["collections"]
  : never;

/** A client without types: any collection, endpoint and query. */
export interface AnyProject {
  collections: AnyCollections;
  endpoints: AnyEndpoint;
  queries: { [name: string]: { args: unknown; value: unknown } };
}

/** The names of collections; any text without types. */
type SearchableIn<Collections> = [keyof Collections] extends [never] ? string : keyof Collections & string;

/** A search in several collections. */
export interface SearchQuery<Name extends string = string> {
  /** Words that the searched fields have: `word begin* "two words"`. */
  search: string;
  /** Up to 10 collections with `search` in the definition. */
  in: readonly Name[];
  /** 1 to 100; 20 by default. */
  limit?: number;
}

/** A record that a search has found, with the collection of the record. */
export type SearchHit<Collections, Name extends string = string> = Name extends unknown
  ? { collection: Name; record: Name extends keyof Collections ? RecordOf<Collections[Name]> : StoredRecord }
  : never;
type RecordOf<Types> = Types extends { record: infer Found } ? Found : StoredRecord;

/** The values of a registration: the credentials, and the fields of users that the project defines. */
export type Registration<Collections> = Credentials &
  (Collections extends { users: { create: infer Fields } }
    ? Fields
    : [keyof Collections] extends [never]
      ? { [field: string]: unknown }
      : unknown);

/** A call of an endpoint. */
export interface EndpointCall extends CallOptions {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  body?: object;
  headers?: Readonly<Record<string, string>>;
}

export interface CreateOptions extends Omit<ClientOptions, "baseUrl"> {
  /** The address of the service: `https://api.example.com`. By default, in a browser, the origin of the page. */
  baseUrl?: string;
  /** `live` of `@socle/client/live`, for live queries, optimistic changes and channels. */
  live?: LiveFeature;
}

/** The page; without a location outside browsers, where `baseUrl` is needed. */
const page = globalThis as { location?: { origin: string } };

/** The members of every client, beside the collections. */
export class ClientBase<P extends ProjectTypes> {
  /** The endpoints of the project, by path: `endpoints.orders(id).pay.post({ amount: 5 })`. */
  declare readonly endpoints: P["endpoints"] extends AnyEndpoint ? AnyEndpoint : EndpointTree<P["endpoints"]>;
  /** The server queries of the project: `queries.board({ project: id })`. */
  declare readonly queries: QueryCalls<P["queries"]>;
  /** The requests and live queries, for the parts of the client that are entry points of their own. No collection has such a name. */
  declare readonly $source: Source;
  readonly #transport: Transport;
  readonly #endpointsPath: string;
  #live: Live | null = null;

  constructor({ live, baseUrl = page.location?.origin ?? "", ...options }: CreateOptions) {
    const transport = new Transport({ ...options, baseUrl });
    this.#transport = transport;
    this.$source = sourceOf(transport, () => {
      if (live === undefined) throw new Error("This client has no live: createClient({ live })");
      this.#live ??= live(transport, options);
      return this.#live;
    });
    this.#endpointsPath = (options.endpointsPrefix ?? "/api/function").replace(/\/$/, "");
    // The types of the project say which endpoints and queries exist.
    this.endpoints = endpointsAt(this.$source, this.#endpointsPath) as typeof this.endpoints;
    this.queries = queriesOf(this.$source) as typeof this.queries;
  }

  get accessToken(): string | null {
    return this.#transport.session.tokens?.accessToken ?? null;
  }

  /**
   * The user who is signed in: null for nobody, undefined until an asynchronous store of sessions has answered. Listeners hear of sign-ins,
   * sign-outs and the end of the session, also from other tabs; not of renewed tokens.
   */
  get session(): Observable<SessionUser | null | undefined> {
    return this.#transport.session.user;
  }

  /** Resolves with the user who is signed in, once the store of sessions has answered; null for nobody. @throws SocleError of a store that asks a service. */
  async ready(): Promise<SessionUser | null> {
    const { session } = this.#transport;
    await session.loaded();
    return session.user.get() ?? null;
  }

  /** A room of `rooms/{name}.json`: `socle.room("board", id).join({ state: { cursor: null } })`. */
  room<Name extends keyof RoomsOf<P> & string>(name: Name, key: string): RoomClient<RoomOf<P, Name>> {
    const { $source } = this;
    // The types of the project say which rooms exist, and the fields of their states.
    const join = (options: JoinOptions = {}): Room => $source.live().room({ ...options, room: name, key });
    return { name, key, source: $source, join } as object as RoomClient<RoomOf<P, Name>>;
  }

  /** The state of the connection for live queries and channels. @throws Error for a client without `live`. */
  get connection(): Observable<ConnectionState> {
    return this.$source.live().connection;
  }

  /**
   * Goes on with the tokens of another client.
   * @deprecated Use the option `session`: tabs then share a session.
   */
  adoptTokens(tokens: Tokens | null): void {
    this.#transport.check();
    void this.#transport.session.keep(tokens, tokens);
  }

  /**
   * Calls an endpoint of the user's code: `client.function("orders/7?full=1")`. The default method is GET, or POST with a
   * body. A form is sent as a form, any other body as JSON.
   * @throws SocleError for an answer with a status of 400 or more.
   */
  function(path: string, options: EndpointCall = {}): Promise<Response> {
    const { method = options.body === undefined ? "GET" : "POST", ...others } = options;
    return this.#transport.fetch(method, `${this.#endpointsPath}/${path.replace(/^\/+/, "")}`, others);
  }

  /**
   * Makes a user, with the fields of users that the project defines, and signs in. Null if the service wants a proof of the
   * address first (`auth.requireVerified`): a mail is under way, also for an address that is known already.
   */
  register(values: Registration<P["collections"]>, options?: CallOptions): Promise<User | null> {
    return this.#transport.register(values, options);
  }

  /** @throws SecondFactorRequired for a user with a second factor: `client.auth.secondFactor` goes on. */
  login(credentials: Credentials, options?: CallOptions): Promise<User> {
    return this.#transport.signIn("login", credentials, options);
  }

  /**
   * Signs out, in all tabs that share the session; with `{ everywhere: true }`, on all devices.
   * @throws SocleError if the service cannot be told. The client has forgotten the session all the same, unless `everywhere` has failed.
   */
  logout(options?: LogoutOptions): Promise<void> {
    return this.#transport.logout(options);
  }

  async me(options?: CallOptions): Promise<User> {
    const { user } = await this.#transport.call<{ user: User }>("GET", "/api/auth/me", options);
    return user;
  }

  /**
   * Makes up to 1,000 changes of any collections in a transaction: all or no change. `{ $ref: 0 }` stands for the id of the record of
   * the first operation, in later operations. Answers the records in the order of the operations; null for a delete. The batch is
   * made a single time also if the answer is lost: see `ClientOptions.retries`.
   * @throws SocleError of the operation that failed; `details` has the number as `operation`.
   */
  batch<const Operations extends readonly Operation<CollectionsOf<P>>[]>(
    operations: Operations,
    options?: OnceOptions,
  ): Promise<RecordsOf<P["collections"], Operations>> {
    return sendBatch(this.#transport, operations, options);
  }

  /**
   * Searches several collections at once: `query({ search: "crea*", in: ["posts", "comments"] })`. Answers the records that match, the best
   * matches first, each with the name of the collection. Each collection is searched by its rules for the caller.
   * @throws SocleError also for a collection that the caller may not read.
   */
  async query<const Name extends SearchableIn<P["collections"]>>(
    query: SearchQuery<Name>,
    options?: CallOptions,
  ): Promise<SearchHit<P["collections"], Name>[]> {
    const { items } = await this.#transport.call<{ items: SearchHit<P["collections"], Name>[] }>("POST", "/api/query", {
      ...options,
      body: query,
    });
    return items;
  }

  /**
   * Hears the events of a channel: `posts.created`, `posts.*`, `auth.login`, … After a lost connection, the client
   * connects again and gets the missed events. Answers the function that ends the subscription.
   * @throws Error if the runtime has no WebSocket and no implementation was passed.
   */
  subscribe(channel: string, listener: Listener, options: SubscribeOptions = {}): () => void {
    return this.$source.live().subscribe(channel, listener, options);
  }

  /** For a client that nobody uses any more: ends the realtime connection, all subscriptions and all live queries, and hears nothing more of other tabs. */
  close(): void {
    this.#live?.close();
    this.#transport.session.close?.();
  }
}

/** The collections of a client. */
interface CollectionsClient<P extends ProjectTypes> {
  /** A collection that the types of the project know; also a collection with the name of a member of the client. */
  collection<Name extends keyof CollectionsOf<P> & string>(name: Name): NamedClient<CollectionsOf<P>, Name>;
}

/** A client with the collections of the project as members: `socle.tasks`. */
export type Socle<P extends ProjectTypes = AnyProject> = ClientBase<P> &
  CollectionsClient<P> & {
    readonly [Name in Exclude<keyof CollectionsOf<P>, keyof ClientBase<P> | "collection"> & string]: NamedClient<
      CollectionsOf<P>,
      Name
    >;
  };

/** A client of a service, anonymous until `register` or `login`. `socle client` writes a module that calls this function. */
export function createClient<P extends ProjectTypes = AnyProject>(options?: CreateOptions): Socle<P>;
export function createClient(options: CreateOptions = {}): object {
  const client = new ClientBase(options);
  const collection = (name: string): object => new Records(client.$source, name);
  return new Proxy(client, {
    get: (_target, name) => {
      const member: unknown = name === "collection" ? collection : Reflect.get(client, name, client);
      if (member === undefined) return typeof name === "symbol" || name === "then" ? undefined : collection(name);
      // The private fields of the client are not the proxy's.
      return typeof member === "function" && name !== "endpoints" ? member.bind(client) : member;
    },
  });
}
